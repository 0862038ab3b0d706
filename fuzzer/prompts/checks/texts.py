"""Answers that are given text, or a JSON object."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from fuzzer.history.records import Prompt
from fuzzer.prompts import canary, names
from fuzzer.prompts.checks.found import Found, decoys, fold, foreign, is_own, missing, right, wrong
from fuzzer.prompts.checks.objects import Object, objects
from fuzzer.prompts.checks.phrases import alone, followed, last_line
from fuzzer.prompts.checks.runs import Run, extended
from fuzzer.prompts.checks.scripts import glued
from fuzzer.prompts.reply import Candidate, Reply, denied, last_cue

_SPACED = re.compile(r"[^\S\n]{1,8}")
_SEPARATOR = re.compile(r"[^\S\n]{0,8};[^\S\n]{0,8}")
_APOSTROPHES = dict.fromkeys(map(ord, "‘’ʼ"), "'")
_TAKEN_BACK = re.compile(r"[^\w\n]{0,6}\s{1,4}(?:(?:wait|no)[,:][ \t]{1,4}){1,3}\w", re.IGNORECASE)
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
    """The answer is one short phrase, in whatever case: on a line of its own, in the last line, or after "answer"."""
    value, body = (_spaced(each).translate(_APOSTROPHES) for each in (str(prompt.spec["value"]), reply.body))
    cue = last_cue(body)
    from_here = last_line(body) if cue is None else min(cue, last_line(body))
    found = (match.span() for match in re.finditer(re.escape(value), body, re.IGNORECASE))
    whole = [span for span in found if _whole(*span, body) and not denied(span[0], body)]
    spans = [span for span in whole if span[0] >= from_here or alone(*span, body)]
    if spans and _TAKEN_BACK.match(body, spans[-1][1]):
        return wrong("wrong-value", body[spans[-1][0] : spans[-1][1] + 40], value)
    if spans and alone(*spans[-1], body) and followed(spans[-1][1], body):
        return wrong("wrong-value", body[spans[-1][0] : spans[-1][1] + 40], value)
    return _text(value, body, spans, prompt, reply)


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
        if _whole(at, end, body):
            yield at, end
        at = body.find(value, end)


def _whole(start: int, end: int, body: str) -> bool:
    value = body[start:end]
    return not glued(body[max(0, start - 1) : start], value) and not glued(body[end : end + 1], value)


def _spaced(body: str) -> str:
    return _SEPARATOR.sub("; ", _SPACED.sub(" ", body))


def json_object(prompt: Prompt, reply: Reply) -> Found:
    """The answer is a JSON object with the given keys and values, in whatever order and layout.

    What only a lenient reader takes for JSON, and values of another type that read the same, are verbose.
    """
    value: Any = prompt.spec["value"]
    found = [each for each in objects(reply.text) if set(map(fold, each.value)) & set(value)]
    if not found:
        return missing(prompt, reply)
    said = _settled(found, reply.text)
    if _doubled(said, found, reply.text):
        return wrong("wrong-value", "two objects", value)
    typed = _types(said.value) == _types(value)
    if said.strict and said.value == value and typed:
        return right(Reply.of(f"{reply.text[: said.start]}\n{reply.text[said.end :]}").only([]))
    if _loosely(said.value) == _loosely(value):
        if prompt.level == "hard" and not typed:  # the hard question asks for the types
            return wrong("dropped-constraint", said.value, value)
        return right(alone=False)
    return wrong(_object_kind(said.value, value, prompt, reply), said.value, value)


def _settled(found: list[Object], said: str) -> Object:
    cue = last_cue(said)
    after = [each for each in found if each.start >= cue] if cue is not None else []
    return after[0] if after else found[-1]


def _doubled(chosen: Object, found: list[Object], said: str) -> bool:
    """Whether another object, that differs, follows at once: then the reply settles on neither."""
    later = next((each for each in found if each.start >= chosen.end), None)
    return (
        later is not None and later.value != chosen.value and not any(map(str.isalnum, said[chosen.end : later.start]))
    )


def _loosely(value: Any) -> Any:
    """The value with its numbers and truth values as they would read, whatever their type in JSON."""
    if isinstance(value, dict):
        return {fold(str(key)): _loosely(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_loosely(part) for part in value]
    shown = fold(str(value))
    try:
        return str(Decimal(shown).normalize()) if len(shown) <= 30 else shown
    except InvalidOperation:
        return shown


def _types(value: Any) -> Any:
    """What kinds of value stand where: true is no number, and a number in quotes is text."""
    if isinstance(value, dict):
        return {fold(str(key)): _types(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_types(part) for part in value]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def _object_kind(said: dict[str, Any], value: dict[str, Any], prompt: Prompt, reply: Reply) -> str:
    if said in [each.value for decoy in decoys(prompt) for each in objects(decoy)]:
        return "wrong-last-message"
    if foreign(prompt, reply):
        return "another-question"
    left_out = len(said) < len(value) and all(key in value and value[key] == part for key, part in said.items())
    return "dropped-constraint" if left_out else "wrong-value"
