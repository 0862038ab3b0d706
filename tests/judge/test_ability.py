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


def tried(*forms: tuple[str, int, int]) -> Ability:
    """An ability that has seen so many right answers of so many tries, by level of one family."""
    ability = Ability()
    for level, right, count in forms:
        prompt = OTHER.model_copy(update={"level": level})
        for index in range(count):
            ability.add(prompt, right=index < right)
    return ability


def test_once_a_hard_form_is_reliable_the_easier_ones_are_not_asked() -> None:
    assert tried(("easy", 8, 8), ("hard", 7, 7)).left_out("sort", "easy") == ""
    assert tried(("easy", 8, 8), ("hard", 8, 8)).left_out("sort", "easy") == "not needed: hard is reliable"
    assert tried(("easy", 8, 8), ("hard", 8, 8)).left_out("sort", "hard") == ""
    assert tried(("easy", 8, 8), ("hard", 14, 16)).left_out("sort", "easy") == ""


def test_a_form_that_comes_out_right_by_chance_makes_way_for_a_reliable_easier_one() -> None:
    assert tried(("easy", 8, 8), ("hard", 5, 8)).left_out("sort", "hard") == "unreliable: 5 of 8 right alone"
    assert tried(("easy", 6, 8), ("hard", 5, 8)).left_out("sort", "hard") == ""


def test_the_rows_of_a_corpus_are_not_of_one_kind() -> None:
    row = OTHER.model_copy(update={"family": "corpus/mine"})
    ability = Ability()
    for _ in range(23):
        ability.add(row, right=False)
    assert not ability.unwanted(row)
    ability.add(row, right=False)
    assert ability.unwanted(row)
