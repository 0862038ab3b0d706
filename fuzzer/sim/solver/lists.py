"""Questions about lists of names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import listed, maybe

_RIDERS = re.compile(r"riders[^:]*: ([^.]+)\.")
_BEFORE = re.compile(r"(\w+ \w+) came before (\w+ \w+)\.")
_AFTER = re.compile(r"(\w+ \w+) came directly after (\w+ \w+)\.")
_NOT_AT = re.compile(r"(\w+ \w+) did not come (first|second|third|last)\.")
_PLACES = {"first": 0, "second": 1, "third": 2, "last": -1}
_SORT = re.compile(r"[Ss]ort these names in (reverse )?alphabetical order[^:]*: (.+)")
_REVERSE = re.compile(r"(?:Reverse|[Ww]rite these names in reverse order)[^:]*: (.+)")


def ordering(chat: Chat) -> tuple[Slot, ...] | None:
    """The order of arrival that all statements allow."""
    given = _RIDERS.search(chat.ask)
    if not given:
        return None
    riders = given.group(1).split(", ")
    for order in itertools.permutations(riders):
        if _allowed(order, chat.ask):
            return (maybe("From first to last: "), *listed(order))
    return None


def _allowed(order: Sequence[str], statements: str) -> bool:
    place = {rider: index for index, rider in enumerate(order)}
    nowhere = len(order)
    return (
        all(place.get(a, -1) < place.get(b, nowhere) for a, b in _BEFORE.findall(statements))
        and all(place.get(a, -1) == place.get(b, nowhere) + 1 for a, b in _AFTER.findall(statements))
        and all(order[_PLACES[where]] != rider for rider, where in _NOT_AT.findall(statements))
    )


def sorting(chat: Chat) -> tuple[Slot, ...] | None:
    """Names in alphabetical order, or in reverse."""
    given = _SORT.search(chat.ask)
    if not given:
        return None
    names = sorted(given.group(2).split(", "), reverse=given.group(1) is not None)
    return (maybe("Sorted: "), *listed(names))


def reversing(chat: Chat) -> tuple[Slot, ...] | None:
    """Names from the last to the first."""
    given = _REVERSE.search(chat.ask)
    return (maybe("Reversed: "), *listed(given.group(1).split(", ")[::-1])) if given else None
