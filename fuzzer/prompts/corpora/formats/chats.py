"""What people and programs said: OpenAI messages and request bodies, ShareGPT, vLLM's custom data set.

No right answer is known. A reply in the data is no answer key: a last one is left out, earlier ones are history.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from fuzzer.history.records import Message, Wants
from fuzzer.prompts.corpora.formats.base import Format, Shape, signs
from fuzzer.prompts.corpora.formats.said import Said, ToolOffer, messages
from fuzzer.prompts.corpora.rows import Row, RowError

SHORT_OUTPUT = 256  # tokens, a run's usual limit: a row's own limit may be below it, but never makes answers longer

_SPEAKERS: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "assistant": "assistant",
    "system": "system",
    "tool": "tool",
}


class Messages(Shape):
    """Messages, or the body of a chat completion request; sampling parameters are left out, since greedy is asked."""

    messages: Annotated[tuple[Said, ...], Field(min_length=1)]
    id: str | int | None = None
    custom_id: str | int | None = None
    tools: tuple[ToolOffer, ...] | None = None
    tool_choice: Any = None
    response_format: dict[str, Any] | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None

    @field_validator("messages", mode="before")
    @classmethod
    def _without_the_last_reply(cls, value: object) -> object:
        """What the model said last is not sent, so it may be anything: no content, an image, a sound."""
        if not isinstance(value, list):
            return value
        end = len(value)
        while end and isinstance(value[end - 1], dict) and value[end - 1].get("role") == "assistant":
            end -= 1
        return value[:end] or value

    def row(self) -> Row:
        """The request as it was, up to the last message that is not the model's."""
        said = _asked(messages(self.messages))
        return Row(
            format=MESSAGES.name,
            messages=said,
            asks=(len(said) - 1,),
            wants=self._wants(),
            id=name_of(self.id if self.custom_id is None else self.custom_id),
        )

    def _wants(self) -> Wants:
        offers = () if self.tool_choice == "none" else self.tools or ()
        forced = bool(offers) and (self.tool_choice == "required" or isinstance(self.tool_choice, dict))
        return Wants(
            json_schema=self._schema(),
            tools=tuple(offer.tool() for offer in offers),
            tool_choice="required" if forced else "auto",
            max_tokens=short(self.max_completion_tokens or self.max_tokens),
        )

    def _schema(self) -> dict[str, JsonValue] | None:
        wanted = self.response_format or {}
        if wanted.get("type") == "json_object":
            return {"type": "object"}
        inner = wanted.get("json_schema")
        schema = inner.get("schema") if isinstance(inner, dict) else None
        return schema if isinstance(schema, dict) else None


class _Turn(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    role: Annotated[str, Field(alias="from")]
    content: Annotated[str, Field(alias="value")]

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, value: object) -> object:
        if isinstance(value, dict) and "role" in value and "from" not in value:
            return {"from": value["role"], "value": value.get("content")}
        return value

    @field_validator("role")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in _SPEAKERS:
            raise ValueError(f"is {value[:40]!r}; known are {', '.join(_SPEAKERS)}")
        return value


class ShareGpt(Shape):
    """A conversation of which any turn of the person's may be the one that is asked."""

    conversations: Annotated[tuple[_Turn, ...], Field(min_length=1)]
    id: str | int | None = None
    system: str | None = None

    def row(self) -> Row:
        """The conversation from its first turn that is not the model's."""
        head = [Message(role="system", content=self.system)] if self.system else []
        turns = [Message(role=_SPEAKERS[turn.role], content=turn.content) for turn in self.conversations]
        start = next((at for at, turn in enumerate(turns) if turn.role != "assistant"), len(turns))
        said = _asked((*head, *turns[start:]), "conversations")
        asks = tuple(at for at, each in enumerate(said) if each.role == "user")
        empty = [f"conversations.{start + at - len(head)}.value" for at in asks if not said[at].content.strip()]
        if empty:
            raise RowError(*((name, "is empty") for name in empty))
        return Row(format=SHAREGPT.name, messages=said[: asks[-1] + 1], asks=asks, id=name_of(self.id))


class Prompt(Shape):
    """One text to be answered."""

    prompt: str
    id: str | int | None = None
    output_tokens: Annotated[int, Field(ge=1)] | None = None

    def row(self) -> Row:
        """The text as the only message."""
        return single(PROMPT.name, self.prompt, wants=Wants(max_tokens=short(self.output_tokens)), id=name_of(self.id))


def single(format_: str, text: str, *, field: str = "prompt", **more: Any) -> Row:
    """A row of one message; RowError if there is nothing in it."""
    if not text.strip():
        raise RowError((field, "is empty"))
    return Row(format=format_, messages=(Message(role="user", content=text),), asks=(0,), **more)


def name_of(identity: str | int | None) -> str:
    """An id as text, "" for none."""
    return "" if identity is None else str(identity)


def short(limit: int | None) -> int | None:
    """A row's own output limit, where it is below the usual one; some clients send 0 or -1 for none."""
    return limit if limit is not None and 0 < limit < SHORT_OUTPUT else None


def _asked(said: tuple[Message, ...], field: str = "messages") -> tuple[Message, ...]:
    """The messages without the model's last words."""
    end = len(said)
    while end and said[end - 1].role == "assistant":
        end -= 1
    if not any(each.role == "user" for each in said[:end]):
        raise RowError((field, "no message of a user's that could be answered"))
    if said[end - 1].role == "system":
        raise RowError((field, "the last message is the system's"))
    return said[:end]


MESSAGES = Format(
    name="messages",
    summary='OpenAI messages, or request bodies from a traffic log (also below "request" or "body")',
    shape=Messages,
    signs=signs("messages"),
    example='{"messages": [{"role": "user", "content": "Name a river."}]}',
    numbered=False,
)
SHAREGPT = Format(
    name="sharegpt",
    summary="ShareGPT conversations; a turn of the person's is drawn by seed",
    shape=ShareGpt,
    signs=signs("conversations"),
    example='{"conversations": [{"from": "human", "value": "Name a river."}, {"from": "gpt", "value": "The Elbe."}]}',
    numbered=False,
)
PROMPT = Format(
    name="prompt",
    summary="vLLM's custom data set: a prompt, and perhaps output_tokens",
    shape=Prompt,
    signs=signs("prompt"),
    example='{"prompt": "Name a river."}',
    numbered=False,
)
