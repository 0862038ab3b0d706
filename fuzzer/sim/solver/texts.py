"""Given text said again, and given values written as JSON."""

from __future__ import annotations

import json
import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe, slip

_REPEAT = re.compile(r"(?:Copy|Repeat)[^:\n]*: (.+)", re.DOTALL)
_JSON = re.compile(r"[Ww]rite .*JSON.*: ?\n?(.+)", re.DOTALL)
_PAIR = re.compile(r"(\w+) = (.+?)(?=, \w+ = |\n|$)")


def repeating(chat: Chat) -> tuple[Slot, ...] | None:
    """The text, piece by piece."""
    given = _REPEAT.fullmatch(chat.ask)
    if not given:
        return None
    pieces = given.group(1).split("; ")
    slots: list[Slot] = []
    for place, piece in enumerate(pieces):
        slots += [Slot(";"), Slot(" ")] if place else []
        slots.append(content(piece, (pieces[place - 1] if place else _earlier(chat), slip(piece))))
    return (maybe("Here it is: "), *slots, maybe("."))


def _earlier(chat: Chat) -> str:
    answers = [text for role, text in chat.turns if role == "assistant"]
    return answers[-1] if answers else ""


def json_object(chat: Chat) -> tuple[Slot, ...] | None:
    """The keys and values as one JSON object."""
    given = _JSON.fullmatch(chat.ask)
    pairs = _PAIR.findall(given.group(1)) if given else []
    if not pairs:
        return None
    slots = [Slot("{", ("{ ",))]
    for place, (key, value) in enumerate(pairs):
        slots += [Slot(",", (",\n",)), Slot(" ")] if place else []
        slots += [Slot(f'"{key}":'), Slot(" ", ("  ",)), *_value(value, pairs[place - 1][1] if place else "")]
    return (*slots, Slot("}"))


def _value(text: str, previous: str) -> list[Slot]:
    try:
        value = json.loads(text)
    except ValueError:
        return [Slot('"'), content(text, (slip(text), previous)), Slot('"')]
    if isinstance(value, bool):
        return [content(text, ("false" if value else "true",))]
    if isinstance(value, list):
        slots = [Slot("[")]
        for place, item in enumerate(value):
            slots += [Slot(", ")] if place else []
            slots.append(content(json.dumps(item), (json.dumps(value[place - 1]), slip(json.dumps(item)))))
        return [*slots, Slot("]")]
    return [content(text, (slip(text),))]
