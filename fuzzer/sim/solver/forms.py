"""JSON that holds to a schema, filled with what the question tells."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.wording import content, slip

_DOTTED = re.compile(r"^([a-z_]+(?:\[\d+\])?(?:\.[a-z_]+(?:\[\d+\])?)*) = (.+)$", re.MULTILINE)
_IN_LINE = re.compile(r"\b([a-z_]+(?: [a-z_]+)?) = (.+?)(?=, [a-z_ ]+ = |\n|$)")
_DEEPEST = 12  # levels of a schema that are filled
_MOST = 20  # items of one list

Facts = Mapping[str, str]


def filled(chat: Chat, schema: dict[str, Any]) -> tuple[Slot, ...]:
    """The object that the schema asks for; what the question does not tell is left empty."""
    dotted = dict(_DOTTED.findall(chat.ask))
    facts = dotted or {key.replace(" ", "."): text for key, text in _IN_LINE.findall(chat.ask)}
    return tuple(value(schema, facts, "", _DEEPEST))


def value(schema: Mapping[str, Any], facts: Facts, path: str, depth: int = _DEEPEST) -> list[Slot]:
    """The value at a path of the facts, as the schema wants it."""
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if kind == "object":
        return _object(schema, facts, path, depth)
    if kind == "array":
        return _array(schema, facts, path, depth)
    text = facts.get(path)
    if kind == "string":
        return [Slot('"'), *_content(text, json.dumps(text or "")[1:-1]), Slot('"')]
    if kind == "boolean":
        said = "true" if text == "true" else "false"
        return [content(said, ("false" if said == "true" else "true",))] if text else [Slot(said)]
    return _content(text, text if text and re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", text) else "0")


def _content(text: str | None, shown: str) -> list[Slot]:
    return [content(shown, (slip(shown),))] if text and shown else [Slot(shown)]


def _object(schema: Mapping[str, Any], facts: Facts, path: str, depth: int) -> list[Slot]:
    slots = [Slot("{")]
    properties = schema.get("properties")
    wanted = list(properties) if isinstance(properties, dict) and depth else []
    for place, key in enumerate(wanted):
        inner = properties[key] if isinstance(properties, dict) and isinstance(properties[key], dict) else {}
        slots += [Slot(", ", (",\n",))] if place else []
        slots += [Slot(f"{json.dumps(key)}:"), Slot(" ", ("  ",))]
        slots += value(inner, facts, f"{path}.{key}" if path else key, depth - 1)
    return [*slots, Slot("}")]


def _array(schema: Mapping[str, Any], facts: Facts, path: str, depth: int) -> list[Slot]:
    items = schema.get("items")
    inner = items if isinstance(items, dict) else {}
    slots = [Slot("[")]
    for place in range(_MOST if depth else 0):
        own = f"{path}[{place}]"
        if not any(key == own or key.startswith(f"{own}.") for key in facts):
            break
        slots += [Slot(", ")] if place else []
        slots += value(inner, facts, own, depth - 1)
    return [*slots, Slot("]")]
