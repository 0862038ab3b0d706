"""Questions whose answer is JSON under a schema that goes with the request: schema-json."""

from __future__ import annotations

import json

from pydantic import JsonValue

from fuzzer.history.records import Canary, Level, Wants
from fuzzer.prompts import canary
from fuzzer.prompts.checks import schemas
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task

_TEXT: JsonValue = {"type": "string"}
_WHOLE: JsonValue = {"type": "integer"}
_YES_NO: JsonValue = {"type": "boolean"}
_SHOWN = (("Bluebird Redwood", 42), ("Blackboard Greenhouse", 17))


def schema_json(rng: Draws, level: Level) -> Task:
    """Fill a form: two keys, one within another, after worked examples (easy), six keys in two objects (medium), or
    three levels with a list of objects, under the long system message (hard). The schema goes as structured output.

    A grammar takes a batch down a path of its own: its mask belongs to one row, and a mask of a neighbour, or one that
    drafted tokens are not held to, shows in keys and types; another request's values show in sound JSON.
    """
    if level == "easy":
        return _easy(rng)
    return _medium(rng) if level == "medium" else _hard(rng)


def _easy(rng: Draws) -> Task:
    name, size = rng.name(), rng.randrange(100, 1000)
    schema = _object(owner=_object(name=_TEXT), size=_WHOLE)
    return Task(
        ask=_ask_easy(name, size),
        answer=json.dumps(_value_easy(name, size)),
        spec={"value": _value_easy(name, size)},
        items=(name,),
        earlier=tuple((_ask_easy(*shown), json.dumps(_value_easy(*shown))) for shown in _SHOWN),
        wants=Wants(json_schema=schema),
    )


def _ask_easy(name: str, size: int) -> str:
    return f"Write as JSON: owner name = {name}, size = {size}"


def _value_easy(name: str, size: int) -> dict[str, JsonValue]:
    return {"owner": {"name": name}, "size": size}


def _medium(rng: Draws) -> Task:
    (name, town), code = rng.names(2), canary.code(rng)
    size, rooms, is_open = rng.randrange(1000, 10_000), rng.randrange(100, 1000), rng.random() < 0.5
    value: dict[str, JsonValue] = {
        "owner": {"name": name, "code": code},
        "house": {"town": town, "size": size, "rooms": rooms, "open": is_open},
    }
    schema = _object(
        owner=_object(name=_TEXT, code=_TEXT), house=_object(town=_TEXT, size=_WHOLE, rooms=_WHOLE, open=_YES_NO)
    )
    facts = (
        f"owner.name = {name}\nowner.code = {code}\nhouse.town = {town}\nhouse.size = {size}\nhouse.rooms = {rooms}\n"
        f"house.open = {json.dumps(is_open)}"
    )
    return _task(facts, value, schema, (name, town), code)


def _hard(rng: Draws) -> Task:
    name, first, second, *labels = rng.names(6)
    code, is_open = canary.code(rng), rng.random() < 0.5
    weights = [rng.randrange(1000, 10_000) for _ in labels]
    value: dict[str, JsonValue] = {
        "owner": {"name": name, "code": code, "towns": [first, second]},
        "boxes": [{"label": label, "weight": weight} for label, weight in zip(labels, weights, strict=True)],
        "open": is_open,
    }
    schema = _object(
        owner=_object(name=_TEXT, code=_TEXT, towns={"type": "array", "items": _TEXT}),
        boxes={"type": "array", "items": _object(label=_TEXT, weight=_WHOLE)},
        open=_YES_NO,
    )
    boxes = [
        f"boxes[{place}].label = {label}\nboxes[{place}].weight = {weight}"
        for place, (label, weight) in enumerate(zip(labels, weights, strict=True))
    ]
    facts = "\n".join(
        (
            f"owner.name = {name}\nowner.code = {code}\nowner.towns[0] = {first}\nowner.towns[1] = {second}",
            *boxes,
            f"open = {json.dumps(is_open)}",
        )
    )
    return _task(facts, value, schema, (name, first, second, *labels), code)


def _task(
    facts: str, value: dict[str, JsonValue], schema: dict[str, JsonValue], items: tuple[str, ...], code: str
) -> Task:
    return Task(
        ask=f"Write one JSON object with these values, objects within objects as the dots say:\n{facts}",
        answer=json.dumps(value),
        spec={"value": value},
        items=items,
        codes=(Canary(channel="user", text=code),),
        elicits=("user",),
        wants=Wants(json_schema=schema),
        framed=False,
    )


def _object(**properties: JsonValue) -> dict[str, JsonValue]:
    """The schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


FAMILIES = (
    Family(
        "schema-json", "fill nested JSON under a schema", "a foreign grammar mask, another request's values",
        schema_json, schemas.schema_object, {"easy": 3, "medium": 2, "hard": 2},
    ),
)  # fmt: skip
