"""The screen that the command was started from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fuzzer.events import Event, Listener
from fuzzer.report.console import Console
from fuzzer.report.listeners import Manner
from fuzzer.report.pipes import forgiving


@contextmanager
def open_listener(manner: Manner) -> Iterator[Listener]:
    """A console that a terminal or pipe going away does not stop: the run and its exit status do not depend on it."""
    with Console(json=manner.json, quiet=manner.quiet) as console:

        def take(event: Event) -> None:
            with forgiving():
                console(event)

        yield take
