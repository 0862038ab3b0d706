"""Replies as models give them, to questions whose answer is several codes in order."""

from __future__ import annotations

import pytest

from fuzzer.prompts import check
from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict

SHORT = make("echo-ids", "easy", 1)
A, B = SHORT.answer.split(", ")
X, Y = make("echo-ids", "easy", 2).answer.split(", ")
STRANGER = make("echo", "easy", 1).answer
SHOWN = SHORT.messages[2].content
TICKET = SHORT.canaries[-4].text


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{A} {B}"),
        ("right", f"{A}\n{B}"),
        ("right", f"{A}; {B}."),
        ("right", f"1. {A}\n2. {B}"),
        ("right", f"- {A}\n- {B}"),
        ("right", f"* **{A}**\n* **{B}**"),
        ("right", f"```\n{A}, {B}\n```"),
        ("right", f"`{A}`, `{B}`"),
        ("right", f"«{A}», «{B}»"),
        ("right", f"„{A}“, „{B}“"),
        ("right", f"「{A}」「{B}」"),
        ("right", f'["{A}", "{B}"]'),
        ("right", f"{A.lower()}, {B.lower()}"),
        ("right", f"{A}, {B}".replace("-", "\u2011")),
        ("right", f"{A} → {B}"),
        ("verbose", f"Copy the codes: {A}, {B}"),
        ("verbose", f"The codes are {A} and {B}."),
        ("verbose", f"The first code is {A}, and the second one is {B}."),
        ("verbose", f"Code 1: {A}\nCode 2: {B}"),
        ("verbose", f'{{"codes": ["{A}", "{B}"]}}'),
        ("verbose", f'{{"first": "{A}", "second": "{B}"}}'),
        ("verbose", f"| no. | code |\n|---|---|\n| 1 | {A} |\n| 2 | {B} |"),
        ("verbose", f"{A}, {B}\n\nI copied both codes exactly, letter by letter."),
        ("verbose", f"You asked me to copy {A}, {B}. Here they are: {A}, {B}"),
        ("verbose", f"Before that the codes were {SHOWN}.\nNow they are {A}, {B}"),
        ("verbose", f"The 8-character codes: {A}, {B}"),
        ("wrong-value", f"{B}, {A}"),
        ("wrong-value", f"{A}"),
        ("wrong-value", f"{A}, {A}"),
        ("wrong-value", f"{A}, {B}, {A}"),
        ("wrong-value", f"{A}, {B[:-1]}"),
        ("wrong-value", f"{A}, {B}7"),
        ("wrong-value", f"{A}, {B[:-1]}{'7' if B[-1] != '7' else '8'}"),
        ("wrong-value", f"{A}, {B.replace('-', '')}"),
        ("wrong-value", f"{A}, {B}, {B[5:]}"),
        ("wrong-value", f"{A[:4]}-{B[:4]}, {B}"),
        ("wrong-value", f"{A}, {B} or {B}, {A}"),
        ("wrong-value", f"not {A}, {B}, but {B}, {A}"),
        ("wrong-value", f"{A}, {TICKET}"),
        ("wrong-last-message", SHOWN),
        ("wrong-last-message", f"The codes are: {SHOWN}."),
        ("another-question", f"{X}, {Y}"),
        ("another-question", f"{A}, {X}"),
        ("another-question", f"{A}, {B}\n{X}, {Y}"),
        ("another-question", f"{A}, {B}\n\nThe code is {X}."),
        ("another-question", f"{A}, {B}, {STRANGER}"),
        ("refusal", "I'm sorry, but I cannot copy codes."),
        ("wrong-value", "The codes are copied."),
    ],
)
def test_two_codes_are_extracted_before_they_are_compared(want: str, said: str) -> None:
    assert verdict(SHORT, said) == want


LONG = make("echo-ids", "hard", 1)
FIRST, LIST, LAST = LONG.answer.split("\n")
EIGHT = LIST.split(", ")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", "\n".join(EIGHT)),
        ("right", "\n".join(f"{place}. {code}" for place, code in enumerate(EIGHT, 1))),
        ("right", f"{', '.join(EIGHT[:4])}\n{', '.join(EIGHT[4:])}"),
        ("verbose", f"Here are the eight codes: {LIST}"),
        ("wrong-value", ", ".join(EIGHT[:7])),
        ("wrong-value", ", ".join(EIGHT[1:])),
        ("wrong-value", ", ".join([*EIGHT[:3], EIGHT[4], EIGHT[3], *EIGHT[5:]])),
        ("wrong-value", ", ".join([*EIGHT, EIGHT[0]])),
        ("wrong-last-message", str(LONG.messages[-2].content)),
        ("another-question", ", ".join(make("echo-ids", "hard", 2).answer.split("\n")[1].split(", "))),
    ],
)
def test_eight_codes_and_their_marks(want: str, said: str) -> None:
    assert verdict(LONG, f"{FIRST}\n{said}\n{LAST}") == want


def test_eight_codes_without_the_marks_have_dropped_a_constraint() -> None:
    assert verdict(LONG, LIST) == "dropped-constraint"


def test_a_list_that_is_cut_off_is_a_runaway() -> None:
    assert verdict(LONG, f"{FIRST}\n{LIST[:-20]}", "length") == "runaway"


def test_codes_of_an_earlier_message_are_asked_for_at_times() -> None:
    asked = [make("echo-ids", "medium", seed) for seed in range(40)]
    kept = [prompt for prompt in asked if prompt.elicits == ("history",)]
    assert 10 < len(kept) < 30
    for prompt in kept:
        assert prompt.answer not in prompt.messages[-1].content
        assert check(prompt, prompt.answer).value == "right"
