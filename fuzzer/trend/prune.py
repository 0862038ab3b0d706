"""Retention: which old directories go, and what of them stays. Nothing but soaks and gates is ever touched."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from fuzzer.errors import HistoryError, UsageError
from fuzzer.history.appending import locked
from fuzzer.manifest import FINDINGS, HISTORY, MANIFEST, read_manifest
from fuzzer.night import LEDGER, LEGS, NIGHT, SOAK
from fuzzer.report.files import SUMMARY, load_summary
from fuzzer.repro.collect import BUNDLES
from fuzzer.trend.index import Index, check_folder
from fuzzer.trend.places import Place, places, sort_of, subfolders
from fuzzer.trend.reading import read_night

EVIDENCE: Final = frozenset({BUNDLES, NIGHT, SOAK, MANIFEST, SUMMARY, FINDINGS, "report.html", "report.md"})
"""What stays of a failing run: the page shows the answers, which nothing could bring back."""
_MARKS: Final = (LEDGER, NIGHT, MANIFEST, SOAK)  # removed last: what is cut short stays known
_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_RESUMABLE: Final = 2  # times as long an interrupted run is kept
_TAIL: Final = 1 << 16  # bytes of a journal in which its end stands
_FAILED: Final = 1
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class Removal:
    """A directory that was removed, or all of it but the evidence (``thinned``); ``freed`` is in bytes."""

    directory: str
    why: str
    freed: int
    thinned: bool


@dataclass(frozen=True, slots=True)
class Left:
    """A directory that is old enough and was left, and why."""

    directory: str
    why: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What `prune` did, or would do."""

    removed: tuple[Removal, ...]
    kept: tuple[Left, ...]
    failed: tuple[Left, ...]

    @property
    def freed(self) -> int:
        """Bytes, over all of it."""
        return sum(one.freed for one in self.removed)


@dataclass(frozen=True, slots=True)
class _Ended:
    """When a run ended, or was last written where it did not; and what it came to."""

    at: datetime
    verdict: str
    resumable: bool
    failing: bool


def duration(text: str | None) -> timedelta:
    """``30d``, ``12h`` or ``4w`` as a time; UsageError for anything else."""
    if text is None:
        raise UsageError("prune: say how long runs are kept, for example: specfuzz prune --keep 30d")
    found = re.fullmatch(r"(\d{1,5})([hdw])", text.strip())
    if not found or int(found[1]) == 0:
        raise UsageError(f"--keep: {text!r} is not understood; write a number of h, d or w, for example --keep 30d")
    return int(found[1]) * _UNITS[found[2]]


def prune(reports: Path, keep: timedelta, *, dry_run: bool = False, now: datetime | None = None) -> Pruned:
    """Remove what ended longer ago than ``keep``; the index takes the numbers first.

    With ``dry_run`` nothing is written at all. HistoryError where the index cannot be written: nothing is removed then.
    """
    check_folder(reports)
    if not dry_run:
        with Index(reports) as index:
            if not index.refresh().stored:
                raise HistoryError(
                    f"prune: the index in {reports} cannot be written, and would lose the numbers: nothing was removed"
                )
    removed, kept, failed = [], [], []
    for place in list(places(reports)):
        directory = place.within(reports)
        try:
            outcome = _prune(place, directory, keep, now or datetime.now(UTC), dry_run=dry_run)
        except OSError as error:
            failed.append(Left(directory, str(error.strerror or error)))
            continue
        if isinstance(outcome, Removal):
            removed.append(outcome)
        elif outcome:
            kept.append(Left(directory, outcome))
    return Pruned(tuple(removed), tuple(kept), tuple(failed))


def _prune(place: Place, directory: str, keep: timedelta, now: datetime, *, dry_run: bool) -> Removal | str:
    """What was removed of one directory, or why an old one stays; "" for a young one."""
    with _free(place.path / (LEDGER if place.sort == "soak" else HISTORY)) as free:
        if not free:
            return "is being written"
        try:
            ended = _ended(place)
        except HistoryError as error:
            return f"cannot be read, so its numbers are not in the index ({error})"
        age = now - ended.at
        if age <= keep:
            return ""
        if ended.resumable and age <= _RESUMABLE * keep:
            return f"was interrupted and can be resumed: specfuzz resume {place.path}"
        if place.sort == "gate" and any(sort_of(folder) for folder in subfolders(place.path)):
            return "holds another run"
        doomed = _bulk(place) if ended.failing else [place.path]
        if not doomed:
            return ""
        freed = sum(map(_size, doomed))
        if not dry_run:
            for path in doomed:
                _remove(path)
        return Removal(directory, f"{place.sort}, {ended.verdict}, {age.days} days old", freed, ended.failing)


