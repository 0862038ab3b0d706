"""What a verifiable instruction is: the arguments that it takes, and whether a response holds to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import JsonValue

Kind = Literal["count", "relation", "text", "texts", "letter", "language"]

_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z]{2,8})?")
_RELATIONS = ("less than", "at least")
_TAKES: dict[Kind, str] = {
    "count": "a whole number from 0 up",
    "relation": '"less than" or "at least"',
    "text": "text that is not empty",
    "texts": "a list of texts, none of them empty",
    "letter": "one character",
    "language": 'the code of a language, such as "de"',
}


@dataclass(frozen=True, slots=True)
class Arguments:
    """An instruction's arguments, once they are known to be of the right types."""

    values: Mapping[str, Any]

    def number(self, name: str) -> int:
        """A count."""
        return int(self.values[name])

    def text(self, name: str, default: str = "") -> str:
        """A text, a letter or a code, without space around it."""
        return str(self.values.get(name, default)).strip()

    def texts(self, name: str) -> list[str]:
        """A list of texts."""
        return [str(each).strip() for each in self.values[name]]

    def allows(self, relation: str, threshold: str, least: int, most: int) -> bool:
        """Whether a count that can be read as ``least`` to ``most`` stands in the relation to the threshold."""
        limit = self.number(threshold)
        return least < limit if self.values[relation] == "less than" else most >= limit


@dataclass(frozen=True, slots=True)
class Rule:
    """``holds`` gets the arguments, the prompt's text and the response; None means that it cannot be told.

    Where something can be counted in two ways, it counts in the way that favours the response.
    """

    holds: Callable[[Arguments, str, str], bool | None]
    takes: Mapping[str, Kind] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()

    def arguments(self, kwargs: Mapping[str, JsonValue]) -> Arguments:
        """The arguments of the right types; ValueError says which is missing or mistyped. None is as good as left out.

        Arguments of other instructions are passed over, as the public data set pads its rows with them.
        """
        given = {name: value for name, value in kwargs.items() if value is not None}
        for name, kind in self.takes.items():
            if name not in given:
                if name in self.optional:
                    continue
                raise ValueError(f"{name} is missing; give {_TAKES[kind]}")
            if not _fits(kind, given[name]):
                raise ValueError(f"{name} must be {_TAKES[kind]}, not {_shown(given[name])}")
        return Arguments({name: given[name] for name in self.takes if name in given})


def _fits(kind: Kind, value: JsonValue) -> bool:
    if kind == "count":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool) and isinstance(value, int | float) and value >= 0
    if kind == "texts":
        return isinstance(value, list) and bool(value) and all(isinstance(each, str) and each.strip() for each in value)
    if not isinstance(value, str) or not value.strip():
        return False
    if kind == "relation":
        return value in _RELATIONS
    if kind == "letter":
        return len(value.strip()) == 1
    return kind == "text" or _LANGUAGE.fullmatch(value) is not None


def _shown(value: JsonValue) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
