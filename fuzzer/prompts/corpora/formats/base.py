"""What a format is: the fields that tell it, the shape that they have, and the row that comes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from fuzzer.prompts.corpora.rows import Row

_SAID = {
    "missing": "is missing",
    "string_type": "is not a text",
    "string_too_short": "is empty",
    "too_short": "is empty",
    "tuple_type": "is not a list",
    "list_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "int_type": "is not a whole number",
    "int_parsing": "is not a whole number",
    "int_from_float": "is not a whole number",
}


class Shape(BaseModel):
    """The fields of a row; those that are not known are left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, coerce_numbers_to_str=False)

    def row(self) -> Row:
        """The question; RowError where the fields do not go together."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Format:
    """A format. A row is of it if it has all the fields of one of the ``signs``.

    ``numbered`` says that an id stands for one question, so that the same id twice is a mistake (a traffic log may well
    repeat one). ``example`` is a row for people.
    """

    name: str
    summary: str
    shape: type[Shape]
    signs: tuple[frozenset[str], ...]
    example: str
    numbered: bool = True

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are read."""
        return tuple(field.alias or name for name, field in self.shape.model_fields.items())


def signs(*fields: str) -> tuple[frozenset[str], ...]:
    """Sets of fields, each written as names with spaces between them."""
    return tuple(frozenset(each.split()) for each in fields)


def faults(error: ValidationError) -> Iterator[tuple[str, str]]:
    """All that is wrong, as (field, reason); a list is not called too short for items that are wrong themselves."""
    found = error.errors(include_url=False)
    for each in found:
        within = [other for other in found if other is not each and other["loc"][: len(each["loc"])] == each["loc"]]
        if each["type"] == "too_short" and within:
            continue
        yield ".".join(map(str, each["loc"])), _reason(each)


def _reason(error: Any) -> str:
    if error["type"] == "literal_error":
        return f"is {str(error['input'])[:40]!r}; known are {error['ctx']['expected']}"
    return _SAID.get(error["type"], str(error["msg"]).removeprefix("Value error, "))
