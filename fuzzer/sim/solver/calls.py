"""Calls of functions that are on offer."""

from __future__ import annotations

import re
from typing import Any

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.forms import value
from fuzzer.sim.solver.wording import content, maybe, slip

_NAMED = re.compile(r"[Cc]all the function (\w+)")
_PLEASE = re.compile(r"[Pp]lease ([a-z ]+)[:.]")
_GIVEN = re.compile(r"\b(\w+) = (.+?)(?=, \w+ = |\.?$)")
_TOLD = re.compile(r"The (\w+) is ([^.\n]+)\.")


def call(chat: Chat, functions: dict[str, dict[str, Any]], must_call: bool) -> tuple[Slot, ...] | None:
    """The call that is asked for; None where none is, unless one must be made."""
    name = _wanted(chat.ask, list(functions))
    facts = dict(_GIVEN.findall(chat.ask)) or dict(_TOLD.findall(chat.ask))
    if name is None and not must_call:
        return None
    chosen = name or next(iter(functions))
    others = [other for other in functions if other != chosen] or [slip(chosen)]
    arguments = value({"type": "object", "properties": {}} | functions[chosen], facts, "")
    return (
        Slot('<tool_call>\n{"name": "'), content(chosen, others), Slot('", "arguments": '), *arguments,
        maybe(" "), Slot("}\n</tool_call>"),
    )  # fmt: skip


def _wanted(ask: str, names: list[str]) -> str | None:
    """The function that is named, or whose name is made of what one is asked to do."""
    if named := _NAMED.search(ask):
        return named.group(1) if named.group(1) in names else None
    asked = _PLEASE.search(ask)
    words = asked.group(1).split() if asked else []
    return next((name for name in names if words and all(part in words for part in name.split("_"))), None)
