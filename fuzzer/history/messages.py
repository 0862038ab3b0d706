"""What goes over the wire with a prompt: messages, tools, and what is asked of the answer."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue


class Record(BaseModel):
    """Base of all records: immutable, strict about unknown fields, and able to keep an engine's NaN or infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


class ToolCall(Record):
    """One call of a function, in a history or in a reply. ``arguments`` is the JSON text as it came, whatever it is."""

    name: str
    arguments: str
    id: str = ""


class Message(Record):
    """One chat message as it goes over the wire; a "tool" message answers the call of that id."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class Tool(Record):
    """A function that the model may call; ``parameters`` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, JsonValue]


class Wants(Record):
    """What a prompt asks of the request beside its messages; whatever is unset is as in every other request.

    ``json_schema`` constrains the answer (structured output). ``tool_choice`` "auto" lets the model decide.
    ``thinking`` switches thinking for this prompt alone. ``max_tokens`` is this prompt's own output limit.
    """

    json_schema: dict[str, JsonValue] | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: Literal["auto", "required"] = "auto"
    thinking: Literal["on", "off"] | None = None
    max_tokens: int | None = None


PLAIN = Wants()
