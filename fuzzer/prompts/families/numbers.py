"""Questions whose answer is a number or a run of numbers: arithmetic and count-on. Such answers cannot be unique."""

from __future__ import annotations

from pydantic import JsonValue

from fuzzer.history.records import Level
from fuzzer.prompts.checks import listing, single
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task


def arithmetic(rng: Draws, level: Level) -> Task:
    """A sum of two digits (easy), or a story of three steps (hard)."""
    if level == "easy":
        a, b = rng.randrange(2, 10), rng.randrange(2, 10)
        return _number(f"What is {a} + {b}? Reply with the number only.", a + b, [a, b])
    owner, giver = rng.names(2)
    start, gift = rng.randrange(3000, 9000), rng.randrange(21, 99)
    days, lost = rng.randrange(3, 10), rng.randrange(101, 999)
    ask = (
        f"{owner} has {start} beads. {giver} gives {owner} {gift} beads a day for {days} days. "
        f"Then {owner} loses {lost} beads. How many beads has {owner} now?"
    )
    return _number(ask, start + gift * days - lost, [start, gift, days, lost], (owner, giver))


def _number(ask: str, value: int, given: list[int], items: tuple[str, ...] = ()) -> Task:
    return Task(
        ask=ask, answer=str(value), spec={"value": value, "given": list(given)}, items=items, attributable=False
    )


def count_on(rng: Draws, level: Level) -> Task:
    """The next three numbers after worked examples (easy), or the next ten in steps (hard)."""
    return _count_easy(rng) if level == "easy" else _count_hard(rng)


def _count_easy(rng: Draws) -> Task:
    start = rng.randrange(20, 56)
    given, value = _run(start, 4), _run(start + 4, 3)
    earlier = tuple((_ask_count(_run(shown, 4)), _join(_run(shown + 4, 3))) for shown in (11, 61))
    return _count(_ask_count(given), given, value, earlier)


def _ask_count(given: list[int]) -> str:
    return f"Count on, three more numbers: {_join(given)}"


def _count_hard(rng: Draws) -> Task:
    start, step = rng.randrange(1000, 9000), rng.randrange(2, 13)
    ask = f"Count on from {start} in steps of {step}: write the next ten numbers, separated by commas."
    return _count(ask, [start], _run(start + step, 10, step), ())


def _run(start: int, length: int, step: int = 1) -> list[int]:
    return [start + step * index for index in range(length)]


def _join(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def _count(ask: str, given: list[int], value: list[int], earlier: tuple[tuple[str, str], ...]) -> Task:
    spec: dict[str, JsonValue] = {"value": list(value), "given": list(given)}
    return Task(ask=ask, answer=_join(value), spec=spec, earlier=earlier, attributable=False)


FAMILIES = (
    Family(
        "arithmetic", "a sum, or a story in numbers", "wrong values that look right",
        arithmetic, single.number, {"easy": 4, "hard": 2},
    ),
    Family(
        "count-on", "continue a count as far as asked", "skipped or repeated tokens, runaway",
        count_on, listing.count, {"easy": 2, "hard": 2},
    ),
)  # fmt: skip
