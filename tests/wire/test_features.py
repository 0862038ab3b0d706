"""The table of engines' features is whole, and the documentation page is the one that is made from it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from fuzzer.plan import Engine
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.features import FEATURES, TITLES, FeatureName, page

DOCS = Path(__file__).parents[2] / "docs" / "dialects.md"


def test_the_page_in_the_docs_is_current() -> None:
    assert DOCS.read_text(encoding="utf-8") == page(), "python -m fuzzer.wire.features > docs/dialects.md"


def test_every_engine_has_every_feature_and_a_title() -> None:
    engines = set(get_args(Engine)) - {"auto"}
    assert set(FEATURES) == set(TITLES) == engines
    assert all(set(row) == set(get_args(FeatureName)) for row in FEATURES.values())


def test_what_is_said_of_an_engine_has_a_source() -> None:
    assert all(feature.source and feature.how for row in FEATURES.values() for feature in row.values())


@pytest.mark.parametrize("engine", sorted(set(get_args(Engine)) - {"auto"}))
def test_metrics_are_claimed_where_the_dialect_names_counters(engine: Engine) -> None:
    named = bool(dialect_for(engine).counters.mapping())
    assert named == (FEATURES[engine]["metrics"].standing != "absent")
