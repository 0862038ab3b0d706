"""Questions that are answered by calling a function: tool-call."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from fuzzer.history.records import Canary, Channel, Level, Tool, ToolCall, Wants
from fuzzer.prompts import canary
from fuzzer.prompts.checks import called
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families.base import Family
from fuzzer.prompts.frame import Task, Used


@dataclass(frozen=True, slots=True)
class _Function:
    """A function on offer: what it does in words, and its two parameters of its own, a name and a number."""

    name: str
    does: str
    who: str
    number: str


_FUNCTIONS = (
    _Function("open_account", "open an account", "owner", "deposit"),
    _Function("book_table", "book a table", "guest", "party"),
    _Function("send_parcel", "send a parcel", "recipient", "weight"),
    _Function("rent_room", "rent a room", "tenant", "duration"),
    _Function("order_parts", "order parts", "customer", "quantity"),
    _Function("file_report", "file a report", "author", "length"),
    _Function("print_poster", "print a poster", "artist", "height"),
    _Function("hire_boat", "hire a boat", "captain", "distance"),
)


def tool_call(rng: Draws, level: Level) -> Task:
    """Call a function with given arguments: the only one there is (easy), the right one of two (medium), or of three,
    after an earlier turn in which another was called, under the long system message (hard).

    The call is the answer, and no words: a name or argument that a verification let pass, or that stood in another
    request's call, sends money or a parcel astray, in JSON that is sound. Arguments come in fragments when streamed.
    """
    if level == "easy":
        return _easy(rng)
    return _medium(rng) if level == "medium" else _hard(rng)


def _easy(rng: Draws) -> Task:
    (offered,) = rng.sample(_FUNCTIONS, 1)
    name, number = rng.name(), rng.randrange(100, 1000)
    arguments: dict[str, JsonValue] = {offered.who: name, offered.number: number}
    ask = f"Call the function {offered.name} with {offered.who} = {name}, {offered.number} = {number}."
    return _task(ask, offered, arguments, [_tool(offered, with_code=False)], choice="required", items=(name,))


def _medium(rng: Draws) -> Task:
    wanted, other = rng.sample(_FUNCTIONS, 2)
    arguments = _drawn(rng, wanted)
    given = ", ".join(f"{key} = {part}" for key, part in arguments.items())
    tools = [_tool(each) for each in rng.sample((wanted, other), 2)]
    return _task(f"Please {wanted.does}: {given}.", wanted, arguments, tools, codes=_codes("user", arguments))


def _hard(rng: Draws) -> Task:
    wanted, before, other = rng.sample(_FUNCTIONS, 3)
    arguments, earlier = _drawn(rng, wanted), _drawn(rng, before)
    used = Used(
        question=_told("Please", before, earlier),
        call=ToolCall(name=before.name, arguments=json.dumps(earlier), id=f"call_{rng.randrange(10**8):08d}"),
        result=json.dumps({"done": True}),
        answer="Done.",
    )
    tools = [_tool(each) for each in rng.sample((wanted, before, other), 3)]
    return _task(
        _told("Now please", wanted, arguments),
        wanted,
        arguments,
        tools,
        items=(str(earlier[before.who]),),
        codes=(*_codes("history", earlier), *_codes("user", arguments)),
        used=(used,),
    )


def _told(head: str, wanted: _Function, arguments: dict[str, JsonValue]) -> str:
    facts = " ".join(f"The {key} is {part}." for key, part in arguments.items())
    return f"{head} {wanted.does}. {facts}"


def _drawn(rng: Draws, wanted: _Function) -> dict[str, JsonValue]:
    return {wanted.who: rng.name(), "code": canary.code(rng), wanted.number: rng.randrange(1000, 10_000)}


def _codes(channel: Channel, arguments: dict[str, JsonValue]) -> tuple[Canary, ...]:
    return (Canary(channel=channel, text=str(arguments["code"])),)


def _tool(offered: _Function, *, with_code: bool = True) -> Tool:
    properties: dict[str, JsonValue] = {offered.who: {"type": "string"}}
    if with_code:
        properties["code"] = {"type": "string"}
    properties[offered.number] = {"type": "integer"}
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return Tool(name=offered.name, description=f"Use this to {offered.does}.", parameters=parameters)


def _task(
    ask: str, wanted: _Function, arguments: dict[str, JsonValue], tools: list[Tool],
    *, choice: Literal["auto", "required"] = "auto", items: tuple[str, ...] = (),
    codes: tuple[Canary, ...] = (), used: tuple[Used, ...] = (),
) -> Task:  # fmt: skip
    call: dict[str, JsonValue] = {"name": wanted.name, "arguments": arguments}
    return Task(
        ask=ask,
        answer=json.dumps(arguments),
        spec={"value": call, "call": call},
        items=tuple(dict.fromkeys((str(arguments[wanted.who]), *items))),
        codes=codes,
        elicits=("user",) if codes else (),
        wants=Wants(tools=tuple(tools), tool_choice=choice),
        used=used,
        framed=False,
    )


FAMILIES = (
    Family(
        "tool-call", "call a function with given arguments", "a wrong function, another request's arguments",
        tool_call, called.call, {"easy": 3, "medium": 2, "hard": 1},
    ),
)  # fmt: skip
