"""Counts what is in flight: per exchange its least and most, and how long each count stood."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Flight:
    """One request in flight: the count when it was sent, and the least and most over its life (itself counted)."""

    at_send: int
    least: int
    most: int


class Gauge:
    """The in-flight count of one stage.

    The clock counts from the moment ``width`` is first reached (the barrier) to ``stop``; before and after, nothing is
    added to ``histogram`` (nanoseconds at each count).
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.peak = 0
        self.histogram: Counter[int] = Counter()
        self._flights: dict[str, Flight] = {}
        self._at_peak: set[str] = set()
        self._first_end: int | None = None
        self._since: int | None = None
        self._stopped = False

    @property
    def count(self) -> int:
        """How many are in flight now."""
        return len(self._flights)

    def enter(self, keys: Sequence[str], now: int) -> list[Flight]:
        """Requests go out at one barrier: each is sent with all of them in flight."""
        self._tick(now)
        count = len(self._flights) + len(keys)
        for other in self._flights.values():
            other.most = max(other.most, count)
        flights = [Flight(count, count, count) for _ in keys]
        self._flights.update(zip(keys, flights, strict=True))
        if count > self.peak:
            self.peak, self._at_peak, self._first_end = count, set(self._flights), None
        if count >= self.width and self._since is None and not self._stopped:
            self._since = now
        return flights

    def leave(self, key: str, now: int) -> Flight:
        """A request has ended."""
        self._tick(now)
        flight = self._flights.pop(key)
        self._first_end = self._first_end or now
        count = len(self._flights)
        for other in self._flights.values():
            other.least = min(other.least, count)
        return flight

    def hand_over(self, key: str, to: str, now: int) -> tuple[Flight, Flight]:
        """One ends and its slot goes to the next at the same moment: the count does not dip."""
        ended = self._flights.pop(key)
        self._first_end = self._first_end or now
        count = len(self._flights) + 1
        flight = self._flights[to] = Flight(count, count, count)
        self._tick(now)
        return ended, flight

    def stop(self, now: int) -> None:
        """The last measured request has ended: what follows is draining."""
        self._tick(now)
        self._since = None
        self._stopped = True

    def miss(self, key: str, written: int | None) -> None:
        """Take one out of the barrier that was written (None: never) after another had ended: they never met."""
        if written is None or (self._first_end is not None and written > self._first_end):
            self._at_peak.discard(key)

    @property
    def met(self) -> float:
        """The share of ``width`` requests that were in flight together, from 0 to 1, those left out that came late."""
        return min(len(self._at_peak) / self.width, 1.0)

    def share(self) -> float:
        """The share of the time, from 0 to 1, with exactly ``width`` in flight; 0 if it was never reached."""
        total = sum(self.histogram.values())
        return self.histogram[self.width] / total if total else 0.0

    def _tick(self, now: int) -> None:
        if self._since is not None:
            self.histogram[len(self._flights)] += max(now - self._since, 0)
            self._since = now
