"""Which state of this program measured something: rows of different states may stand in one file."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import fuzzer

_DIGITS = 12


@cache
def program_state() -> str:
    """A short digest of the package's Python sources, as they were when a process first asked for it."""
    return digest_of(Path(fuzzer.__file__).parent)


def digest_of(package: Path) -> str:
    """A short digest of the names and contents of all Python files below a directory."""
    found = hashlib.sha256()
    sources = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    for name, path in sorted(sources.items()):
        source = path.read_bytes()
        found.update(f"{name}\n{len(source)}\n".encode())
        found.update(source)
    return found.hexdigest()[:_DIGITS]
