"""Who was in flight with whom at the same endpoint, and who had finished before: what attribution of bleed rests on.

An endpoint is an arm and a name, since a candidate and its reference may share their name. Each exchange costs one
small tuple; queries bisect, and skip whole runs of exchanges that had ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from itertools import islice
from typing import Literal, NamedTuple

from fuzzer.history.records import Arm, Exchange

When = Literal["concurrent", "stale", "unconditioned", "ambiguous"]

OPEN_NS = 2**63 - 1  # the end of a life that is not known to have ended
_RUN = 512


class Life(NamedTuple):
    """One exchange's time in flight; ``end_ns`` is :data:`OPEN_NS` while it is not known to have ended."""

    sent_ns: int
    end_ns: int
    key: str
    prompt: str


class Relation(NamedTuple):
    """How a donor prompt's exchanges lay to a victim's, and the exchange where only one can be meant."""

    when: When
    exchange: str | None


class OverlapIndex:
    """The lives of all exchanges of a run, added in any order.

    An exchange without an end (lost, or not done yet) counts as in flight until it is added again with its end, or
    until :meth:`resumed` says that its process was dead.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], _Lives] = {}
        self._prompts: dict[tuple[str, str, str], list[Life]] = {}
        self._open: dict[str, tuple[tuple[str, str], Life]] = {}

    def add(self, exchange: Exchange) -> None:
        """Take in an exchange, once as sent (if at all) and once as done."""
        if exchange.key in self._open:
            self._remove(exchange.key)
        sent = exchange.sent
        line = (sent.arm, sent.endpoint)
        life = _life(exchange)
        if exchange.done is None:
            self._open[sent.key] = (line, life)
        self._insert(line, life)

    def resumed(self, at_ns: int) -> None:
        """A new process has taken the run up at ``at_ns``: what was in flight before it had ended by then."""
        for key, (line, life) in list(self._open.items()):
            if life.sent_ns <= at_ns:
                self._remove(key)
                self._insert(line, life._replace(end_ns=at_ns))

    def neighbours(self, exchange: Exchange) -> tuple[Life, ...]:
        """The other exchanges at this endpoint whose time in flight touches this one's, in the order they were sent."""
        lives = self._lines.get((exchange.sent.arm, exchange.sent.endpoint))
        if lives is None:
            return ()
        own = _life(exchange)
        return tuple(life for life in lives.overlapping(own.sent_ns, own.end_ns) if life.key != own.key)

    def in_flight_with(self, exchange: Exchange) -> tuple[str, ...]:
        """The keys of :meth:`neighbours`."""
        return tuple(life.key for life in self.neighbours(exchange))

    def finished_before(self, exchange: Exchange, limit: int) -> tuple[Life, ...]:
        """Up to ``limit`` exchanges at this endpoint that had ended before this one was sent, the last sent first."""
        lives = self._lines.get((exchange.sent.arm, exchange.sent.endpoint))
        if lives is None:
            return ()
        return tuple(islice(lives.ended_before(exchange.sent.sent_ns), limit))

    def sightings(self, arm: Arm, endpoint: str, prompt: str) -> tuple[Life, ...]:
        """Every exchange of this prompt at this endpoint, in the order they were sent."""
        return tuple(self._prompts.get((arm, endpoint, prompt), ()))

    def relation(self, victim: Exchange, prompt: str) -> Relation:
        """How the exchanges of ``prompt`` lay to the victim's, at the victim's endpoint.

        ``concurrent``: one was in flight with the victim; earlier ones of the same prompt do not make that ambiguous,
        since a prompt long finished is hardly ever in flight again just then. ``ambiguous``: several were. ``stale``:
        all had ended before the victim was sent. ``unconditioned``: none was sent before the victim ended.
        """
        own = _life(victim)
        before = [
            life
            for life in self._prompts.get((victim.sent.arm, victim.sent.endpoint, prompt), ())
            if life.sent_ns <= own.end_ns and life.key != own.key
        ]
        concurrent = [life.key for life in before if life.end_ns >= own.sent_ns]
        if len(concurrent) > 1:
            return Relation("ambiguous", None)
        if concurrent:
            return Relation("concurrent", concurrent[0])
        if before:
            return Relation("stale", before[0].key if len(before) == 1 else None)
        return Relation("unconditioned", None)

    def _insert(self, line: tuple[str, str], life: Life) -> None:
        self._lines.setdefault(line, _Lives()).add(life)
        insort(self._prompts.setdefault((*line, life.prompt), []), life)

    def _remove(self, key: str) -> None:
        line, life = self._open.pop(key)
        self._lines[line].remove(life)
        self._prompts[(*line, life.prompt)].remove(life)


class _Lives:
    """Lives sorted by when they began, in runs of bounded length that know their latest end."""

    def __init__(self) -> None:
        self._runs: list[list[Life]] = []
        self._starts: list[int] = []
        self._latest: list[int] = []

    def add(self, life: Life) -> None:
        if not self._runs:
            self._runs, self._starts, self._latest = [[life]], [life.sent_ns], [life.end_ns]
            return
        at = max(bisect_right(self._starts, life.sent_ns) - 1, 0)
        insort(self._runs[at], life)
        self._starts[at] = self._runs[at][0].sent_ns
        self._latest[at] = max(self._latest[at], life.end_ns)
        if len(self._runs[at]) > 2 * _RUN:
            self._split(at)

    def remove(self, life: Life) -> None:
        at = max(bisect_right(self._starts, life.sent_ns) - 1, 0)
        while (place := bisect_left(self._runs[at], life)) == len(self._runs[at]) or self._runs[at][place] != life:
            at -= 1  # a run that begins at the same moment may hold it
        del self._runs[at][place]
        if self._runs[at]:
            self._latest[at] = max(other.end_ns for other in self._runs[at])
            self._starts[at] = self._runs[at][0].sent_ns
        else:
            del self._runs[at], self._starts[at], self._latest[at]

    def overlapping(self, start: int, end: int) -> Iterator[Life]:
        for at in range(bisect_right(self._starts, end)):
            if self._latest[at] >= start:
                yield from (life for life in self._runs[at] if life.sent_ns <= end and life.end_ns >= start)

    def ended_before(self, moment: int) -> Iterator[Life]:
        for at in range(bisect_right(self._starts, moment) - 1, -1, -1):
            yield from (life for life in reversed(self._runs[at]) if life.end_ns < moment)

    def _split(self, at: int) -> None:
        run = self._runs[at]
        halves = [run[:_RUN], run[_RUN:]]
        self._runs[at : at + 1] = halves
        self._starts[at : at + 1] = [half[0].sent_ns for half in halves]
        self._latest[at : at + 1] = [max(life.end_ns for life in half) for half in halves]


def _life(exchange: Exchange) -> Life:
    sent = exchange.sent
    end = exchange.done.received.end_ns if exchange.done is not None else OPEN_NS
    return Life(sent.sent_ns, max(end, sent.sent_ns), sent.key, sent.prompt)
