"""The rule by which a reduction is kept, and the book of decisions by which an interrupted shrinking goes on.

A fault that fires now and then is reduced by a sequential test: a reduction is kept when its replays speak for a
failure rate that has not fallen below 60 % of what the whole cohort showed, against an eighth of that (Wald's test,
errors 5 % and 10 %); clear cases take few replays, and what is still open at the test's cap is not kept.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from fuzzer.errors import HistoryError
from fuzzer.repro.cohort import Cohort
from fuzzer.stats.sequential import Decision, Sprt

KEPT = 0.6  # of the rate per judged answer that the whole cohort showed: not fallen
LOST = 8.0  # times less than that: fallen
WRONGLY_KEPT, WRONGLY_DROPPED = 0.05, 0.1  # the test's errors: what is kept wrongly is taken back at the end
WARM = 5  # replays that are sent before a reduction is dropped: state at the server may take some to build up
_LOWEST, _HIGHEST = 0.004, 0.9  # a test needs some room on either side

RULE = (
    f"a reduction is kept when its replays speak for a failure rate of at least {KEPT:.0%} of the whole cohort's, per "
    f"judged answer, against {KEPT / LOST:.1%} (sequential test, errors {WRONGLY_KEPT:.0%} and {WRONGLY_DROPPED:.0%}); "
    "open at its cap: not kept"
)


def shares_of(counts: Sequence[int], replays: int) -> tuple[float, ...]:
    """In which share of replays each request fails, from how often each did in so many of them.

    Few replays overrate those that had bad luck. So each share is pulled towards the mean of all, the more the less the
    counts differ beyond what chance alone does (empirical Bayes with a gamma prior by moments; Robbins 1956).
    """
    mean = sum(counts) / len(counts)
    spread = sum((count - mean) ** 2 for count in counts) / max(1, len(counts) - 1)
    own = max(0.0, spread - mean) / spread if spread else 0.0
    return tuple(min(0.999, (mean + own * (count - mean)) / replays) for count in counts)


def test_of(shares: Sequence[float]) -> Sprt:
    """The test for a cohort whose judged requests failed in these shares of the whole cohort's replays.

    A replay fails when any of them does.
    """
    kept = min(_HIGHEST, 1 - math.prod(1 - KEPT * share for share in shares))
    lost = 1 - math.prod(1 - KEPT * share / LOST for share in shares)
    high = max(_LOWEST, kept)
    return Sprt(p0=min(max(lost, _LOWEST / LOST), high / 2), p1=high, alpha=WRONGLY_KEPT, beta=WRONGLY_DROPPED)


def decide(failures: int, replays: int, shares: Sequence[float]) -> Decision:
    """What the test says: "fail", it still fails, keep the reduction; "pass", it does not any more."""
    test = test_of(shares)
    state = test.state(failures, replays)
    if state == "pass" and replays < WARM:
        return "open"
    return "pass" if state == "open" and replays >= max(WARM, test.cap) else state


class BudgetError(Exception):
    """Nothing is left to spend."""


@dataclass(slots=True)
class Budget:
    """What may be spent: replays, requests, seconds (None: no bound)."""

    replays: int | None = None
    requests: int | None = None
    seconds: float | None = None
    started: float | None = None

    def begin(self) -> None:
        """Start the clock, with the first request that is spent on it."""
        self.started = self.started or time.monotonic()

    def allows(self, replays: int, requests: int, size: int, *, reserve: float = 0.0) -> bool:
        """Whether another replay of ``size`` requests may be sent after so many replays and requests.

        ``reserve`` is the share of the whole, from 0 to 1, that is kept for later.
        """
        rest = 1 - reserve
        spent = self.replays is not None and replays >= rest * self.replays
        sent = self.requests is not None and requests + size > rest * self.requests
        began = time.monotonic() if self.started is None else self.started
        late = self.seconds is not None and time.monotonic() - began >= rest * self.seconds
        return not (spent or sent or late)

    def together(self, replays: int, most: int) -> int:
        """How many replays may be sent at once after so many: ``most``, or what is left of the budget; at least one."""
        return most if self.replays is None else max(1, min(most, self.replays - replays))


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one reduction: ``k`` of ``n`` replays failed, the request at ``victim`` most often."""

    kept: bool
    k: int
    n: int
    victim: int = 0


@dataclass(frozen=True, slots=True)
class Baseline:
    """How the whole cohort fails: ``k`` of ``n`` replays, whose answers count from there on, how often each fails.

    With ``spared`` it is not the whole's: of so many replays of that not one failed, and these are of what stands in
    its place, one neighbour that fills the engine's memory, and the request at ``harmed`` of the whole.
    """

    k: int
    n: int
    victim: int
    judged: tuple[int, ...]
    shares: tuple[float, ...]
    fresh_cache: bool = True
    spared: int = 0
    harmed: int = 0


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of the book: what it is of, or how the whole fails, or a decision; and all that was spent until then."""

    replays: int
    requests: int
    of: str | None = None
    baseline: Baseline | None = None
    cohort: str = ""
    decided: Decided | None = None


_ENTRY = TypeAdapter(_Entry)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HistoryError(f"{path}: cannot keep what is decided: {error.strerror}") from None


class Book:
    """Decisions by the cohort that was tried; kept in a file, so that nothing decided is sent again.

    ``of`` says what was shrunk against whom: a file that tells of anything else is begun anew, and what an interruption
    has torn off its end is cut away. Raises HistoryError where the file cannot be read or written.
    """

    def __init__(self, path: Path | None, of: str = "") -> None:
        self._path, self._of = path, of
        self._known: dict[str, Decided] = {}
        self.baseline: Baseline | None = None
        self.replays = self.requests = 0
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            whole = path.read_bytes()
        except OSError:
            raise HistoryError(f"{path}: cannot read what was decided before; remove it to begin anew") from None
        good = 0
        for line in whole.splitlines(keepends=True):
            try:
                entry = _ENTRY.validate_json(line)
            except ValidationError:
                break
            if not line.endswith(b"\n") or (good == 0) != (entry.of is not None) or entry.of not in (None, self._of):
                break
            good += len(line)
            self.baseline = entry.baseline or self.baseline
            if entry.cohort and entry.decided:
                self._known[entry.cohort] = entry.decided
            self.replays, self.requests = entry.replays, entry.requests
        if good < len(whole):
            with _writing(path):
                os.truncate(path, good)

    def known(self, what: str) -> Decided | None:
        """What was decided before, if it was."""
        return self._known.get(what)

    def begin(self, baseline: Baseline, replays: int, requests: int) -> None:
        """Keep how the whole cohort fails, and what has been spent until now."""
        self.baseline = baseline
        self._write(_Entry(replays, requests, baseline=baseline))

    def add(self, what: str, decided: Decided, replays: int, requests: int) -> None:
        """Keep a decision, and what has been spent until now."""
        self._known[what] = decided
        self._write(_Entry(replays, requests, cohort=what, decided=decided))

    def _write(self, entry: _Entry) -> None:
        self.replays, self.requests = entry.replays, entry.requests
        if self._path is None:
            return
        with _writing(self._path), self._path.open("ab") as file:
            if not file.tell():
                file.write(_ENTRY.dump_json(_Entry(0, 0, of=self._of)) + b"\n")
            file.write(_ENTRY.dump_json(entry) + b"\n")

    def close(self) -> None:
        """All is done: nothing is to be gone on with."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def digest(cohort: Cohort) -> str:
    """What a cohort is known by: all of it but the reference's replies."""
    return hashlib.sha256(cohort.model_dump_json(exclude={"right"}).encode()).hexdigest()[:24]
