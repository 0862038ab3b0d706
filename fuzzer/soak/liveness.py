"""Was a server there while its requests timed out? Told by the metrics page that its load is read from all the time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from fuzzer.events import Event, ExchangeDone, LoadSeen, StageDone, StageStarted

Silences = Mapping[tuple[str, str], int]  # requests that timed out without a sign of life, by cell and arm

_TIMEOUTS = ("timeout-read", "timeout-total")


@dataclass(frozen=True, slots=True)
class Standstill:
    """A time without a sign of life: so many seconds from ``since`` (of `time.time`), ``over`` if one came after."""

    since: float
    seconds: float
    over: bool


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
        self._began: dict[str, float] = {}
        self._still: set[str] = set()
        self._longest: dict[str, Standstill] = {}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        match event:
            case StageStarted(cell, arm):
                self._cell = cell
                self._began[arm] = time.monotonic()
            case LoadSeen(arm):
                self._alive(arm, measured=True)
            case StageDone(stage):
                if stage.after is not None and stage.after.running is not None:
                    self._alive(stage.arm, measured=True)
            case ExchangeDone(arm, _, outcome):
                if outcome == "ok":
                    self._alive(arm)
                elif outcome in _TIMEOUTS and arm in self._measured and self._silent(arm):
                    self.silences[self._cell, arm] += 1
                    self._still.add(arm)

    def stood(self, arm: str) -> Standstill | None:
        """The longest time that an arm stood still, the one that still lasts before all others; None if it did not."""
        return self._standstill(arm, over=False) if arm in self._still else self._longest.get(arm)

    def _silent(self, arm: str) -> bool:
        return time.monotonic() - self._seen[arm] >= self._patience

    def _standstill(self, arm: str, *, over: bool) -> Standstill:
        seconds = time.monotonic() - max(self._seen[arm], self._began.get(arm, 0.0))  # before that nobody asked it
        return Standstill(time.time() - seconds, seconds, over)

    def _alive(self, arm: str, *, measured: bool = False) -> None:
        if arm in self._still:
            self._still.remove(arm)
            told, before = self._standstill(arm, over=True), self._longest.get(arm)
            self._longest[arm] = told if before is None or told.seconds > before.seconds else before
        self._seen[arm] = time.monotonic()
        if measured:
            self._measured.add(arm)
