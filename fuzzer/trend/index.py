"""The index of nights: ``index.sqlite`` in the folder of reports, made from the run directories at any time.

It holds counts, no texts. A row whose directory is gone stays: what retention removed is still in the trend. An index
that is damaged, deleted or of an older form is made anew from the directories that are there; where it cannot be
written, or a newer specfuzz wrote it, one in memory takes its place.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from pydantic import ValidationError

from fuzzer.errors import HistoryError, UsageError
from fuzzer.trend import schema
from fuzzer.trend.nights import TrendNight
from fuzzer.trend.places import Place, places, sort_of
from fuzzer.trend.reading import read, stamp

if sys.platform != "win32":
    import fcntl

INDEX: Final = "index.sqlite"
BUSY: Final = 30.0  # seconds to wait for another writer


class _NewerIndexError(sqlite3.OperationalError):
    """A newer specfuzz wrote the index: not ours to change."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A directory whose files cannot be read, relative to the folder of reports, and why."""

    directory: str
    why: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What bringing the index up to date did. ``gone``: rows whose directory is no longer there; they stay.

    ``unfinished``: directories of nights that have not ended. ``stored`` is false if the index is in memory only.
    """

    read: int = 0
    unchanged: int = 0
    unfinished: tuple[str, ...] = ()
    gone: int = 0
    skipped: tuple[Skipped, ...] = ()
    stored: bool = True


class Index:
    """The index of one folder of reports, open; a context manager.

    Safe with several readers and a writer: SQLite's write-ahead log, and a busy timeout. Raises UsageError where
    ``reports`` is no folder of reports.
    """

    def __init__(self, reports: Path) -> None:
        check_folder(reports)
        self.reports = reports
        self._db, self.stored = _open(reports / INDEX)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it; closing twice is harmless."""
        self._db.close()

    def refresh(self, *, rebuild: bool = False) -> Refreshed:
        """Read the nights that are new or changed (by the times and sizes of their files), and keep all others.

        With ``rebuild`` it starts from nothing: nights whose directories were removed leave the trend. An index that
        cannot be written (a full disk, another writer that does not end) gives way to one in memory.
        """
        try:
            return self._refresh(rebuild=rebuild)
        except sqlite3.OperationalError:
            self._db.close()
            self._db, self.stored = _ready(":memory:"), False
        except sqlite3.DatabaseError:
            self._renew()
        return self._refresh(rebuild=True)

    def _refresh(self, *, rebuild: bool) -> Refreshed:
        known = {} if rebuild else schema.known(self._db)
        found, same, unfinished, skipped = self._scan(known)
        with self._writing():
            if rebuild:
                schema.empty(self._db)
            for place, night, sign in found:
                schema.put(self._db, night, sign, place.within(self.reports))
            here = {place.within(self.reports) for place in places(self.reports)}
            schema.forget_directories(self._db, [directory for directory in known if directory not in here])
            gone = schema.gone(self._db)
        return Refreshed(len(found), same, tuple(unfinished), gone, tuple(skipped), self.stored)

    def nights(self, candidate: str | None = None) -> list[TrendNight]:
        """All nights, the oldest first; with ``candidate`` only those that had it, and of them only its cells."""
        try:
            rows = schema.nights(self._db)
        except (ValidationError, sqlite3.DatabaseError):
            self._renew()
            self.refresh(rebuild=True)
            rows = schema.nights(self._db)
        if candidate is None:
            return rows
        return [kept for row in rows if (kept := only(row, candidate)).cells]

    def _scan(
        self, known: dict[str, tuple[str, str]]
    ) -> tuple[list[tuple[Place, TrendNight, str]], int, list[str], list[Skipped]]:
        """New and changed nights, how many are as they were, what has not ended, and what cannot be read."""
        found, unfinished, skipped, fresh = [], [], [], []
        owners: dict[str, str] = {}
        for place in places(self.reports):
            directory, sign = place.within(self.reports), stamp(place)
            if not sign:
                unfinished.append(directory)
            elif directory in known and known[directory][1] == sign:
                owners[known[directory][0]] = directory
            else:
                fresh.append((place, directory, sign))
        same = len(owners)
        for place, directory, sign in fresh:
            try:
                night = read(place, directory)
            except HistoryError as error:
                skipped.append(Skipped(directory, str(error)))
                continue
            if (owner := owners.setdefault(night.run_id, directory)) != directory:
                skipped.append(Skipped(directory, f"is a copy of the run in {owner}"))
                continue
            found.append((place, night, sign))
        return found, same, unfinished, skipped

    def _renew(self) -> None:
        self._db.close()
        if self.stored:
            with _alone(self.reports):
                _remove(self.reports / INDEX)
        self._db, self.stored = _open(self.reports / INDEX)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def refresh(reports: Path, *, rebuild: bool = False) -> Refreshed:
    """Bring the index of a folder of reports up to date, and close it again."""
    with Index(reports) as index:
        return index.refresh(rebuild=rebuild)


def only(night: TrendNight, candidate: str) -> TrendNight:
    """A night with one candidate's cells and findings alone; a finding names its endpoint at the end of its key."""
    return night.model_copy(
        update={
            "cells": tuple(cell for cell in night.cells if cell.candidate == candidate),
            "findings": tuple(found for found in night.findings if found.key.rpartition("@")[2] == candidate),
        }
    )


def check_folder(reports: Path) -> None:
    """UsageError unless this can be a folder of reports."""
    if not reports.is_dir():
        raise UsageError(f"{reports}: no folder of reports here; name the one that --out made runs in, such as reports")
    if sort_of(reports) is not None:
        raise UsageError(f"{reports} is a run itself; name the folder that holds it: {reports.parent}")


def _open(path: Path) -> tuple[sqlite3.Connection, bool]:
    """The index ready for use, and whether it is a file."""
    with _alone(path.parent):
        try:
            return _ready(path), True
        except sqlite3.OperationalError:  # no right to write, no room, locked too long, or a newer specfuzz's
            return _ready(":memory:"), False
        except sqlite3.DatabaseError:
            _remove(path)
        try:
            return _ready(path), True
        except sqlite3.Error:
            return _ready(":memory:"), False


def _ready(path: Path | str) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY, isolation_level=None)
    try:
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA foreign_keys = ON")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > schema.VERSION:
            raise _NewerIndexError(f"version {version}")
        (sound,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        if version != schema.VERSION or not schema.whole(db):
            schema.make(db)
    except BaseException:
        db.close()
        raise
    return db


def _remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes out while the index is opened: two must not make it anew at once."""
    if sys.platform == "win32":
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems lock no directories
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
