"""Replies as models give them, to questions whose answer is a choice of names, or must not hold a given word."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Prompt
from fuzzer.prompts import check
from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict


def given(prompt: Prompt) -> list[str]:
    """The names that the question gives."""
    return list(prompt.items)


ANY = make("exactly-k", "medium", 1)
A, B, C, D, E, F = given(ANY)
X, Y, Z, *_ = given(make("exactly-k", "medium", 2))


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{A}, {B}, {C}"),
        ("right", f"{F}, {A}, {D}"),
        ("right", f"1. {B}\n2. {E}\n3. {F}"),
        ("right", f"- **{B}**\n- **{E}**\n- **{F}**"),
        ("right", f"{A}, {B} and {C}."),
        ("right", f"„{A}“, „{B}“, „{C}“"),
        ("right", f"{A}; {B}; {C}".upper()),
        ("verbose", f"Here are three names: {A}, {B}, {C}"),
        ("verbose", f"I choose {A} because I like it, {C} because it is short, and {D}."),
        ("verbose", f"{A}, {B}, {C}\n\nThe remaining names are {D}, {E}, {F}."),
        ("verbose", f"From {A}, {B}, {C}, {D}, {E}, {F} I take {F}, {E}, {D}."),
        ("verbose", f"The six names are {A}, {B}, {C}, {D}, {E}, {F}.\nThree of them: {A}, {B}, {C}"),
        ("verbose", f"{A}, {B}, {C}, as you asked."),
        ("dropped-constraint", f"{A}, {B}"),
        ("dropped-constraint", A),
        ("dropped-constraint", f"{A}, {B}, {C}, {D}"),
        ("dropped-constraint", f"{A}, {B}, {C}, {D}, {E}, {F}"),
        ("dropped-constraint", f"{A}\n{B}\n{C}\n\n{D}\n{E}\n{F}"),
        ("dropped-constraint", f"{A}, {B}, {C}\n{D}, {E}, {F}"),
        ("dropped-constraint", f"{A}, {B}, {B}"),
        ("wrong-value", f"{A}, {B}, {C}, Peter Jones"),
        ("wrong-value", f"{A}, {B}, {C} or {D}, {E}, {F}"),
        ("wrong-value", f"{A}, {B}, {C.split()[0]} {D.split()[1]}"),
        ("another-question", f"{X}, {Y}, {Z}"),
        ("another-question", f"{A}, {B}, {C}\n{X}, {Y}, {Z}"),
        ("another-question", f"{X}, {B}, {Y}"),
        ("another-question", f"{X} or {A}, {B}, {C}"),
        ("refusal", "I'm sorry, but I can't choose."),
        ("wrong-value", "three of the names"),
    ],
)
def test_any_three_of_six_are_right(want: str, said: str) -> None:
    assert verdict(ANY, said) == want


SHOWN = make("exactly-k", "easy", 1)


def test_two_of_three_after_examples() -> None:
    first, second, third = given(SHOWN)
    assert verdict(SHOWN, f"{third}, {first}") == "right"
    assert verdict(SHOWN, f"{first}, {second}, {third}") == "dropped-constraint"
    assert verdict(SHOWN, SHOWN.messages[2].content) == "wrong-last-message"


SIDE = make("exactly-k", "hard", 1)
TAG, FOUR, TICKET = SIDE.answer.split("\n")
WANTED = FOUR.split(", ")
OTHERS = [name for name in given(SIDE) if name not in WANTED]


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", ", ".join(WANTED[::-1])),
        ("verbose", f"They are {FOUR}. The others live elsewhere: {', '.join(OTHERS)}."),
        ("dropped-constraint", ", ".join(WANTED[:3])),
        ("dropped-constraint", ", ".join([*WANTED, OTHERS[0]])),
        ("wrong-value", ", ".join([*WANTED[:3], OTHERS[0]])),
    ],
)
def test_those_that_fit_and_no_other_are_right(want: str, said: str) -> None:
    assert verdict(SIDE, f"{TAG}\n{said}\n{TICKET}") == want


def test_a_choice_without_its_marks_has_dropped_a_constraint() -> None:
    assert verdict(SIDE, FOUR) == "dropped-constraint"


PLAIN = make("forbidden-word", "easy", 1)
NAME, WORD = PLAIN.answer, str(PLAIN.spec["barred"][0])  # type: ignore[index]  # a list, by construction


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"**{NAME}**"),
        ("right", f"```\n{NAME}\n```"),
        ("right", f"«{NAME}»."),
        ("verbose", f"Here it is: {NAME}"),
        ("verbose", f'Here it is without the word "{WORD}": {NAME}'),
        ("verbose", NAME.lower()),
        ("dropped-constraint", f"{NAME} {WORD}"),
        ("dropped-constraint", f"{WORD} {NAME}"),
        ("dropped-constraint", f"{WORD.upper()}: {NAME}"),
        ("dropped-constraint", f"{NAME}. It was {WORD}."),
        ("wrong-value", NAME.split()[0]),
        ("wrong-value", NAME[:-1]),
        ("another-question", make("forbidden-word", "easy", 2).answer),
        ("wrong-last-message", PLAIN.messages[2].content),
    ],
)
def test_a_name_without_the_word_beside_it(want: str, said: str) -> None:
    assert verdict(PLAIN, said) == want


MEDIUM = [make("forbidden-word", "medium", seed) for seed in range(20)]
LISTS = [prompt for prompt in MEDIUM if len(prompt.items) == 4]
CAPTAINS = [prompt for prompt in MEDIUM if len(prompt.items) == 2]


def test_a_list_without_one_name() -> None:
    for prompt in LISTS:
        a, b, c = prompt.answer.split(", ")
        shunned = next(name for name in prompt.items if name not in (a, b, c))
        assert verdict(prompt, f"{a}\n{b}\n{c}") == "right"
        assert verdict(prompt, f"{b}, {a}, {c}") == "wrong-value"
        assert verdict(prompt, f"{a}, {b}") == "dropped-constraint"
        assert verdict(prompt, ", ".join(prompt.items)) == "dropped-constraint"
        assert verdict(prompt, f"{a}, {b}, {shunned}") == "dropped-constraint"
        assert verdict(prompt, f"{a}, {b}, {c} (I left out {shunned})") == "dropped-constraint"


def test_a_captain_by_the_other_name() -> None:
    for prompt in CAPTAINS:
        shunned = next(name for name in prompt.items if name != prompt.answer)
        assert verdict(prompt, f"The captain is {prompt.answer}.") == "verbose"
        assert verdict(prompt, f"The captain is {shunned}.") == "dropped-constraint"
        assert verdict(prompt, f"The captain is {shunned}, also called {prompt.answer}.") == "dropped-constraint"
        assert verdict(prompt, f"{prompt.answer} or {X}") != "verbose"


LINE = make("forbidden-word", "hard", 1)
FIRST, TEXT, LAST = LINE.answer.split("\n")
ASKED = LINE.messages[-1].content.split("\n")[2]
SHUNNED, OTHER = str(LINE.spec["barred"][0]), TEXT.split(" carried the ")[1].split()[0]  # type: ignore[index]  # a list


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f'"{TEXT}."'),
        ("verbose", f"The new line is: {TEXT}"),
        ("dropped-constraint", ASKED),
        ("dropped-constraint", TEXT.replace(OTHER, SHUNNED, 1)),
        ("dropped-constraint", f"{TEXT}\nThe old line said {SHUNNED}."),
        ("wrong-value", TEXT[1:]),
        ("wrong-value", " ".join(TEXT.split()[:-1])),
        ("wrong-value", TEXT.replace(OTHER, "thing")),
    ],
)
def test_a_line_with_another_word_in_place_of_one(want: str, said: str) -> None:
    assert verdict(LINE, f"{FIRST}\n{said}\n{LAST}") == want


def test_both_kinds_of_medium_prompts_are_asked() -> None:
    assert len(LISTS) >= 5
    assert len(CAPTAINS) >= 5
    assert all(check(prompt, prompt.answer).value == "right" for prompt in MEDIUM)
