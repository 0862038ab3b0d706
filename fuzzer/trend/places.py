"""Which directories below a folder of reports are specfuzz's own: gates and soaks; links are never followed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzzer.manifest import MANIFEST
from fuzzer.night import LEDGER, NIGHT, SOAK
from fuzzer.trend.nights import Sort

DEEPEST: Final = 4  # folders below the folder of reports: nobody keeps runs deeper, and a wrong argument ends soon


@dataclass(frozen=True, slots=True)
class Place:
    """One directory that a soak or a gate wrote."""

    path: Path
    sort: Sort

    def within(self, reports: Path) -> str:
        """Its path below the folder of reports, in the same form on every system."""
        return self.path.relative_to(reports).as_posix()


def places(reports: Path) -> Iterator[Place]:
    """All of them, in the order of their paths. A soak's legs are part of it, and a gate's parts are part of the gate.

    A directory that cannot be listed is passed over.
    """
    yield from _below(reports, 0)


def sort_of(directory: Path) -> Sort | None:
    """What wrote a directory, told by the files in it; None if neither a soak nor a gate did."""
    if any(_plain(directory / name) for name in (NIGHT, LEDGER, SOAK)):
        return "soak"
    return "gate" if _plain(directory / MANIFEST) else None


def _plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _below(folder: Path, depth: int) -> Iterator[Place]:
    for path in subfolders(folder):
        sort = sort_of(path)
        if sort is not None:
            yield Place(path, sort)
        elif depth < DEEPEST:
            yield from _below(path, depth + 1)


def subfolders(folder: Path) -> list[Path]:
    """The real directories in a directory, by name; none where it cannot be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
