"""Questions about records: JSON objects and small tables that stand anywhere in a chat."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from fuzzer.sim.answer import Slot
from fuzzer.sim.solver.chat import Chat
from fuzzer.sim.solver.questions import asks, sentences, stem, words
from fuzzer.sim.solver.wording import content, listed, maybe, number, slip

_SEPARATORS = (" | ", ";", ",")
_MOST = 200  # records that are kept in mind
_Record = dict[str, str]


def records(chat: Chat) -> tuple[Slot, ...] | None:
    """The field that was asked for, of the record that was spoken of; the latest version of a record holds."""
    known = list(_known(chat))[-_MOST:]
    orders = (line for line in reversed(sentences(chat.ask)) if asks(line) or line.startswith("List"))
    asked = next(orders, "")
    if not known or not asked:
        return None
    field = _wanted(asked, known)
    spoken = _spoken_of(asked, known)
    if not field:
        return None
    if re.search(r"\b(?:highest|lowest)\b", asked):
        return _extreme(asked, known)
    if not spoken:
        return _one(known[0][field], known, field) if len(known) == 1 and field in known[0] else None
    values = [value for record in spoken if (value := _value(record, field, asked, known))]
    if not values:
        return None
    if asked.startswith("List"):
        return (*listed(values), maybe(".")) if len(values) > 1 else None
    if "together" in asked and all(value.isdecimal() for value in values):
        return (number(sum(map(int, values))), maybe("."))
    return _one(values[-1], known, field)


def _known(chat: Chat) -> Iterator[_Record]:
    texts = [text for role, text in chat.turns if role != "assistant"]
    for text in (*texts, chat.ask, chat.after):
        found = list(_from_json(text)) or list(_from_table(text))
        yield from found


def _from_json(text: str) -> Iterator[_Record]:
    for line in text.split("\n"):
        if line[:1] not in ("{", "["):
            continue
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, dict):
                yield {str(name): str(part) for name, part in item.items() if isinstance(part, str | int)}


def _from_table(text: str) -> Iterator[_Record]:
    lines = text.split("\n")
    for separator in _SEPARATORS:
        rows = [line.split(separator) for line in lines if separator in line and "?" not in line]
        if len(rows) >= 2 and len({len(row) for row in rows}) == 1:
            head, *body = [[cell.strip() for cell in row] for row in rows]
            yield from (dict(zip(head, row, strict=True)) for row in body)
            return


def _wanted(asked: str, known: Sequence[_Record]) -> str:
    """The field that is asked for: the first that is named, unless its value is given right after it."""
    fields = list(dict.fromkeys(field for record in known for field in record))
    values = {value for record in known for value in record.values()}
    said = words(asked)
    for place, word in enumerate(said):
        field = next((field for field in fields if stem(field) == stem(word)), None)
        if field and not (place + 1 < len(said) and any(value.startswith(said[place + 1]) for value in values)):
            return field
    return ""


def _spoken_of(asked: str, known: Sequence[_Record]) -> list[_Record]:
    """The records that have a value which the question names, the latest version of each."""
    found: dict[str, _Record] = {}
    for record in known:
        for value in record.values():
            if re.search(rf"(?<![\w-]){re.escape(value)}(?![\w-])", asked):
                found[next(iter(record.values()))] = record
    return list(found.values())


def _value(record: _Record, field: str, asked: str, known: Sequence[_Record]) -> str:
    """The field of the record, or of another record that shares a value with it which the question speaks of."""
    if field in record:
        return record[field]
    said = {stem(word) for word in words(asked)}
    links = [value for name, value in record.items() if stem(name) in said]
    for other in reversed(known):
        if field in other and any(value in other.values() for value in links):
            return other[field]
    return ""


def _extreme(asked: str, known: Sequence[_Record]) -> tuple[Slot, ...] | None:
    """The first field of the record in which a number is highest or lowest."""
    said = {stem(word) for word in words(asked)}
    measured = [name for name in known[-1] if stem(name) in said and known[-1][name].isdecimal()]
    ranked = [record for record in known if measured and record.get(measured[0], "").isdecimal()]
    if not ranked:
        return None
    ranked.sort(key=lambda record: int(record[measured[0]]), reverse="highest" in asked)
    label = next(iter(ranked[0]))
    return _one(ranked[0][label], known, label)


def _one(value: str, known: Sequence[_Record], field: str) -> tuple[Slot, ...]:
    if value.isdecimal():
        return (maybe("The answer is "), number(int(value)), maybe("."))
    others = [record[field] for record in known if record.get(field, value) != value]
    return (maybe("The answer is "), content(value, (*others[:2], slip(value))), maybe("."))
