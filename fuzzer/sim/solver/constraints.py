"""Questions with a rule: so many names, a word that must not be written, facts of the system message."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, listed, maybe, slip

_EXACTLY = re.compile(r"Write exactly (two|three) of these [^:\n]*: ([^\n]+)")
_COUNTS = {"two": 2, "three": 3}
_SIDE = re.compile(r"of these people live in the (\w+)\.")
_ROW = re.compile(r"^([^:\n]+): (\w+)$", re.MULTILINE)
_WITHOUT = re.compile(r"Write this without the word (\w+): ([^\n]+)")
_OTHERS = re.compile(r"Copy the other \w+ names in the same order and never write ([^:\n]+): ([^\n]+)")
_CAPTAIN = re.compile(r"The captain of the ship is ([^.\n]+)\. The other name of the captain is ([^.\n]+)\.")
_LINE = re.compile(r"Write this line again with (\w+) in place of (\w+), and never write \w+:\n([^\n]+)")
_FACT = re.compile(r"The (name of this \w+) is ([\w -]+)\.")
_ASKED = re.compile(r"name of this \w+")


def counted(chat: Chat) -> tuple[Slot, ...] | None:
    """The first so many names, or those that live on one side."""
    if given := _EXACTLY.search(chat.ask):
        chosen = given.group(2).split(", ")[: _COUNTS[given.group(1)]]
    elif side := _SIDE.search(chat.ask):
        chosen = [name for name, where in _ROW.findall(chat.ask) if where == side.group(1)]
    else:
        return None
    return (maybe("Here they are: "), *listed(chosen)) if chosen else None


def avoiding(chat: Chat) -> tuple[Slot, ...] | None:
    """What is asked for, without the word that must not be written."""
    if plain := _WITHOUT.search(chat.ask):
        kept = " ".join(word for word in plain.group(2).split() if word != plain.group(1))
        return (maybe("Here it is: "), content(kept, (plain.group(2), slip(kept))), maybe("."))
    if others := _OTHERS.search(chat.ask):
        kept_names = [name for name in others.group(2).split(", ") if name != others.group(1)]
        return (maybe("Names: "), *listed(kept_names))
    if captain := _CAPTAIN.search(chat.ask):
        return (maybe("The captain is "), content(captain.group(2), (captain.group(1),)), maybe("."))
    line = _LINE.search(chat.ask)
    return _rewritten(*line.groups()) if line else None


def _rewritten(other: str, shunned: str, line: str) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    for word in line.split(" "):
        slots += [Slot(" ")] if slots else []
        if word == shunned:
            slots.append(content(other, (shunned,)))
        else:
            slots.append(content(word, (slip(word),)) if word[:1].isupper() or word[:1].isdigit() else Slot(word))
    return (maybe("Line: "), *slots, maybe("."))


def told_by_system(chat: Chat) -> tuple[Slot, ...] | None:
    """One fact of the system message, or two."""
    known = dict(_FACT.findall(chat.before))
    asked = list(dict.fromkeys(_ASKED.findall(chat.ask)))
    if not asked or not all(what in known for what in asked):
        return None
    slots: list[Slot] = [] if len(asked) > 1 else [maybe(f"The {asked[0]} is ")]
    for place, what in enumerate(asked):
        slots += [Slot(", ")] if place else []
        others = [value for each, value in known.items() if each not in asked]
        slots.append(content(known[what], (*others, slip(known[what]))))
    return (*slots, maybe("."))
