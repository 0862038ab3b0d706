"""Was a server there while its requests timed out? Told by the metrics page that its load is read from all the time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from fuzzer.events import Event, ExchangeDone, LoadSeen, StageDone, StageStarted

Silences = Mapping[tuple[str, str], int]  # requests that timed out without a sign of life, by cell and arm

_TIMEOUTS = ("timeout-read", "timeout-total")


class Liveness:
    """Listens to one leg, whose requests time out after ``timeout`` seconds, and counts its ``silences``.

    A server that hangs says how busy it is, and its answers do not come: that is its fault, and counts. A process that
    stands still says nothing at all: neither metrics nor any answer came for the last half of the time-out. Without
    metrics the two cannot be told apart, and nothing is a silence.
    """

    def __init__(self, timeout: float) -> None:
        self.silences: Counter[tuple[str, str]] = Counter()
        self._patience = timeout / 2
        self._cell = ""
        self._measured: set[str] = set()
        self._seen: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        match event:
            case StageStarted(cell):
                self._cell = cell
            case LoadSeen(arm):
                self._alive(arm, measured=True)
            case StageDone(stage):
                if stage.after is not None and stage.after.running is not None:
                    self._alive(stage.arm, measured=True)
            case ExchangeDone(arm, _, outcome):
                if outcome == "ok":
                    self._alive(arm)
                elif outcome in _TIMEOUTS and arm in self._measured:
                    self.silences[self._cell, arm] += time.monotonic() - self._seen[arm] >= self._patience

    def _alive(self, arm: str, *, measured: bool = False) -> None:
        self._seen[arm] = time.monotonic()
        if measured:
            self._measured.add(arm)
