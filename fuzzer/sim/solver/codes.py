"""Questions about codes: which was given, which holds now, which belongs to whom."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import code, content, maybe

_CODE = r"[0-9A-Z]{4}-[0-9A-Z]{4}"
_CODES = re.compile(rf"\b{_CODE}\b")
_CODE_WORD = re.compile(rf"code word[^.?]*?({_CODE})|changed to ({_CODE})")
_NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
_FACT = re.compile(rf"code of ({_NAME}) (?:is|has been changed to) ({_CODE})|^({_NAME}): ({_CODE})", re.MULTILINE)
_WHOSE = re.compile(rf"What is the code of ({_NAME})\?|Which code belongs to ({_NAME})(?: now)?\?")
_ROW = re.compile(r"^(.+) \| (.+) \| (.+)$", re.MULTILINE)
_WHOSE_ROW = re.compile(r"What are the town and the code of (.+)\? ")


def code_word(chat: Chat) -> tuple[Slot, ...] | None:
    """The code word that holds: the one that was given last."""
    if "code word" not in chat.ask:
        return None
    given = [first or second for first, second in _CODE_WORD.findall(chat.text)]
    if not given:
        return (Slot("I do not know the code word"), maybe("."))
    return (maybe("The code word is "), code(given[-1], _others(chat, given[-1])), maybe("."))


def code_of_owner(chat: Chat) -> tuple[Slot, ...] | None:
    """The code that belongs to a name, by what was said of it last."""
    asked = _WHOSE.findall(chat.ask)
    if not asked:
        return None
    owner = asked[-1][0] or asked[-1][1]
    facts = {a or c: b or d for a, b, c, d in _FACT.findall(chat.text)}
    if owner not in facts:
        return (Slot("I do not know the code of "), content(owner), maybe("."))
    return (maybe(f"The code of {owner} is "), code(facts[owner], _others(chat, facts[owner])), maybe("."))


def _others(chat: Chat, own: str) -> list[str]:
    return [other for other in reversed(_CODES.findall(chat.text)) if other != own][:2]


def table_row(chat: Chat) -> tuple[Slot, ...] | None:
    """Town and code in the row of a name."""
    asked = _WHOSE_ROW.search(chat.ask + " ")
    if not asked:
        return None
    rows = _ROW.findall(chat.ask)
    place = next((place for place, (name, _, _) in enumerate(rows) if name == asked.group(1)), None)
    if place is None:
        return None
    _, town, own = rows[place]
    _, other_town, other = rows[place - 1] if place > 1 else rows[-1]
    return (content(town, (other_town,)), Slot(", "), code(own, (other,)), maybe("."))
