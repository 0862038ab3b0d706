"""Long talks about two lists: which is in use, what was corrected, and which name comes where."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe

_LIST = re.compile(r"^(\w+) list: (.+)$", re.MULTILINE)
_USE = re.compile(r"[Uu]se the (\w+) list")
_CORRECTED = re.compile(r"Correction: (\w+ \w+) is now (\w+ \w+)\.")
_TOLD = re.compile(r"[Tt]he (\w+) name is (\w+ \w+)\.")
_NAMED = re.compile(r"What is the (\w+) name\?")
_WHICH = re.compile(r"Which name comes (first|second|third|fourth|fifth)\?")
_PLACES = ("first", "second", "third", "fourth", "fifth")


def place_in_list(chat: Chat) -> tuple[Slot, ...] | None:
    """The name at a place of the list in use, by all that was said of the lists."""
    asked = _WHICH.search(chat.ask)
    if asked is None:
        return _named(chat)
    lists: dict[str, list[str]] = {}
    using = ""
    for said in _said(chat):
        lists |= {name.lower(): listed.split(", ") for name, listed in _LIST.findall(said)}
        for old, new in _CORRECTED.findall(said):
            lists = {name: [new if each == old else each for each in listed] for name, listed in lists.items()}
        using = next(iter(_USE.findall(said)), using)
    place = _PLACES.index(asked.group(1))
    own = lists.get(using, [])
    if place >= len(own):
        return (Slot("There is no such name"), maybe("."))
    others = [listed[place] for name, listed in lists.items() if name != using and place < len(listed)]
    earlier = [text for role, text in chat.turns if role == "assistant"][-1:]
    return (maybe("The name is "), content(own[place], (*others, *earlier, own[place - 1])), maybe("."))


def _named(chat: Chat) -> tuple[Slot, ...] | None:
    """The name that was told last for a colour."""
    asked = _NAMED.search(chat.ask)
    told = [pair for said in _said(chat) for pair in _TOLD.findall(said)]
    own = [name for colour, name in told if asked and colour == asked.group(1)]
    if not own:
        return None
    others = [name for _, name in reversed(told) if name != own[-1]][:2]
    return (maybe("It is "), content(own[-1], others), maybe("."))


def _said(chat: Chat) -> list[str]:
    """What the user said, turn by turn."""
    return [*(text for role, text in chat.turns if role == "user"), chat.ask]
