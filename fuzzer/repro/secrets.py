"""What must never leave the machine: keys, tokens and secret headers, wherever they turn up in a bundle.

Only free text is changed. What the bundle itself goes by stays as it is, whatever the secret is called: field names,
ids, keys of findings and exchanges, and values of which there are only a few.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar, get_args
from urllib.parse import quote, unquote

from pydantic import BaseModel, JsonValue

from fuzzer.history.messages import Tool
from fuzzer.history.records import Received
from fuzzer.plan import Endpoint, Plan
from fuzzer.repro.bundle import Struck
from fuzzer.repro.credentials import PATTERNS, STRUCK, names_a_secret
from fuzzer.summary import EndpointSummary

_SHORTEST = 6  # characters of a value that is looked for by itself; a shorter one is in any word
_LONG = 16  # a header's value of so many characters is taken for a secret whatever its name

_NAMED = re.compile(r"key|token|secret|passw|pwd|signature|sig$|auth|bearer|cookie|session|credential", re.IGNORECASE)
_WORDED = re.compile(r"authorization|cookie", re.IGNORECASE)  # headers whose value is made of several parts
_OPEN = re.compile(r"accept.*|content-.*|user-agent|host|connection|cache-control|origin|referer", re.IGNORECASE)
_SCHEME = re.compile(r"(?:bearer|basic|token|digest|negotiate|apikey)\s+", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Za-z_$][A-Za-z_$.-]{0,63}")

_IDS: Final = frozenset(
    {
        "id", "key", "family", "level", "prompt", "exchange", "endpoint", "cell", "sub_kind", "after", "recalled",
        "pad_key", "salt", "role", "engine", "model", "run", "started", "schedule", "tool_call_id", "finish_reason",
    }
)  # fmt: skip
_WIRE_IDS: Final = frozenset({"id", "role", "type", "name", "model", "tool_choice", "tool_call_id", "cache_salt"})

R = TypeVar("R", bound=BaseModel)


def known_secrets(plan: Plan) -> tuple[str, ...]:
    """The secrets of a plan that this process knows: see `secrets_of`."""
    return secrets_of(*plan.candidates, *plan.references)


def secrets_of(*endpoints: Endpoint) -> tuple[str, ...]:
    """API keys of these endpoints in the environment, and headers that may hold one; the longest first."""
    found = {secret for endpoint in endpoints for secret in _of(endpoint) if len(secret) >= _SHORTEST}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _of(endpoint: Endpoint) -> Iterator[str]:
    if endpoint.api_key_env and (key := os.environ.get(endpoint.api_key_env, "").strip()):
        yield key
    for name, value in endpoint.headers.items():
        if _OPEN.fullmatch(name) or not (_NAMED.search(name) or len(value) >= _LONG):
            continue
        value = value.strip()
        bare = _SCHEME.sub("", value, count=1) if _SCHEME.match(value) else value
        yield from (value, bare)
        if _WORDED.search(name):
            yield from _parts(bare)


def _parts(value: str) -> Iterator[str]:
    """The values in a header of several: ``a=1; session="x"`` and ``username="u", response="x"``."""
    for part in re.split(r"[;,\s]+", value):
        yield part.partition("=")[2].strip("\"'") or part


class Scrubber:
    """Takes secrets out of texts, and counts what it took."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {
            form
            for value in secrets
            for form in (value, quote(value, safe=""), quote(value), unquote(value), json.dumps(value)[1:-1])
        }
        self._secrets = sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True)
        self._counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without any secret."""
        if len(text) < _SHORTEST:
            return text
        for secret in self._secrets:
            if secret in text:
                self._counts["a key or header of this run"] += text.count(secret)
                text = text.replace(secret, STRUCK)
        plain = text.lower()
        for pattern in PATTERNS:
            if any(needle in plain for needle in pattern.needles):
                text, count = pattern.strike(text)
                self._counts[pattern.what] += count
        return text

    def record(self, record: R) -> R:
        """The record without any secret in its free texts; it is as valid as it was."""
        changed: dict[str, object] = {}
        for name, few in _fields(type(record)).items():
            was = getattr(record, name)
            now = self._part(was, few)
            if now != was:
                changed[name] = now
        if isinstance(record, Received) and changed.keys() & {"text", "reasoning", "tool_arguments", "tool_calls"}:
            changed |= {"token_ids": None, "logprobs": None}  # they spell the reply
        return record.model_copy(update=changed) if changed else record

    def value(self, value: JsonValue) -> JsonValue:
        """JSON data without any secret; a member whose name is that of a secret loses its value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                name if _PLAIN_NAME.fullmatch(name) else self.text(name): self._member(name, inner)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        return value

    def _part(self, value: Any, few: frozenset[str]) -> Any:
        if isinstance(value, str):
            return value if value in few else self.text(value)
        if isinstance(value, BaseModel):
            return self.record(value)
        if isinstance(value, tuple):
            return tuple(self._part(inner, few) for inner in value)
        if isinstance(value, dict) and all(isinstance(name, str) for name in value):
            return self.value(value)
        return value

    def _member(self, name: str, value: JsonValue) -> JsonValue:
        if name in _WIRE_IDS and isinstance(value, str) and (name == "cache_salt" or _PLAIN_NAME.fullmatch(value)):
            return value
        if name == "required" and isinstance(value, list):
            return value
        if isinstance(value, str) and value not in ("", STRUCK) and names_a_secret(name, value):
            self._counts["secret field"] += 1
            return STRUCK
        return self.value(value)

    @property
    def struck(self) -> tuple[Struck, ...]:
        """What was taken out so far."""
        return tuple(Struck(what=what, count=count) for what, count in sorted(self._counts.items()) if count)


@cache
def _fields(kind: type[BaseModel]) -> dict[str, frozenset[str]]:
    """The fields of a record that may hold free text, each with those of its values that mean something to us."""
    kept = _IDS | {"name"} if issubclass(kind, (EndpointSummary, Tool)) else _IDS
    return {name: frozenset(_few(field.annotation)) for name, field in kind.model_fields.items() if name not in kept}


def _few(annotation: object) -> Iterator[str]:
    """The members of every Literal in a type."""
    for inner in get_args(annotation):
        if isinstance(inner, str):
            yield inner
        else:
            yield from _few(inner)
