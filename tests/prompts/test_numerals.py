"""Numbers in words, as the checkers read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.prompts.checks.numerals import numerals
from tests.prompts.numerals import STYLES, Way, spell

WORDS = "one two ten forty hundred thousand and million zero - , x"


def values(text: str) -> list[int]:
    return [int(each.text) for each in numerals(text)]


@given(st.integers(0, 999_999), st.sampled_from(STYLES))
def test_every_number_is_read_back(number: int, way: Way) -> None:
    assert values(f"There are {spell(number, way)}.") == [number]


@given(st.lists(st.integers(0, 99_999), min_size=1, max_size=6), st.sampled_from(STYLES))
def test_a_list_is_read_number_by_number(numbers: list[int], way: Way) -> None:
    assert values(", ".join(spell(each, way) for each in numbers)) == numbers
    assert values("\n".join(spell(each, way) for each in numbers)) == numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Forty-Two", [42]),
        ("twelve hundred", [1200]),
        ("one hundred and two hundred", [100, 200]),
        ("four thousand four hundred and four thousand five hundred", [4400, 4500]),
        ("twenty-four and twenty-five", [24, 25]),
        ("twenty one twenty two", [21, 22]),
        ("five six seven", [5, 6, 7]),
        ("zero", [0]),
        ("the twenty-first", []),
        ("the twenty first", []),
        ("a two-day trip", []),
        ("someone and anyone", []),
        ("and hundred thousand", []),
        ("ten thousand and", [10_000]),
        ("two  spaces", [2]),
    ],
)
def test_what_is_a_number_in_words(text: str, expected: list[int]) -> None:
    assert values(text) == expected


@given(st.lists(st.sampled_from(WORDS.split()), max_size=30))
def test_no_sequence_of_words_makes_it_fail(words: list[str]) -> None:
    text = " ".join(words)
    for each in numerals(text):
        assert 0 <= each.start < each.end <= len(text)
