"""Answers that are given text, or a JSON object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, is_own, missing, right, wrong
from fuzzer.prompts.checks.runs import Run, extended
from fuzzer.prompts.reply import Candidate, Reply, last_cue

_EFFORT = 4  # times its own length that a reply may be read in search of objects
_FALSE_STARTS = 500  # braces that open no object before the search is given up
_DEPTH = 40  # levels of nesting beyond which an object is no answer
_SPACED = re.compile(r"[^\S\n]{1,8}")
_SEPARATOR = re.compile(r"[^\S\n]{0,8};[^\S\n]{0,8}")
_RUNS_ON = re.compile(r"[ \t]{1,4}(?!Ticket|Session|Case)[A-Z0-9]|[ \t]{0,4}[|/]|[ \t]{1,4}or[ \t]")
_HEDGED_BEFORE = re.compile(r"[^\W_][ \t]{0,4}[;|/][ \t]{0,4}$|\bor[ \t]{1,4}$", re.IGNORECASE)


def text(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one line of text; spacing may differ, and with other capitals it is at most verbose."""
    value, body = str(prompt.spec["value"]), _spaced(reply.body)
    if spans := list(_occurrences(value, body)):
        return _text(value, body, spans, prompt, reply)
    value, body = value.casefold(), body.casefold()
    found = _text(value, body, list(_occurrences(value, body)), prompt, reply)
    return right(alone=False) if found.value == "right" else found


def exact(prompt: Prompt, reply: Reply) -> Found:
    """The answer is one short line, in whatever case: a line of its own, or in the last line, or after "answer"."""
    value, body = _spaced(str(prompt.spec["value"])).casefold(), _spaced(reply.body).casefold()
    from_here = max(0, min(last_cue(body) or len(body), body.rstrip().rfind("\n")))
    spans = [span for span in _occurrences(value, body) if span[0] >= from_here or _own_line(span, body)]
    return _text(value, body, spans, prompt, reply)


def _own_line(span: tuple[int, int], body: str) -> bool:
    start, end = body.rfind("\n", 0, span[0]) + 1, body.find("\n", span[1])
    line = body[start : span[0]] + body[span[1] : end if end >= 0 else len(body)]
    return not any(map(str.isalnum, line))


def _text(value: str, body: str, spans: list[tuple[int, int]], prompt: Prompt, reply: Reply) -> Found:
    if not spans:
        return missing(prompt, reply)
    start, end = spans[-1]
    here = Run((Candidate(value, start, end),))
    before = body[max(0, start - 12) : start]
    if extended(here, body) or _RUNS_ON.match(body, end) or _HEDGED_BEFORE.search(before):
        return wrong("wrong-value", body[max(0, start - 40) : end + 40].strip(), value)
    if (later := _later(body[end:])) is not None:
        return wrong("wrong-value" if is_own(later, prompt) else "another-question", later, value)
    return right(Reply(text=body, bare=body, body=body).only(spans))


def _later(rest: str) -> str | None:
    """A name or code that follows the last right answer: then that is what the reply settles on."""
    found = [rest[start:end] for start, end in names.spans(rest)]
    found += [match[0] for match in canary.CODE.finditer(rest) if canary.deliberate(match[0])]
    return found[-1] if found else None


def _occurrences(value: str, body: str) -> Iterator[tuple[int, int]]:
    at = body.find(value)
    while at >= 0 and value:
        end = at + len(value)
        if not body[max(0, at - 1) : at].isalnum() and not body[end : end + 1].isalnum():
            yield at, end
        at = body.find(value, end)


def _spaced(body: str) -> str:
    return _SEPARATOR.sub("; ", _SPACED.sub(" ", body))


class _TwiceError(ValueError):
    """A key that stands twice in one object, with values that differ."""


def json_object(prompt: Prompt, reply: Reply) -> Found:
    """The answer is a JSON object with the given keys and values, in whatever order and layout."""
    value: Any = prompt.spec["value"]
    objects = [found for found in _objects(reply.text) if set(found[0]) & set(value)]
    if not objects:
        return missing(prompt, reply)
    said, start, end = _settled(objects, reply.text)
    if said == value:
        return right(Reply.of(f"{reply.text[:start]}\n{reply.text[end:]}").only([]))
    if _loosely(said) == _loosely(value):
        return right(alone=False)
    return wrong(_object_kind(said, value, prompt, reply), said, value)


def _settled(objects: list[tuple[dict[str, Any], int, int]], said: str) -> tuple[dict[str, Any], int, int]:
    cue = last_cue(said)
    if cue is not None:
        for found in objects:
            if found[1] >= cue:
                return found
    return objects[-1]


def _objects(said: str) -> Iterator[tuple[dict[str, Any], int, int]]:
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    effort, false_starts = _EFFORT * len(said), 0
    at = said.find("{")
    while at >= 0 and effort > 0 and false_starts < _FALSE_STARTS:
        try:
            found, end = decoder.raw_decode(said, at)
        except (ValueError, RecursionError) as error:
            effort -= getattr(error, "pos", len(said)) - at
            false_starts += 1
            end = at + 1
        else:
            if not _deep(found):
                yield found, at, end
        at = said.find("{", end)


def _deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEPTH):
        level = [part for each in level if isinstance(each, dict | list) for part in _parts(each)]
        if not level:
            return False
    return True


def _parts(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _TwiceError(key)
        found[key] = value
    return found


def _loosely(value: Any) -> Any:
    """The value with its numbers and truth values as they would read, whatever their type in JSON."""
    if isinstance(value, dict):
        return {str(key).casefold(): _loosely(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_loosely(part) for part in value]
    shown = fold(str(value))
    try:
        return str(Decimal(shown).normalize()) if len(shown) <= 30 else shown
    except InvalidOperation:
        return shown


def _object_kind(said: dict[str, Any], value: dict[str, Any], prompt: Prompt, reply: Reply) -> str:
    if said in [json.loads(decoy) for decoy in decoys(prompt)]:
        return "wrong-last-message"
    if foreign(prompt, reply):
        return "another-question"
    left_out = len(said) < len(value) and all(key in value and value[key] == part for key, part in said.items())
    return "dropped-constraint" if left_out else "wrong-value"
