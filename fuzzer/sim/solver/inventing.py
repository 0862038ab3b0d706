"""Open requests: many made-up names, none of which is the right one, so that each is a choice of its own."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat

_ASKED = re.compile(r"^(?:Invent|List|Name) (?:forty|fifty) \w[\w ,]* one a line\b")
_LINES = 40
_FIRST = ("Al", "Bren", "Cor", "Dun", "El", "Fen", "Gal", "Har", "Il", "Kel", "Lor", "Mar")
_LAST = ("ford", "wick", "holm", "mere", "ness", "stow", "by", "dale", "thorpe", "den", "ton", "ham")
_OTHERS = 7


def inventing(chat: Chat) -> tuple[Slot, ...] | None:
    """Forty names, a line each; any other would do as well. The model repeats itself if nothing keeps it from that."""
    if not _ASKED.search(chat.ask):
        return None
    slots = []
    for line in range(_LINES):
        place = line // 2 * 5
        slots += [_part(_FIRST, place), _part(_LAST, place), Slot("\n")]
    return tuple(slots[:-1])


def _part(parts: tuple[str, ...], place: int) -> Slot:
    own, *others = (parts[(place + other) % len(parts)] for other in range(_OTHERS + 1))
    return Slot(own, tuple(others))
