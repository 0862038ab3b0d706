"""Questions whose answer is given text or data: echo and keyed-json."""

from __future__ import annotations

import json

from pydantic import JsonValue

from fuzzer.history.records import Canary, Level
from fuzzer.prompts import canary
from fuzzer.prompts.checks import texts
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task


def echo(rng: Draws, level: Level) -> Task:
    """Repeat a name after two worked examples (easy), or five opaque pieces (hard)."""
    if level == "easy":
        text = rng.name()
        earlier = tuple((f"Copy: {shown}", shown) for shown in ("Bluebird Redwood", "Blackboard Greenhouse"))
        return Task(ask=f"Copy: {text}", answer=text, spec={"value": text}, items=(text,), earlier=earlier)
    first, second = rng.names(2)
    code = canary.code(rng)
    text = "; ".join((first, str(rng.randrange(10_000, 100_000)), code, second, str(rng.randrange(10_000, 100_000))))
    return Task(
        ask=f"Copy: {text}",
        answer=text,
        spec={"value": text},
        items=(first, second),
        codes=(Canary(channel="user", text=code),),
    )


def keyed_json(rng: Draws, level: Level) -> Task:
    """Write given keys and values as a JSON object: two after worked examples (easy), or six of all types (hard)."""
    return _json_easy(rng) if level == "easy" else _json_hard(rng)


def _json_easy(rng: Draws) -> Task:
    owner, size = rng.name(), rng.randrange(100, 1000)
    shown: tuple[tuple[str, int], ...] = (("Bluebird Redwood", 42), ("Blackboard Greenhouse", 17))
    earlier = tuple((_ask_easy(name, number), _json({"name": name, "size": number})) for name, number in shown)
    value: dict[str, JsonValue] = {"name": owner, "size": size}
    return Task(ask=_ask_easy(owner, size), answer=_json(value), spec={"value": value}, items=(owner,), earlier=earlier)


def _ask_easy(owner: str, size: int) -> str:
    return f"Write as JSON: name = {owner}, size = {size}"


def _json_hard(rng: Draws) -> Task:
    owner, town = rng.names(2)
    code = canary.code(rng)
    value: dict[str, JsonValue] = {
        "owner": owner,
        "town": town,
        "code": code,
        "size": rng.randrange(1000, 10_000),
        "open": rng.random() < 0.5,
        "rooms": [rng.randrange(100, 1000) for _ in range(3)],
    }
    given = "\n".join(f"{key} = {part if isinstance(part, str) else json.dumps(part)}" for key, part in value.items())
    return Task(
        ask=f"Write one JSON object with these keys and values, strings as strings and numbers as numbers:\n{given}",
        answer=_json(value),
        spec={"value": value},
        items=(owner, town),
        codes=(Canary(channel="user", text=code),),
    )


def _json(value: dict[str, JsonValue]) -> str:
    return json.dumps(value)


FAMILIES = (
    Family(
        "echo", "copy an opaque text", "miscopied tokens, another request's text",
        echo, texts.text, {"easy": 10, "hard": 4},
    ),
    Family(
        "keyed-json", "write keys and values as JSON", "broken structure, another request's values",
        keyed_json, texts.json_object, {"easy": 10, "hard": 5},
    ),
)  # fmt: skip
