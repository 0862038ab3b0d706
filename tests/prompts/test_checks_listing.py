"""Replies as models give them, to questions whose answer is a list."""

from __future__ import annotations

import pytest

from tests.prompts.strategies import make
from tests.prompts.test_checks_single import verdict

ORDER = make("ordering", "easy", 1)
A, B, C, D = ORDER.answer.split(", ")
X, Y, *_ = make("ordering", "easy", 2).answer.split(", ")
GOOD, BAD = ORDER.answer, f"{B}, {A}, {C}, {D}"


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{A} → {B} → {C} → {D}"),
        ("right", f"{A} > {B} > {C} > {D}"),
        ("right", f"1. {A}\n2. {B}\n3. {C}\n4. {D}"),
        ("right", f"1) {A}, 2) {B}, 3) {C}, 4) {D}"),
        ("right", f"- {A}\n- {B}\n- {C}\n- {D}"),
        ("right", f"{A}\n{B}\n{C}\n{D}"),
        ("right", f"{A}, {B}, {C}, and {D}."),
        ("right", f"**{A}**, **{B}**, **{C}**, **{D}**"),
        ("right", f'["{A}", "{B}", "{C}", "{D}"]'),
        ("right", f"{A},{B},{C},{D}"),
        ("right", GOOD.lower()),
        ("verbose", f"First: {A}\nSecond: {B}\nThird: {C}\nLast: {D}"),
        ("verbose", f"{A} (first), {B} (second), {C} (third), {D} (last)"),
        ("verbose", f"The riders are {BAD}. The order is {GOOD}."),
        ("verbose", f"Given {BAD} → {GOOD}"),
        ("verbose", f"{BAD}\n{GOOD}"),
        ("verbose", f"{GOOD}, as required by the constraints."),
        ("verbose", f"{GOOD}\n\nExplanation: {A} came before {B}. {B} came before {C}. {C} came before {D}."),
        ("verbose", f"Final answer: {GOOD}\n(The list was given as {BAD}.)"),
        ("verbose", f"{GOOD}\n\nNote: the original list was {BAD}"),
        ("verbose", f"The answer is: {A} then {B} then {C} then {D}"),
        ("verbose", f"| place | rider |\n|---|---|\n| 1 | {A} |\n| 2 | {B} |\n| 3 | {C} |\n| 4 | {D} |"),
        ("verbose", f"{A} is first, {B} is second, {C} is third, {D} is last. So: {GOOD}"),
        ("wrong-value", BAD),
        ("wrong-value", f"{A}, {B}, {C}"),
        ("wrong-value", f"{GOOD}, {A}"),
        ("wrong-value", f"{GOOD}, {X}"),
        ("wrong-value", f"{GOOD}, Foo Bar"),
        ("wrong-value", f"Foo Bar, {GOOD}"),
        ("wrong-value", f"1. {A}\n2. {B}\n3. {C}\n4. {D}\n5. Foo Bar"),
        ("wrong-value", f"1. Foo Bar\n2. {A}\n3. {B}\n4. {C}\n5. {D}"),
        ("wrong-value", f"- Foo\n- {A}\n- {B}\n- {C}\n- {D}"),
        ("wrong-value", f"The order is Foo Bar, {GOOD}"),
        ("wrong-value", f"{X}, {GOOD}"),
        ("wrong-value", f"1. {X}\n2. {A}\n3. {B}\n4. {C}\n5. {D}"),
        ("another-question", f"{GOOD}\n{X}"),
        ("another-question", f"{GOOD}\n\n{X}"),
        ("verbose", f"{GOOD}\n\nThe last was {D}."),
        ("verbose", f"1. Sort them:\n\n1. {A}\n2. {B}\n3. {C}\n4. {D}"),
        ("wrong-value", f"{GOOD} or {BAD}"),
        ("wrong-value", f"{GOOD}\n\nWait, actually: {BAD}"),
        ("wrong-value", GOOD[:-1]),
        ("another-question", f"{X}, {Y}, {A}, {B}"),
    ],
)
def test_an_order_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(ORDER, said) == want


