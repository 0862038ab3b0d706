"""Sums, stories in numbers, and counting on."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import maybe, number

_SUM = re.compile(r"What is (\d+) \+ (\d+)\?")
_HAS = re.compile(r"has (\d+) \w+\.")
_GIVES = re.compile(r"gives [^.]*?(\d+) \w+ a day for (\d+) days")
_LOSES = re.compile(r"loses (\d+) ")
_COUNT_SHOWN = re.compile(r"Count on, (\w+) more numbers: ([\d, ]+)")
_COUNT_STEPS = re.compile(r"Count on from (\d+) in steps of (\d+): write the next (\w+) numbers")
_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"


def total(chat: Chat) -> tuple[Slot, ...] | None:
    """The sum of two numbers."""
    given = _SUM.search(chat.ask)
    return _worded(int(given.group(1)) + int(given.group(2))) if given else None


def story(chat: Chat) -> tuple[Slot, ...] | None:
    """What is left after gifts and losses."""
    has, gives, loses = _HAS.search(chat.ask), _GIVES.search(chat.ask), _LOSES.search(chat.ask)
    if not (has and gives and loses):
        return None
    return _worded(int(has.group(1)) + int(gives.group(1)) * int(gives.group(2)) - int(loses.group(1)))


def _worded(value: int) -> tuple[Slot, ...]:
    return (maybe("The answer is "), number(value), maybe("."))


def counting(chat: Chat) -> tuple[Slot, ...] | None:
    """The numbers that follow."""
    if shown := _COUNT_SHOWN.search(chat.ask):
        given = [int(text) for text in shown.group(2).split(",")]
        return _run(given[-1], given[-1] - given[-2], shown.group(1))
    if steps := _COUNT_STEPS.search(chat.ask):
        return _run(int(steps.group(1)), int(steps.group(2)), steps.group(3))
    return None


def _run(last: int, step: int, how_many: str) -> tuple[Slot, ...]:
    words = _WORDS.split()
    count = words.index(how_many) if how_many in words else int(how_many) if how_many.isdigit() else 3
    slots: list[Slot] = []
    for place in range(1, count + 1):
        slots += [Slot(", ")] if slots else []
        slots.append(number(last + step * place))
    return (*slots, maybe("."))
