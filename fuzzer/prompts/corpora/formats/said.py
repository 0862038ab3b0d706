"""Messages and tools in the shape of the chat completions API, as data sets and traffic logs hold them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationInfo, field_validator

from fuzzer.history.records import Message, Tool, ToolCall

_CONFIG = ConfigDict(extra="ignore", frozen=True)
_SAME_ROLE = {"developer": "system"}


class _Function(BaseModel):
    model_config = _CONFIG

    name: Annotated[str, Field(min_length=1)]
    arguments: str = ""
    description: str | None = None
    parameters: dict[str, JsonValue] | None = None

    @field_validator("arguments", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value or ""


class _Call(BaseModel):
    model_config = _CONFIG

    function: _Function
    id: str | None = None


class ToolOffer(BaseModel):
    """A function that the model may call."""

    model_config = _CONFIG

    function: _Function

    def tool(self) -> Tool:
        """The same as it is sent."""
        function = self.function
        return Tool(name=function.name, description=function.description or "", parameters=function.parameters or {})


class Said(BaseModel):
    """One message; the content may be a text or a list of text parts, and may be left out beside tool calls."""

    model_config = _CONFIG

    role: Literal["system", "user", "assistant", "tool"]
    tool_calls: tuple[_Call, ...] = ()
    tool_call_id: str | None = None
    content: Annotated[str | None, Field(validate_default=True)] = None

    @field_validator("role", mode="before")
    @classmethod
    def _known_role(cls, value: object) -> object:
        return _SAME_ROLE.get(value, value) if isinstance(value, str) else value

    @field_validator("tool_calls", mode="before")
    @classmethod
    def _no_calls(cls, value: object) -> object:
        return () if value is None else value

    @field_validator("content", mode="before")
    @classmethod
    def _text(cls, value: object, info: ValidationInfo) -> object:
        text = _joined(value) if isinstance(value, list) else value
        if text is None and not info.data.get("tool_calls"):
            raise ValueError("is missing")
        if isinstance(text, str) and not text.strip() and info.data.get("role") == "user":
            raise ValueError("is empty")
        return text

    def message(self) -> Message:
        """The same as it is sent."""
        calls = tuple(
            ToolCall(name=call.function.name, arguments=call.function.arguments, id=call.id or "")
            for call in self.tool_calls
        )
        return Message(
            role=self.role, content=self.content or "", tool_calls=calls, tool_call_id=self.tool_call_id or ""
        )


def _joined(parts: list[Any]) -> str:
    texts = []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind not in ("text", "input_text"):
            raise ValueError(f"holds a part of type {kind!r}; only text can be sent, so leave such rows out")
        if not isinstance(part.get("text"), str):
            raise ValueError("holds a text part without its text")
        texts.append(part["text"])
    return "\n".join(texts)


def messages(said: Sequence[Said]) -> tuple[Message, ...]:
    """Messages as they are sent."""
    return tuple(each.message() for each in said)
