"""Keeps a soak's directory small: finished histories are compressed, and dropped where the limit is reached.

Counts, findings, their bundles and the histories of legs that show something stand for good; what goes first is the
bulk of the oldest legs that show nothing.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from fuzzer.history.packed import pack, packed
from fuzzer.manifest import HISTORY
from fuzzer.night import LEGS, Leg
from fuzzer.soak.rotation import hit


def size_of(directory: Path) -> int:
    """Bytes of all files below a directory; links are not followed."""
    return sum(map(_bytes, directory.rglob("*")))


def _bytes(path: Path) -> int:
    try:
        told = path.lstat()
    except OSError:  # it is gone again: a draft, a journal of SQLite
        return 0
    return told.st_size if stat.S_ISREG(told.st_mode) else 0


def compress(directory: Path, leg: Leg) -> None:
    """Compress the history of a leg that has ended. Raises HistoryError where the disk is full."""
    history = directory / LEGS / leg.run_id / HISTORY
    if history.is_file():
        pack(history)


def spare(legs: Sequence[Leg], dropped: Collection[int]) -> list[Leg]:
    """The legs whose bulk may go, the oldest first: those that show nothing."""
    return [leg for leg in legs if leg.number not in dropped and not shows(leg)]


def shows(leg: Leg) -> bool:
    """Whether a leg's history must be kept: somebody will want to look at it."""
    likely = any(found.certainty != "possible" for found in leg.findings)
    return likely or hit(leg) or leg.exit_status == 1


def drop(directory: Path, leg: Leg) -> int:
    """Remove a leg's history; the bytes that it frees."""
    freed = 0
    for path in _bulk(directory / LEGS / leg.run_id):
        freed += path.stat().st_size
        path.unlink()
    return freed


def _bulk(leg: Path) -> Iterator[Path]:
    for path in (leg / HISTORY, packed(leg / HISTORY)):
        if path.is_file():
            yield path
