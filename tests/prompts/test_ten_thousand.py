"""Ten thousand prompts over all families: what a run relies on when it says whose answer was given."""

from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from fuzzer.history.records import Prompt
from fuzzer.prompts import FAMILIES
from tests.prompts.crossing import differ, likeliest_to_be_confused, many, of_a_kind, passes_for, right_alone
from tests.prompts.styles import core

pytestmark = pytest.mark.xdist_group("ten thousand")  # they are made once

COUNT = 10_000
SEED = 3
TELLING = 8  # characters: shorter items and answers are never used for attribution


@pytest.fixture(scope="module")
def prompts() -> list[Prompt]:
    return many(COUNT, SEED)


def repeated(texts: list[str]) -> list[str]:
    return [text for text, times in Counter(texts).items() if times > 1]


def digest(prompts: list[Prompt]) -> str:
    return hashlib.sha256("\n".join(prompt.model_dump_json() for prompt in prompts).encode()).hexdigest()


def test_all_families_and_levels_are_among_them(prompts: list[Prompt]) -> None:
    kinds = {(prompt.family, prompt.level) for prompt in prompts}
    weighted = {
        (name, level) for name, family in FAMILIES.items() for level, weight in family.weights.items() if weight
    }
    assert kinds >= weighted


def test_no_two_share_a_canary(prompts: list[Prompt]) -> None:
    assert repeated([mark.text for prompt in prompts for mark in prompt.canaries if not mark.cohort]) == []


def test_no_item_or_answer_recurs_where_they_are_used_for_attribution(prompts: list[Prompt]) -> None:
    telling = [prompt for prompt in prompts if prompt.attributable]
    items = [item.casefold() for prompt in telling for item in set(prompt.items)]
    assert all(len(item) >= TELLING for item in items)
    assert repeated(items) == []
    assert repeated([core(prompt).casefold() for prompt in telling if len(core(prompt)) >= TELLING]) == []


def test_every_canonical_answer_passes_its_own_check(prompts: list[Prompt]) -> None:
    assert [prompt.id for prompt in prompts if not right_alone(prompt)] == []


def test_it_fails_the_checks_of_those_it_is_likeliest_to_be_taken_for(prompts: list[Prompt]) -> None:
    passed = [
        (prompt.family, prompt.level, core(prompt), core(other))
        for kind in of_a_kind(prompts)
        for prompt, other in likeliest_to_be_confused(kind)
        if differ(prompt, other) and passes_for(prompt, other)
    ]
    assert passed == []


def test_the_same_seed_gives_the_same_bytes(prompts: list[Prompt]) -> None:
    assert digest(many(COUNT, SEED)) == digest(prompts)
