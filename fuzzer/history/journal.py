"""The journal: ``history.jsonl``, one record a line, appended and never rewritten.

A line is handed to the operating system before :meth:`Journal.append` returns, so that a killed process loses nothing
that it had written; only the last line of a file can be torn. Reading streams: a history is never held in memory.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from fuzzer.errors import HistoryError
from fuzzer.history.records import HISTORY_VERSION, AnyRecord, Done, Exchange, Opened, Resumed, Sent

if sys.platform != "win32":
    import fcntl

_RECORDS: TypeAdapter[AnyRecord] = TypeAdapter(Annotated[AnyRecord, Field(discriminator="type")])
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
_TAIL_STEP = 1 << 16


class Journal:
    """Appends records to a history file, which is created if need be; a context manager.

    Opening mends a torn tail: half a line (whose record was never finished) is cut off, a whole line that lost only its
    newline gets it. A second writer of the same file is refused.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = os.open(path, _FLAGS, 0o644)
        except OSError as error:
            raise HistoryError(f"{path}: cannot write the history: {error.strerror}") from error
        try:
            _lock(self._file, path)
            self._size = _mend(self._file)
        except BaseException:
            os.close(self._file)
            raise

    @property
    def empty(self) -> bool:
        """Whether the file holds no record yet."""
        return self._size == 0

    def append(self, record: AnyRecord) -> None:
        """Write one record as one line."""
        line = _encode(record) + b"\n"
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            with suppress(OSError):  # a full disk: no half line may stand before what is written next
                os.ftruncate(self._file, self._size)
            raise HistoryError(f"{self._path}: cannot write the history: {error.strerror}") from error
        self._size += len(line)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

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
    try:
        file = path.open("rb")
    except OSError as error:
        raise HistoryError(f"{path}: cannot read the history: {error.strerror}") from error
    with file:
        opened = False
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n") and _parsed(line) is None:
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
        parsed = _parsed(line)
        try:
            return _RECORDS.validate_python(parsed)
        except ValidationError:
            what = "not a record of this version" if parsed is not None else "not a line of JSON"
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise HistoryError(f"{path}, line {number}: {what} ({place or 'line'}: {first['msg']})") from None


def _parsed(line: bytes) -> object | None:
    """The line as JSON, lone surrogates allowed; None if it is not JSON."""
    try:
        parsed: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return parsed


def _check_version(line: bytes, path: Path) -> None:
    first = _parsed(line)
    if not isinstance(first, dict) or first.get("type") != Opened.model_fields["type"].default:
        raise HistoryError(f"{path}, line 1: not a specfuzz history: it does not begin with an 'opened' record")
    version = first.get("version", HISTORY_VERSION)
    if version != HISTORY_VERSION:
        raise HistoryError(
            f"{path}: written in history version {version!r}; this specfuzz reads version {HISTORY_VERSION}"
        )


def _lock(file: int, path: Path) -> None:
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise HistoryError(f"{path}: another process is writing this history; stop it before resuming") from error


def _mend(file: int) -> int:
    """Cut a torn half line off, or end a whole one with its newline; the size that remains."""
    size = os.fstat(file).st_size
    start = _last_line_start(file, size)
    if start == size:
        return size
    tail = _read_at(file, start, size - start)
    if _parsed(tail) is None:
        os.ftruncate(file, start)
        return start
    os.write(file, b"\n")
    return size + 1


def _last_line_start(file: int, size: int) -> int:
    """Where the unfinished last line begins: ``size`` if there is none."""
    end = size
    while end > 0:
        start = max(0, end - _TAIL_STEP)
        newline = _read_at(file, start, end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def _read_at(file: int, start: int, count: int) -> bytes:
    os.lseek(file, start, os.SEEK_SET)
    parts: list[bytes] = []
    while count > 0 and (part := os.read(file, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
