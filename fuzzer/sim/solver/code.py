"""Python functions written to order."""

from __future__ import annotations

import re

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, maybe, slip

_SHORT = re.compile(r'def (\w+)\((\w+)\), docstring "(.+)", returns (.+)\. Write this')
_LONG = re.compile(r"Name: (\w+)\nParameters: (.+)\nDocstring: (.+)\nReturns: (.+)\n")
_DEFAULT = re.compile(r"Only (\w+) has a default: (\w+)\.")
_PIECE = re.compile(r"\w+|\W+")


def python_function(chat: Chat) -> tuple[Slot, ...] | None:
    """The function with the name, parameters, docstring and value that were asked for."""
    asked = _SHORT.search(chat.ask) or _LONG.search(chat.ask)
    if asked is None:
        return None
    name, given, docstring, value = asked.groups()
    defaults = dict(_DEFAULT.findall(chat.ask))
    parameters: list[Slot] = []
    for each in given.split(", "):
        parameters += [Slot(", ")] if parameters else []
        parameters.append(content(each, (slip(each),)))
        parameters += [Slot("="), content(defaults[each], (slip(defaults[each]),))] if each in defaults else []
    return (
        Slot("def "), content(name, (slip(name),)), Slot("("), *parameters, Slot("):\n"), maybe("\n"),
        Slot('    """'), content(docstring, (slip(docstring),)), Slot('"""\n', ('."""\n',)),
        Slot("    return "), *_expression(value), maybe("\n"),
    )  # fmt: skip


def _expression(value: str) -> list[Slot]:
    """Names and numbers may be mistaken; signs and brackets stand."""
    pieces: list[str] = _PIECE.findall(value)
    return [content(piece, (slip(piece),)) if piece[0].isalnum() else Slot(piece) for piece in pieces]