def test_a_reversed_pair() -> None:
    prompt = make("reverse", "easy", 1)
    first, second = prompt.answer.split(", ")
    assert verdict(prompt, f"Reverse: {second}, {first} → {first}, {second}") == "verbose"
    assert verdict(prompt, f"{second}, {first}") == "wrong-value"
    assert verdict(prompt, first) == "wrong-value"
    assert verdict(prompt, f"{first}, {second}, {first}") == "wrong-value"


COUNT = make("count-on", "hard", 1)
FIRST, RUN, TICKET = COUNT.answer.split("\n")
NUMBERS = [int(each) for each in RUN.split(", ")]
STEP = NUMBERS[1] - NUMBERS[0]


def joined(numbers: list[int], separator: str = ", ", form: str = "{}") -> str:
    return f"{FIRST}\n{separator.join(map(form.format, numbers))}\n{TICKET}"


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", joined(NUMBERS, form="{:,}")),
        ("right", joined(NUMBERS, ",")),
        ("right", joined(NUMBERS, " ")),
        ("right", joined(NUMBERS, "\n")),
        ("right", joined(NUMBERS, "\n", "- {}")),
        ("right", f"{FIRST}\n" + "\n".join(f"{i}. {n}" for i, n in enumerate(NUMBERS, 1)) + f"\n{TICKET}"),
        ("verbose", joined([NUMBERS[0] - STEP, *NUMBERS])),
        ("verbose", f"{FIRST}\nCounting on in steps of {STEP}: {RUN}.\n{TICKET}"),
        ("verbose", f"{FIRST}\n" + "\n".join(f"{n - STEP} + {STEP} = {n}" for n in NUMBERS) + f"\n{RUN}\n{TICKET}"),
        ("dropped-constraint", joined(NUMBERS[:9])),
        ("dropped-constraint", joined([*NUMBERS, NUMBERS[-1] + STEP])),
        ("dropped-constraint", f"{FIRST}\n{RUN}"),
        ("wrong-value", joined(NUMBERS[:4] + NUMBERS[5:])),
        ("wrong-value", joined([n + 1 for n in NUMBERS])),
        ("wrong-value", joined(NUMBERS[::-1])),
    ],
)
def test_a_count_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(COUNT, said) == want


def test_a_short_count_may_repeat_what_was_given() -> None:
    prompt = make("count-on", "easy", 1)
    a, b, c = (int(each) for each in prompt.answer.split(", "))
    given = f"{a - 4}, {a - 3}, {a - 2}, {a - 1}"
    assert verdict(prompt, f"{given}, {a}, {b}, {c}") == "verbose"
    assert verdict(prompt, f"{given}\n{a}, {b}, {c}") == "verbose"
    assert verdict(prompt, f"The next three numbers are {a}, {b} and {c}.") == "verbose"
    assert verdict(prompt, given) == "wrong-value"
    assert verdict(prompt, f"{a}, {b}") == "dropped-constraint"
    assert verdict(prompt, str(a)) == "wrong-value"


ROW = make("lookup", "hard", 1)
TAG, PAIR, ROW_TICKET = ROW.answer.split("\n")
TOWN, KEY = PAIR.split(", ")
WHO = str(ROW.spec["about"])
ROWS = [line.split(" | ") for line in ROW.messages[-1].content.split("\n")[2:12]]
ELSE = next(row for row in ROWS if row[0] != WHO)


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", f"{TOWN} | {KEY}"),
        ("right", f"{KEY}, {TOWN}"),
        ("verbose", f"The town of {WHO} is {TOWN} and the code is {KEY}."),
        ("verbose", f"{WHO}: {TOWN}, {KEY}"),
        ("verbose", "\n".join(" | ".join(row) for row in ROWS) + f"\nSo the town is {TOWN} and the code is {KEY}."),
        ("wrong-value", f"{ELSE[1]}, {ELSE[2]}"),
        ("wrong-value", f"{TOWN}, {ELSE[2]}"),
        ("wrong-value", f"{ELSE[1]}, {KEY}"),
        ("dropped-constraint", TOWN),
        ("dropped-constraint", KEY),
    ],
)
def test_a_row_of_a_table(want: str, said: str) -> None:
    assert verdict(ROW, f"{TAG}\n{said}\n{ROW_TICKET}") == want
