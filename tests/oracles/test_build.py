from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fuzzer.history.records import Arm
from fuzzer.oracles.build import around, excerpt, label, quote

ANYTHING = st.text(st.characters(codec=None, exclude_categories=()), max_size=400)


@settings(deadline=None)
@given(ANYTHING)
@example("\U0010ffff" * 90)
@example("'\"" * 50)
def test_a_quote_is_one_printable_line_of_at_most_80_characters(text: str) -> None:
    quoted = quote(text)
    assert len(quoted) <= 80
    assert quoted.isprintable()


def test_a_short_text_is_quoted_whole_and_a_long_one_shows_that_it_goes_on() -> None:
    assert quote("it's") == '"it\'s"'
    assert quote("x" * 78) == "'" + "x" * 78 + "'"
    assert quote("x" * 79) == "'" + "x" * 77 + "…'"


@settings(deadline=None)
@given(ANYTHING, st.integers(0, 400), st.integers(0, 50))
def test_excerpts_can_be_written_and_hold_what_they_are_about(text: str, start: int, length: int) -> None:
    json.dumps(excerpt(text, start)).encode()
    span = text[start : start + length]
    assert excerpt(span) in around(text, start, len(span))


@pytest.mark.parametrize(
    ("arm", "name", "expected"),
    [
        ("candidate", "candidate", "candidate"),
        ("candidate", "fp4", "fp4"),
        ("reference", "reference", "reference"),
        ("reference", "fp4", "reference:fp4"),
    ],
)
def test_a_reference_is_told_from_the_candidate_of_its_name(arm: Arm, name: str, expected: str) -> None:
    assert label(arm, name) == expected
