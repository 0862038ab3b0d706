"""Codes that change hands, and the thinking aloud before an answer."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import code, maybe

_HOLDS = re.compile(r"(\w+ \w+) holds the code ([0-9A-Z]{4}-[0-9A-Z]{4})\.")
_SWAP = re.compile(r"(\w+ \w+) and (\w+ \w+) swap codes\.")
_ASKED = re.compile(r"Which code does (\w+ \w+) hold now\?")


def after_swaps(chat: Chat) -> tuple[Slot, ...] | None:
    """The code that somebody holds in the end."""
    asked = _ASKED.search(chat.ask)
    held = dict(_HOLDS.findall(chat.ask))
    if asked is None or asked.group(1) not in held:
        return None
    for one, other in _SWAP.findall(chat.ask):
        if one in held and other in held:
            held[one], held[other] = held[other], held[one]
    own = held[asked.group(1)]
    return (maybe("It is "), code(own, [other for other in held.values() if other != own][:2]), maybe("."))


def thinking(chat: Chat) -> tuple[Slot, ...]:
    """Reasoning as a model with a switch for it writes it, before whatever it answers."""
    swaps = _SWAP.findall(chat.ask)
    steps = " ".join(
        f"After step {place}, {one} holds what {other} held." for place, (one, other) in enumerate(swaps, 1)
    )
    return (
        Slot("<think>\n"), Slot("Let me see.", ("Let me think.", "Well.")), Slot(f" {steps}" if steps else ""),
        Slot(" Then I know."), Slot("\n</think>\n\n"),
    )  # fmt: skip
