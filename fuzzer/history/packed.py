"""A finished history takes a tenth of the room when it is compressed; it is read like any other.

``history.jsonl`` becomes ``history.jsonl.gz``: gzip, whose checksum tells a damaged file from a whole one.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from fuzzer.errors import HistoryError

_LEVEL = 5  # the levels above it take twice the time for a hundredth of the room
_CHUNK = 1 << 20


def packed(path: Path) -> Path:
    """Where the history at ``path`` lies once it is compressed."""
    return path.with_name(path.name + ".gz")


def recorded(path: Path) -> bool:
    """Whether there is a history at ``path``, compressed or not."""
    return path.exists() or packed(path).exists()


@contextmanager
def lines_of(path: Path) -> Iterator[Iterator[bytes]]:
    """The lines of a history, compressed or not, with their ends. Raises HistoryError where it cannot be read."""
    where = path if path.exists() or not packed(path).exists() else packed(path)
    try:
        with where.open("rb") as raw:
            if where == path:
                yield raw
            else:
                with gzip.open(raw, "rb") as file:
                    yield _checked(file, where)
    except OSError as error:
        raise HistoryError(f"{where}: cannot read the history: {error.strerror or error}") from error


def _checked(file: Iterable[bytes], where: Path) -> Iterator[bytes]:
    try:
        yield from file
    except (EOFError, zlib.error, OSError) as error:
        raise HistoryError(f"{where}: the compressed history is damaged: {error}") from error


def pack(path: Path) -> int:
    """Compress a finished history; its size in bytes afterwards. What was is removed when the new file is proved whole.

    A crash at any point leaves one whole history at least. Raises HistoryError, for instance where the disk is full.
    """
    target = packed(path)
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        with path.open("rb") as source, temporary.open("wb") as raw:
            with gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as file:
                shutil.copyfileobj(source, file, _CHUNK)
            raw.flush()
            os.fsync(raw.fileno())
        with path.open("rb") as source, gzip.open(temporary, "rb") as written:
            if _digest(source) != _digest(written):
                raise HistoryError(f"{temporary}: the compressed history is not what was written; the disk is failing")
        temporary.replace(target)
        path.unlink()
        return target.stat().st_size
    except (EOFError, zlib.error, OSError) as error:
        temporary.unlink(missing_ok=True)
        raise HistoryError(f"{path}: cannot compress the history: {error}") from error


def _digest(file: BinaryIO | gzip.GzipFile) -> str:
    found = hashlib.sha256()
    while part := file.read(_CHUNK):
        found.update(part)
    return found.hexdigest()
