"""JSON objects in a reply, also those that only a lenient reader takes for JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_EFFORT = 8  # times its own length that a reply may be read in search of objects
_FALSE_STARTS = 500  # braces that open no object before the search is given up
_DEPTH = 40  # levels of nesting beyond which an object is no answer
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<mark>[{}\[\],:])
    | "(?P<double>(?:[^"\\\n]|\\.)*)" | '(?P<single>(?:[^'\\\n]|\\.)*)'
    | [“”„](?P<curly>[^“”„\n]*)[“”] | [‘’](?P<curly_single>[^‘’\n]*)’
    | (?P<number>-?[0-9]{1,40}(?:\.[0-9]{1,40})?(?![\w.]))
    | (?P<word>\w[\w-]{0,60})
    )""",
    re.VERBOSE,
)
_WORDS = {"true": True, "false": False, "none": None, "null": None}


@dataclass(frozen=True, slots=True)
class Object:
    """An object at offsets ``start`` to ``end`` of a text; ``strict`` where it is JSON to the letter."""

    value: dict[str, Any]
    start: int
    end: int
    strict: bool


class _NoObjectError(ValueError):
    """What begins here is no object; ``pos`` is how far it was read."""

    def __init__(self, pos: int) -> None:
        super().__init__(f"no object, seen at {pos}")
        self.pos = pos


def objects(said: str) -> Iterator[Object]:
    """All objects in a text that lie in no other, in order.

    Lenient: single or typographic quotes, keys and words without any, True and None, a comma too many at the end.
    """
    effort, false_starts = _EFFORT * len(said), 0
    at = said.find("{")
    while at >= 0 and effort > 0 and false_starts < _FALSE_STARTS:
        found, reached = _read(said, at)
        if found is None:
            effort -= reached - at
            false_starts += 1
            at = said.find("{", at + 1)
            continue
        if not _deep(found.value):
            yield found
        at = said.find("{", found.end)


def _read(said: str, at: int) -> tuple[Object | None, int]:
    """The object that begins here, or None, and how far was read."""
    try:
        value, end = _STRICT.raw_decode(said, at)
        return Object(value, at, end, strict=True), end
    except (ValueError, RecursionError) as error:
        reached = int(getattr(error, "pos", len(said)))
    try:
        value, end = _Lenient(said).value(at, _DEPTH)
    except _NoObjectError as error:
        return None, reached + error.pos - at
    return Object(value, at, end, strict=False), end


class _Lenient:
    """Reads one value as a lenient reader would."""

    def __init__(self, said: str) -> None:
        self._said = said

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value that begins at an offset, and where it ends."""
        token = self._token(at)
        if depth == 0:
            raise _NoObjectError(token.end())
        if token["mark"] == "{":
            return self._object(token.end(), depth)
        if token["mark"] == "[":
            return self._array(token.end(), depth)
        if (text := _text(token)) is not None:
            return text, token.end()
        if token["number"] is not None:
            return json.loads(token["number"].lstrip("0") or "0"), token.end()
        if (word := token["word"]) is not None:
            return _WORDS.get(word.lower(), word), token.end()
        raise _NoObjectError(token.end())

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        pairs = []
        while (token := self._token(at))["mark"] != "}":
            key = token["word"] if token["word"] is not None else _text(token)
            colon = self._token(token.end())
            if key is None or colon["mark"] != ":":
                raise _NoObjectError(colon.end())
            part, at = self.value(colon.end(), depth - 1)
            pairs.append((key, part))
            at = self._comma(at, "}")
        return once(pairs, token.end()), token.end()

    def _array(self, at: int, depth: int) -> tuple[list[Any], int]:
        parts = []
        while (token := self._token(at))["mark"] != "]":
            part, at = self.value(at, depth - 1)
            parts.append(part)
            at = self._comma(at, "]")
        return parts, token.end()

    def _comma(self, at: int, closing: str) -> int:
        token = self._token(at)
        if token["mark"] == ",":
            return token.end()
        if token["mark"] != closing:
            raise _NoObjectError(token.end())
        return at

    def _token(self, at: int) -> re.Match[str]:
        token = _TOKEN.match(self._said, at)
        if token is None:
            raise _NoObjectError(at)
        return token


def _text(token: re.Match[str]) -> str | None:
    for kind in ("double", "single", "curly", "curly_single"):
        if (text := token[kind]) is not None:
            return str(text)
    return None


def once(pairs: list[tuple[str, Any]], pos: int = 0) -> dict[str, Any]:
    """The pairs as an object; a key that stands twice, with values that differ, makes it none."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _NoObjectError(pos)
        found[key] = value
    return found


_STRICT = json.JSONDecoder(object_pairs_hook=once)


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        level = [part for each in level if isinstance(each, dict | list) for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value
