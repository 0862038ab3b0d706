"""Our own format: messages, the right answer, and how it is compared."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Annotated, Literal

from pydantic import Field, JsonValue, field_validator

from fuzzer.history.records import Level, Wants
from fuzzer.prompts.corpora.formats.base import Format, Shape, signs
from fuzzer.prompts.corpora.formats.said import Said, ToolOffer, messages
from fuzzer.prompts.corpora.rows import Row, RowError


class Own(Shape):
    """A question with one right answer. ``level`` is "hard" where it is left out; ``kind`` is another ``family``."""

    id: str | int | None = None
    messages: Annotated[tuple[Said, ...], Field(min_length=1)]
    answer: Annotated[str, Field(min_length=1)]
    check: Literal["exact", "number", "list"]
    level: Level = "hard"
    family: str | None = None
    kind: str | None = None
    tools: tuple[ToolOffer, ...] | None = None

    @field_validator("level", mode="before")
    @classmethod
    def _level_left_out(cls, value: object) -> object:
        return "hard" if value is None else value

    def row(self) -> Row:
        """The question."""
        if wrong := list(self._faults()):
            raise RowError(*wrong)
        said = messages(self.messages)
        return Row(
            format=OWN.name,
            messages=said,
            asks=(len(said) - 1,),
            level=self.level,
            answer=self.answer,
            check=self.check,
            spec={"value": self._value()},
            wants=Wants(tools=tuple(offer.tool() for offer in self.tools or ())),
            id="" if self.id is None else str(self.id),
            family=self.family or self.kind or "",
        )

    def _faults(self) -> Iterator[tuple[str, str]]:
        if self.messages[-1].role not in ("user", "tool"):
            yield "messages", "the last message is not the user's"
        if all(said.role != "user" for said in self.messages):
            yield "messages", "there is no message of the user's"
        if any(said.role == "system" for said in self.messages[1:]):
            yield "messages", "a system message does not stand first"
        if self.check == "list" and len(self._items()) < 2:
            yield "answer", f"a list has two items or more, separated by commas; the answer is {self.answer!r}"
        if self.check == "number" and not is_number(self.answer):
            yield "answer", f"{self.answer!r} is not a number"
        if self.check == "exact" and "\n" in self.answer.strip():
            yield "answer", "an exact answer is one line"

    def _items(self) -> list[str]:
        separator = ";" if ";" in self.answer else ","
        return [item.strip() for item in self.answer.split(separator) if item.strip()]

    def _value(self) -> JsonValue:
        if self.check == "list":
            return list(self._items())
        return plain_number(self.answer) if self.check == "number" else self.answer.strip()


def is_number(text: str) -> bool:
    """Whether a text is one finite number; thousands may be set apart by commas."""
    try:
        return Decimal(plain_number(text)).is_finite()
    except InvalidOperation:
        return False


def plain_number(text: str) -> str:
    """A number without its commas."""
    return text.strip().replace(",", "")


OWN = Format(
    name="own",
    summary="messages with the right answer and how to compare it (exact, number, list)",
    shape=Own,
    signs=signs("messages answer", "messages check", "answer check"),
    example='{"messages": [{"role": "user", "content": "What is 2 + 3?"}], "answer": "5", "check": "number"}',
)
