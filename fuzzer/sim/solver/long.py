"""A code out of a long text, and answers that go on for long."""

from __future__ import annotations

import re
from string import ascii_lowercase

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import code, content, maybe, number

_WHOSE = re.compile(r"\n\nWhat is the code of ([A-Z]\w+ [A-Z]\w+)\?")
_CODE = re.compile(r"\b[0-9A-Z]{4}-[0-9A-Z]{4}\b")
_HEAD = re.compile(r"Write the code ([0-9A-Z-]+) on the first line\.")
_NUMBERS = re.compile(r"Write the numbers from (\d+) to (\d+) in steps of (\d+)")
_LETTERS = re.compile(r"Number the letters of the alphabet in order, from ([a-z]) on")
_NAMES = re.compile(r"Number these \w+ names in turn, over and over: ([^.\n]+)\.")
_COUNT = re.compile(r"Write (\d+) entries")


def found_in_text(chat: Chat) -> tuple[Slot, ...] | None:
    """The code that the text gives to a name; in time linear in the length of the text."""
    asked = _WHOSE.search(chat.ask)
    if not asked:
        return None
    told = f"The code of {asked.group(1)} is "
    place = chat.ask.find(told)
    own = _CODE.match(chat.ask, place + len(told)) if place >= 0 else None
    if own is None:
        return None
    others = [other for other in _CODE.findall(chat.ask) if other != own.group()][:2]
    return (maybe(told), code(own.group(), others), maybe("."))


def going_on(chat: Chat) -> tuple[Slot, ...] | None:
    """A code, and under it a count or a numbered cycle."""
    head = _HEAD.search(chat.ask)
    entries = _counted(chat.ask) or _cycle(chat.ask) if head else None
    if head is None or not entries:
        return None
    slots = [code(head.group(1), ()), Slot("\n")]
    for place, entry in enumerate(entries):
        slots += [Slot(","), Slot(" ")] if place else []
        slots += entry
    return (*slots, maybe("."))


def _counted(ask: str) -> list[tuple[Slot, ...]]:
    given = _NUMBERS.search(ask)
    if not given:
        return []
    start, last, step = map(int, given.groups())
    return [(number(value),) for value in range(start, last + 1, step)]


def _cycle(ask: str) -> list[tuple[Slot, ...]]:
    count = _COUNT.search(ask)
    if letters := _LETTERS.search(ask):
        first = ascii_lowercase.index(letters.group(1))
        cycle = list(ascii_lowercase[first:] + ascii_lowercase[:first])
    elif names := _NAMES.search(ask):
        cycle = names.group(1).split(", ")
    else:
        return []
    entries: list[tuple[Slot, ...]] = []
    for place in range(int(count.group(1)) if count else 0):
        own, other = cycle[place % len(cycle)], cycle[(place + 1) % len(cycle)]
        entries.append((Slot(str(place + 1)), Slot(" "), content(own, (other,))))
    return entries
