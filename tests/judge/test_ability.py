"""Kinds of prompts that the model cannot do are left out, soon, and filler is of kinds that it has shown it can do."""

from __future__ import annotations

from fuzzer.judge.ability import Ability
from fuzzer.prompts import PromptPool

EASY = PromptPool(0, ("code-word",)).prompt(0)
OTHER = PromptPool(0, ("sort",)).prompt(0)


def learned(right: int, wrong: int) -> Ability:
    ability = Ability()
    for index in range(right + wrong):
        ability.add(OTHER, right=index < right)
    return ability


def test_a_kind_is_given_up_after_three_wrong_answers_or_a_late_low_share() -> None:
    assert not learned(0, 2).hopeless(OTHER)
    assert learned(0, 3).hopeless(OTHER)
    assert not learned(1, 6).hopeless(OTHER)
    assert learned(1, 7).hopeless(OTHER)
    assert not learned(2, 6).hopeless(OTHER)


def test_filler_is_of_proven_kinds_once_there_are_any() -> None:
    ability = learned(0, 1)
    assert not ability.unproven(EASY)
    ability.add(EASY, right=True)
    assert not ability.unproven(EASY)
    assert ability.unproven(OTHER)


def test_a_copy_learns_on_its_own() -> None:
    first = learned(0, 2)
    second = first.copy()
    second.add(OTHER, right=False)
    assert second.hopeless(OTHER)
    assert not first.hopeless(OTHER)
