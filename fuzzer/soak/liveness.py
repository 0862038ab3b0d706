"""Was a server there while its requests timed out? Told by the metrics page that its load is read from all the time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
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


@dataclass(slots=True)
class _End:
    """One server: when it was last seen, or asked anew, and how long it stood still at most."""

    seen: float = 0.0
    measured: bool = False
    still: bool = False
    longest: Standstill | None = None

    def standstill(self, *, over: bool) -> Standstill:
        seconds = time.monotonic() - self.seen
        return Standstill(time.time() - seconds, seconds, over)

    def alive(self, *, measured: bool = False) -> None:
        self.measured |= measured
        if self.still:
            told = self.standstill(over=True)
            self.longest = max(told, self.longest or told, key=lambda one: one.seconds)
        self.seen, self.still = time.monotonic(), False


class Liveness:
    """Listens to one leg, whose requests time out after ``timeout`` seconds, and counts its ``silences``.

    A server that hangs says how busy it is, and its answers do not come: that is its fault, and counts. A process that
    stands still says nothing at all: neither metrics nor any answer came for the last half of the time-out. Without
    metrics the two cannot be told apart, and nothing is a silence. ``known`` are those that an earlier process counted
    in this leg; ``keep`` is told each new number, by cell and arm.
    """

    def __init__(self, timeout: float, known: Silences, keep: Callable[[str, str, int], None]) -> None:
        self.silences: Counter[tuple[str, str]] = Counter(known)
        self._keep = keep
        self._patience = timeout / 2
        self._cell = ""
        self._ends: dict[tuple[str, str], _End] = {}

    def __call__(self, event: Event) -> None:
        """Take one event."""
        match event:
            case StageStarted(cell, arm):
                self._cell = cell
                end = self._end(cell, arm)
                if not end.still:
                    end.seen = time.monotonic()  # before this nobody asked it
            case LoadSeen(arm):
                self._end(self._cell, arm).alive(measured=True)
            case StageDone(stage):
                if stage.after is not None and stage.after.running is not None:
                    self._end(stage.cell, stage.arm).alive(measured=True)
            case ExchangeDone(arm, _, outcome):
                end = self._end(self._cell, arm)
                if outcome == "ok":
                    end.alive()
                elif outcome in _TIMEOUTS and end.measured and time.monotonic() - end.seen >= self._patience:
                    end.still = True
                    self.silences[self._cell, arm] += 1
                    self._keep(self._cell, arm, self.silences[self._cell, arm])

    def stood(self, cell: str, arm: str) -> Standstill | None:
        """The longest time that an end of a cell stood still, one that lasts before all others; None if it did not."""
        end = self._end(cell, arm)
        return end.standstill(over=False) if end.still else end.longest

    def _end(self, cell: str, arm: str) -> _End:
        """The server at this arm of the cell's candidate."""
        return self._ends.setdefault((cell.partition("/")[0], arm), _End())
