"""Things to be ordered by conditions on pairs of them, whatever they are ordered by."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.questions import inquiry, words
from fuzzer.sim.solver.vocabulary import AHEAD, BEHIND, FIRST, LAST
from fuzzer.sim.solver.wording import content, listed, maybe

_ITEMS = re.compile(r": ([A-Z][\w-]+(?:, [A-Z][\w-]+)+)\.")
_CONDITION = re.compile(r"^\d{1,2}\. (.+)$", re.MULTILINE)
_COMPARED = re.compile(
    r"\b([A-Z][\w-]{1,40})\b[^.,;]{0,60}?\b(\w{1,20}er than|before|after)\b[^.,;]{0,60}?\b([A-Z][\w-]{1,40})\b"
)
_MOST = 7  # things whose orders are tried out

_Order = tuple[str, ...]
_Holds = Callable[[_Order], bool]


def arranging(chat: Chat) -> tuple[Slot, ...] | None:
    """The order that all numbered conditions allow, after the conditions where they are to be repeated."""
    given = _ITEMS.search(chat.ask)
    conditions = _CONDITION.findall(chat.ask)
    items = given[1].split(", ") if given else []
    if not conditions or not 1 < len(items) <= _MOST:
        return None
    order = _solved(items, [_meaning(text, items) for text in conditions])
    if order is None:
        return None
    order = order[::-1] if _backwards(chat.ask) else order
    repeated = [Slot(f"{text}\n") for text in conditions] if "repeat the conditions" in chat.ask else []
    label = Slot("Answer: ") if repeated else maybe("The order is: ")
    return (*repeated, label, *listed(order))


def comparing(chat: Chat) -> tuple[Slot, ...] | None:
    """Which of some things comes first or last, where each was compared with another."""
    asked = inquiry(chat)
    pairs = _COMPARED.findall(" ".join(asked.told)) if asked else []
    sides = set(words(asked.question.lower())) if asked else set()
    if len(pairs) < 2 or not sides & (FIRST | LAST):
        return None
    items = list(dict.fromkeys(name for first, _, second in pairs for name in (first, second)))
    meanings = [_meaning(f"{first} is {how} {second}", items) for first, how, second in pairs]
    order = _solved(items, meanings) if len(items) <= _MOST else None
    if order is None:
        return None
    chosen = order[0] if sides & FIRST else order[-1]
    return (maybe("The answer is "), content(chosen, [each for each in order if each != chosen][:2]), maybe("."))


def _solved(items: Sequence[str], meanings: Sequence[_Holds]) -> _Order | None:
    orders = itertools.permutations(items)
    return next((order for order in orders if all(holds(order) for holds in meanings)), None)


def _meaning(text: str, items: Sequence[str]) -> _Holds:
    """What a condition demands of an order; nothing, where it is not understood."""
    said = words(text)
    named = [word for word in said if word in items]
    small = {word.lower() for word in said}
    if len(named) == 1 and small & {"not", "never"}:
        place = 0 if small & FIRST - {"left"} else -1
        return lambda order: order[place] != named[0]
    if len(named) < 2 or not small & (AHEAD | BEHIND):
        return lambda order: True
    first, second = named[:2] if small & AHEAD else named[1::-1]
    close = "directly" in small or "between the two" in text
    return lambda order: _stands(order.index(first), order.index(second), close=close)


def _stands(first: int, second: int, *, close: bool) -> bool:
    return second == first + 1 if close else first < second


def _backwards(ask: str) -> bool:
    """Whether the order is asked for from its end: "from the lowest to the highest"."""
    asked = re.findall(r"\bfrom (?:the )?(\w+) to (?:the )?\w+", ask)
    return bool(asked) and asked[-1] in LAST
