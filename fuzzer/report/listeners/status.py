"""``status.json`` in the run's directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fuzzer.events import Listener
from fuzzer.report.listeners import Manner
from fuzzer.report.status import StatusFile


@contextmanager
def open_listener(_: Manner) -> Iterator[Listener]:
    """Keeps the file up to date, and says in the end whether the run came to a verdict."""
    file = StatusFile()
    try:
        yield file
    finally:
        file.close()
