"""The formats that rows come in, each told by its fields; a row is read as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from fuzzer.prompts.corpora.formats.base import Format, faults
from fuzzer.prompts.corpora.formats.benchmarks import GSM8K, HUMAN_EVAL, IFEVAL, MBPP, MT_BENCH
from fuzzer.prompts.corpora.formats.chats import MESSAGES, PROMPT, SHAREGPT
from fuzzer.prompts.corpora.formats.own import OWN
from fuzzer.prompts.corpora.rows import Raw, Row, RowError, Where

_BY_PLAINNESS = (OWN, SHAREGPT, IFEVAL, HUMAN_EVAL, MBPP, MESSAGES, MT_BENCH, GSM8K, PROMPT)
FORMATS: Mapping[str, Format] = {each.name: each for each in _BY_PLAINNESS}
"""All formats by name; the first whose fields a row has is the row's."""

_WRAPPERS = ("request", "body")  # fields in which a traffic log or a batch file keeps the request
_LAYERS = 4  # such fields within each other
_ASKED = ("messages", "prompt")
_STRUCTURED = ("messages", "conversations", "turns", "reference", "instruction_id_list", "kwargs", "test_list",
               "tools", "tool_choice", "response_format")  # fmt: skip
_SHOWN = 12  # fields of an unknown row that are named


def read_row(raw: Raw, where: Where) -> Row:
    """The row, in whatever format it is; RowError names all that is wrong with it."""
    given = {name: value for name, value in unwrapped(raw).items() if value is not None}
    fields = {name: _object(value) if name in _STRUCTURED else value for name, value in given.items()}
    found = recognise(fields)
    if found is None:
        raise RowError(("", _unknown(fields)))
    kept = {name: fields[name] for name in found.fields if name in fields}
    if broken := [(name, "holds half a character (a lone surrogate)") for name in kept if not _whole(kept[name])]:
        raise RowError(*broken, format_name=found.name)
    try:
        row = found.shape.model_validate(fields).row()
    except ValidationError as error:
        raise RowError(*faults(error), format_name=found.name) from None
    except RowError as error:
        raise RowError(*error.faults, format_name=found.name) from None
    return replace(row, where=where, kept=kept)


def recognise(fields: Raw) -> Format | None:
    """The format of a row with these fields, or None."""
    return next((each for each in FORMATS.values() if any(sign <= fields.keys() for sign in each.signs)), None)


def unwrapped(raw: Raw) -> Raw:
    """The request that a row of a traffic log holds in a field of its own, or the row itself."""
    ids = {key: raw[key] for key in ("id", "custom_id") if key in raw}
    fields = raw
    for _ in range(_LAYERS):
        if any(fields.get(name) is not None for name in _ASKED):
            return {**ids, **fields}
        inner = next((each for name in _WRAPPERS if isinstance(each := _object(fields.get(name)), dict)), None)
        if inner is None:
            break
        fields = inner
    return raw


def _object(value: object) -> Any:
    """A list or an object that a cell of a table holds as JSON text; everything else as it is."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _whole(value: Any) -> bool:
    """Whether every text in it can be written as UTF-8: JSON may hold halves of a pair as escapes."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unknown(fields: Raw) -> str:
    named = ", ".join(list(fields)[:_SHOWN]) or "none"
    examples = "; ".join(f"{each.name} {each.example}" for each in (OWN, MESSAGES, PROMPT))
    return f"of no known format (its fields: {named}); a row looks for instance like {examples}"
