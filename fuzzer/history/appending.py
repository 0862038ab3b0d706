"""A file of lines that is appended and never rewritten: locked by its one writer, mended when it is opened again."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from fuzzer.errors import HistoryError

if sys.platform != "win32":
    import fcntl

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
_TAIL_STEP = 1 << 16


class Appending:
    """Appends lines of JSON to a file, which is created if need be; a context manager.

    A line is handed to the operating system before :meth:`append` returns. Opening mends a torn tail: half a line is
    cut off, a whole line that lost only its newline gets it. A second writer of the same file is refused. ``what`` is
    what the file is called where a mistake is told. Raises HistoryError.
    """

    def __init__(self, path: Path, what: str = "history") -> None:
        self._path = path
        self._what = what
        try:
            self._file = os.open(path, _FLAGS, 0o644)
        except OSError as error:
            raise self._unwritten(error) from error
        try:
            if not locked(self._file):
                text = f"{path}: another process is writing this {what}; stop it before resuming"
                raise HistoryError(text)
            self._size = _mend(self._file)
        except BaseException:
            os.close(self._file)
            raise

    @property
    def empty(self) -> bool:
        """Whether the file holds nothing yet."""
        return self._size == 0

    def append(self, line: bytes) -> None:
        """Write one line; it must hold no newline."""
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            with suppress(OSError):  # a full disk: no half line may stand before what is written next
                os.ftruncate(self._file, self._size)
            raise self._unwritten(error) from error
        self._size += len(line) + 1

    def sync(self) -> None:
        """See to it that what was written is on the disk, not only with the operating system."""
        os.fsync(self._file)

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

    def _unwritten(self, error: OSError) -> HistoryError:
        return HistoryError(f"{self._path}: cannot write the {self._what}: {error.strerror}")


def locked(file: int) -> bool:
    """Lock an open file as its only writer does; false if another process has it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True


def parsed(line: bytes) -> object | None:
    """The line as JSON, lone surrogates allowed; None if it is not JSON."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found


def _mend(file: int) -> int:
    """Cut a torn half line off, or end a whole one with its newline; the size that remains."""
    size = os.fstat(file).st_size
    start = _last_line_start(file, size)
    if start == size:
        return size
    tail = _read_at(file, start, size - start)
    if parsed(tail) is None:
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
