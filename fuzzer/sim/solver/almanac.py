"""Days of the week and months, counted on and back."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe

_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_MONTHS = "January February March April May June July August September October November December"
_NOW = re.compile(r"(?:Today|This month) is (\w+)")
_ON = re.compile(r"in (\d{1,6}) (?:day|month)s?\?")
_AGO = re.compile(r"(\d{1,6}) (?:day|month)s? ago\?")
_BESIDE = re.compile(r"Which (?:day|month) comes (after|before) (\w+)\?")


def almanac(chat: Chat) -> tuple[Slot, ...] | None:
    """The day or month that is so far from another one."""
    if beside := _BESIDE.search(chat.ask):
        return _moved(beside[2], 1 if beside[1] == "after" else -1)
    now = _NOW.findall(f"{chat.before}\n{chat.ask}")
    steps = _steps(chat.ask)
    return _moved(now[-1], steps) if now and steps is not None else None


def _steps(ask: str) -> int | None:
    if on := _ON.search(ask):
        return int(on[1])
    if ago := _AGO.search(ask):
        return -int(ago[1])
    for words, steps in (("day after tomorrow", 2), ("day before yesterday", -2), ("tomorrow", 1), ("yesterday", -1)):
        if words in ask:
            return steps
    return None


def _moved(name: str, steps: int) -> tuple[Slot, ...] | None:
    for cycle in (_DAYS.split(), _MONTHS.split()):
        if name in cycle:
            place = (cycle.index(name) + steps) % len(cycle)
            return (maybe("It is "), content(cycle[place], (cycle[place - 1], cycle[place - 2])), maybe("."))
    return None