def _ended(place: Place) -> _Ended:
    return _ended_soak(place.path) if place.sort == "soak" else _ended_gate(place.path)


def _ended_gate(path: Path) -> _Ended:
    manifest = read_manifest(path)
    bundled = _bundled(path)
    if not (path / SUMMARY).exists():
        return _Ended(_written(path, HISTORY, MANIFEST), "not ended", True, bundled)
    summary = load_summary(path)
    failing = bundled or summary.exit_status == _FAILED
    if manifest.interrupted or summary.exit_status == _INTERRUPTED:
        return _Ended(_written(path, HISTORY, SUMMARY), "interrupted", True, failing)
    return _Ended(_moment(summary.started) + timedelta(seconds=summary.seconds), summary.verdict, False, failing)


def _ended_soak(path: Path) -> _Ended:
    bundled = _bundled(path) or any(map(_bundled, subfolders(path / LEGS)))
    if not (path / NIGHT).exists():
        return _Ended(_written(path, LEDGER, SOAK), "not ended", True, bundled)
    night = read_night(path)
    failing = bundled or night.exit_status == _FAILED
    if night.exit_status == _INTERRUPTED or not _finished(path / LEDGER):
        return _Ended(_written(path, LEDGER, NIGHT), night.verdict, True, failing)
    return _Ended(_moment(night.ended), night.verdict, False, failing)


def _finished(journal: Path) -> bool:
    """Whether a soak's journal tells of its end; a night that fails does not say that it was broken off."""
    try:
        with journal.open("rb") as file:
            file.seek(max(0, journal.stat().st_size - _TAIL))
            return b'"type":"finished"' in file.read()
    except OSError:
        return True  # gone already: nothing to go on from


def _moment(text: str) -> datetime:
    """A recorded moment; one without a zone is taken to be in UTC."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise HistoryError(f"{text[:40]!r} is no date") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _written(path: Path, *names: str) -> datetime:
    """When the first of these files that exists was last written."""
    for name in names:
        with suppress(FileNotFoundError):
            return datetime.fromtimestamp((path / name).lstat().st_mtime, UTC)
    raise HistoryError(f"{path}: none of {', '.join(names)} is here")


def _bundled(path: Path) -> bool:
    folder = path / BUNDLES
    return folder.is_dir() and any(folder.iterdir())


def _bulk(place: Place) -> list[Path]:
    """All of a failing run that explains nothing; of a soak, the legs that did not fail among it."""
    doomed = _beside_evidence(place.path)
    if place.sort == "soak":
        doomed = [path for path in doomed if path.name != LEGS]
        for leg in subfolders(place.path / LEGS):
            doomed += _beside_evidence(leg) if _explains(leg) else [leg]
    return doomed


def _beside_evidence(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name not in EVIDENCE)


def _explains(leg: Path) -> bool:
    """Whether a leg failed, or may have: its summary cannot be read."""
    try:
        return _bundled(leg) or load_summary(leg).exit_status == _FAILED
    except HistoryError:
        return True


def _size(path: Path) -> int:
    """Bytes of a file, or of all files below a directory; of links their own."""
    found = path.lstat().st_size
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(FileNotFoundError):
                found += (Path(folder) / name).lstat().st_size
    return found


def _remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    for entry in sorted(path.iterdir(), key=lambda entry: (_rank(entry.name), entry.name)):
        if entry.is_symlink() or not entry.is_dir():
            entry.unlink(missing_ok=True)
        else:
            shutil.rmtree(entry)
    path.rmdir()


def _rank(name: str) -> int:
    return _MARKS.index(name) if name in _MARKS else -1


@contextmanager
def _free(path: Path) -> Iterator[bool]:
    """Whether nobody writes this journal; while this lasts, nobody else can."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        yield True  # no journal (packed away, or never begun): no writer
        return
    try:
        yield locked(handle)
    finally:
        os.close(handle)
