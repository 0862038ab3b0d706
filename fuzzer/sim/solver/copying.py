"""Codes copied from the last message, or from one before it."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import listed, maybe

_GIVEN = re.compile(r"Copy the codes: ([^\n]+)")
_KEPT = re.compile(r"Keep these codes: ([^\n]+)")


def copying(chat: Chat) -> tuple[Slot, ...] | None:
    """The codes in their order."""
    given = _GIVEN.search(chat.ask) or (_KEPT.search(chat.before) if "codes that I gave you" in chat.ask else None)
    return (maybe("Copied: "), *listed(given.group(1).split(", "))) if given else None
