"""Questions whose answer is a number or a run of numbers: arithmetic and count-on. Such answers cannot be unique."""

from __future__ import annotations

import random

from fuzzer.history.records import Level
from fuzzer.prompts import names
from fuzzer.prompts.frame import Task


def arithmetic(rng: random.Random, level: Level) -> Task:
    """A sum of two digits (easy), or a story of three steps (hard)."""
    if level == "easy":
        a, b = rng.randrange(2, 10), rng.randrange(2, 10)
        return _number(f"What is {a} + {b}? Reply with the number only.", a + b, [a, b])
    owner, giver = names.names(rng, 2)
    start, gift, days, lost = rng.randrange(3000, 9000), rng.randrange(21, 99), rng.randrange(3, 10), rng.randrange(101, 999)
    ask = (
        f"{owner} has {start} beads. {giver} gives {owner} {gift} beads a day for {days} days. "
        f"Then {owner} loses {lost} beads. How many beads has {owner} now?"
    )
    return _number(ask, start + gift * days - lost, [start, gift, days, lost], (owner, giver))


def _number(ask: str, value: int, given: list[int], items: tuple[str, ...] = ()) -> Task:
    return Task(
        ask=ask, answer=str(value), spec={"value": value, "given": list(given)}, items=items, attributable=False
    )


def count_on(rng: random.Random, level: Level) -> Task:
    """The next three numbers after worked examples (easy), or the next ten in steps (hard)."""
    if level == "easy":
        start = rng.randrange(20, 60)
        earlier = ((_ask_count(11), _run(15, 3)), (_ask_count(61), _run(65, 3)))
        return _count(_ask_count(start), start + 4, 1, 3, earlier)
    start, step = rng.randrange(1000, 9000), rng.randrange(2, 13)
    ask = f"Count on from {start} in steps of {step}: write the next ten numbers, separated by commas."
    return _count(ask, start + step, step, 10, ())


def _ask_count(start: int) -> str:
    return f"Count on, three more numbers: {_run(start, 4)}"


def _run(start: int, length: int, step: int = 1) -> str:
    return ", ".join(str(start + step * index) for index in range(length))


def _count(ask: str, start: int, step: int, length: int, earlier: tuple[tuple[str, str], ...]) -> Task:
    value = [start + step * index for index in range(length)]
    return Task(
        ask=ask, answer=_run(start, length, step), spec={"value": list(value)}, earlier=earlier, attributable=False
    )
