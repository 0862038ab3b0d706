"""The journal: ``history.jsonl``, one record a line, appended and never rewritten.

A line is handed to the operating system before :meth:`Journal.append` returns, so that a killed process loses nothing
that it had written; only the last line of a file can be torn. Reading streams: a history is never held in memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from fuzzer.errors import HistoryError
from fuzzer.history.appending import Appending, parsed
from fuzzer.history.packed import lines_of
from fuzzer.history.records import HISTORY_VERSION, AnyRecord, Done, Exchange, Opened, Resumed, Sent

_RECORDS: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="type")])


class Journal:
    """Appends records to a history file, which is created if need be; a context manager (see ``Appending``)."""

    def __init__(self, path: Path) -> None:
        self._file = Appending(path)

    @property
    def empty(self) -> bool:
        """Whether the file holds no record yet."""
        return self._file.empty

    def append(self, record: AnyRecord) -> None:
        """Write one record as one line."""
        self._file.append(_encode(record))

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_history(path: Path) -> Iterator[AnyRecord]:
    """All records in file order, the opening line first.

    A torn last line (no newline, and not whole) is left out. Anything else that is not a record of this version raises
    :class:`HistoryError` with the file and the line.
    """
    opened = False
    with lines_of(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n") and parsed(line) is None:
                break
            if not opened:
                _check_version(line, path)
            opened = True
            yield _decode(line, path, number)
    if not opened:
        raise HistoryError(f"{path}: the history is empty: nothing was recorded; start the run anew")


def exchanges(records: Iterable[AnyRecord]) -> Iterator[Exchange]:
    """The exchanges among the records, each as it ends; only those in flight are held in memory.

    Lost ones (``done`` is None) come where the run was taken up again, or at the end of the history.
    """
    open_: dict[str, Sent] = {}
    for record in records:
        if isinstance(record, Sent):
            if record.key in open_:
                raise HistoryError(f"exchange {record.key!r} was sent twice without an end between")
            open_[record.key] = record
        elif isinstance(record, Done):
            sent = open_.pop(record.key, None)
            if sent is None:
                raise HistoryError(f"exchange {record.key!r} ended without having been sent, or twice")
            yield Exchange(sent=sent, done=record)
        elif isinstance(record, Resumed):
            yield from _lost(open_)
    yield from _lost(open_)


def _lost(open_: dict[str, Sent]) -> Iterator[Exchange]:
    for sent in open_.values():
        yield Exchange(sent=sent, done=None)
    open_.clear()


def _encode(record: AnyRecord) -> bytes:
    try:
        return record.model_dump_json().encode()
    except PydanticSerializationError:  # a lone surrogate, which has no UTF-8 form but does have a JSON escape
        return json.dumps(record.model_dump(mode="json"), separators=(",", ":")).encode()


def _decode(line: bytes, path: Path, number: int) -> AnyRecord:
    try:
        return _RECORDS.validate_json(line)
    except ValidationError as error:
        loose = parsed(line)
        try:
            return _RECORDS.validate_python(loose)
        except ValidationError:
            what = "not a record of this version" if loose is not None else "not a line of JSON"
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise HistoryError(f"{path}, line {number}: {what} ({place or 'line'}: {first['msg']})") from None


def _check_version(line: bytes, path: Path) -> None:
    first = parsed(line)
    if not isinstance(first, dict) or first.get("type") != Opened.model_fields["type"].default:
        raise HistoryError(f"{path}, line 1: not a specfuzz history: it does not begin with an 'opened' record")
    version = first.get("version", HISTORY_VERSION)
    if version != HISTORY_VERSION:
        raise HistoryError(
            f"{path}: written in history version {version!r}; this specfuzz reads version {HISTORY_VERSION}"
        )
