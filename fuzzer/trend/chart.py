"""The control chart: is a night's failure rate higher than that of the nights before it?

The rule. A cell of a night is compared with all earlier nights of its series together: those of the same sort (soak or
gate) that asked the same of the same model, with the same candidate, lm_head precision, concurrency and schedule. Left
out are nights that were flagged in this cell themselves, and cells that measured nothing. The test is exact, unpaired
and one-sided (Fisher 1935; Boschloo's of 1970 is a little sharper, and takes seconds a cell at these sizes). The
p-values of a night are adjusted over its compared cells by Holm's method (1979), and a cell is *flagged* if its own is
under 0.001: so the chance that a night in which nothing changed is flagged anywhere is at most 0.1 %. With fewer than
two earlier nights, or 300 earlier answers, a cell is not compared.

The promise needs nights that differ by chance alone. Where they differ by more (other prompts, another load), flags in
vain are more frequent. It is softened: from the third earlier night on, failures and answers of both sides are divided
by the design effect of the earlier nights where it is over 1 (Rao and Scott 1992), rounded against a flag. It is not
cured, since few nights tell their spread badly (``docs/trend.md`` holds what a simulation showed).

A gate that looks after every block stops at a moment of its own choosing: its p-value is multiplied by b (b + 1) after
b blocks, which spends the promise over all the blocks at which it could have stopped: 1 / (b (b + 1)) sums to 1.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from fuzzer.figures import Figures
from fuzzer.stats import counted_effect, fisher, holm, wilson
from fuzzer.trend.nights import Sort, TrendCell, TrendNight

ALARM: Final = 0.001
"""The chance of a flag anywhere in a night in which nothing changed, at most."""
FEWEST_NIGHTS: Final = 2
FEWEST_ANSWERS: Final = 300
SPREAD_NIGHTS: Final = 3  # earlier nights from which on their spread is looked at

State = Literal["flagged", "as before", "too little", "not counted"]


class Key(Figures):
    """What a series of nights has in common; see the module for what each part means."""

    sort: Sort
    setup: str
    candidate: str
    lm_head: str | None
    concurrency: int
    schedule: str

    @property
    def cell(self) -> str:
        """The cell's name, as a run calls it."""
        return f"{self.candidate}/{self.lm_head or 'unstated'}/c{self.concurrency}/{self.schedule}"


class Point(Figures):
    """A cell in one night: ``k`` of ``n`` failed, ``low`` to ``high`` is the two-sided 95 % Wilson interval.

    ``before_k`` of ``before_n`` failed in the ``before`` earlier nights that it is compared with. ``effect`` is their
    design effect (1: no more spread than chance gives; None where it cannot be told); ``p`` is the test's, ``adjusted``
    for the gate's looks and the night's cells. Both are None where nothing was compared.
    """

    run_id: str
    started: str
    state: State
    k: int
    n: int
    low: float
    high: float
    before: int
    before_k: int
    before_n: int
    reference_k: int = 0
    reference_n: int = 0
    effect: float | None = None
    p: float | None = None
    adjusted: float | None = None
    acceptance: float | None = None
    tokens_per_second: float | None = None
    reference_tokens_per_second: float | None = None


class Series(Figures):
    """One cell over the nights, the oldest first."""

    key: Key
    points: tuple[Point, ...]


@dataclass(slots=True)
class _Pool:
    """The nights of a series so far that were not flagged."""

    counts: list[tuple[int, int]] = field(default_factory=list)
    k: int = 0
    n: int = 0

    def add(self, cell: TrendCell) -> None:
        self.counts.append((cell.k, cell.n))
        self.k += cell.k
        self.n += cell.n

    @property
    def enough(self) -> bool:
        return len(self.counts) >= FEWEST_NIGHTS and self.n >= FEWEST_ANSWERS

    @property
    def effect(self) -> float | None:
        return counted_effect(self.counts) if len(self.counts) >= SPREAD_NIGHTS else None


def chart(nights: Iterable[TrendNight]) -> list[Series]:
    """Every series of these nights (the oldest first), each cell judged by the nights before it."""
    pools: dict[Key, _Pool] = defaultdict(_Pool)
    points: dict[Key, list[Point]] = defaultdict(list)
    for night in nights:
        cells = {key_of(night, cell): cell for cell in night.cells}
        tests = {key: _test(cell, pools[key]) for key, cell in cells.items() if cell.counted and pools[key].enough}
        adjusted = dict(zip(tests, holm([min(1.0, p * _looks(cells[key])) for key, p in tests.items()]), strict=True))
        for key, cell in cells.items():
            point = _point(night, cell, pools[key], tests.get(key), adjusted.get(key))
            points[key].append(point)
            if point.state in ("as before", "too little"):
                pools[key].add(cell)
    return [Series(key=key, points=tuple(found)) for key, found in points.items()]


def key_of(night: TrendNight, cell: TrendCell) -> Key:
    """The series that a night's cell belongs to."""
    return Key(
        sort=night.sort,
        setup=night.setup,
        candidate=cell.candidate,
        lm_head=cell.lm_head,
        concurrency=cell.concurrency,
        schedule=cell.schedule,
    )


def why_too_little(point: Point) -> str:
    """What is missing for a comparison."""
    if point.before < FEWEST_NIGHTS:
        return f"{point.before} of {FEWEST_NIGHTS} earlier nights"
    return f"{point.before_n} of {FEWEST_ANSWERS} earlier answers"


def fewest_flagged(n: int, before: Sequence[tuple[int, int]], cells: int = 1) -> int:
    """How many of ``n`` answers must fail for a flag after these nights (failed, judged), in a night of so many cells.

    The others are taken to show nothing. More than ``n`` where not even all would do.
    """
    pool = _Pool()
    for k, size in before:
        pool.counts.append((k, size))
        pool.k, pool.n = pool.k + k, pool.n + size
    low, high = 0, n + 1
    while high - low > 1:
        k = (low + high) // 2
        low, high = (low, k) if cells * _compared(k, n, pool) < ALARM else (k, high)
    return high


def _looks(cell: TrendCell) -> int:
    return cell.looks * (cell.looks + 1) if cell.looks > 1 else 1


def _test(cell: TrendCell, pool: _Pool) -> float:
    return _compared(cell.k, cell.n, pool)


def _compared(k: int, n: int, pool: _Pool) -> float:
    effect = max(pool.effect or 1.0, 1.0)
    ours = math.floor(k / effect)
    theirs = math.ceil(pool.k / effect)
    return _p(ours, max(round(n / effect), ours), theirs, max(round(pool.n / effect), theirs))


@lru_cache(maxsize=1 << 16)
def _p(k: int, n: int, before_k: int, before_n: int) -> float:
    if k == 0 or before_n == 0:
        return 1.0
    return fisher(k, n, before_k, before_n, "greater")


def _point(night: TrendNight, cell: TrendCell, pool: _Pool, p: float | None, adjusted: float | None) -> Point:
    state: State = "not counted" if not cell.counted else "too little" if adjusted is None else "as before"
    if adjusted is not None and adjusted < ALARM:
        state = "flagged"
    low, high = wilson(cell.k, cell.n)
    return Point(
        run_id=night.run_id,
        started=night.started,
        state=state,
        k=cell.k,
        n=cell.n,
        low=low,
        high=high,
        before=len(pool.counts),
        before_k=pool.k,
        before_n=pool.n,
        reference_k=cell.reference_k,
        reference_n=cell.reference_n,
        effect=pool.effect,
        p=p,
        adjusted=adjusted,
        acceptance=cell.acceptance,
        tokens_per_second=cell.tokens_per_second,
        reference_tokens_per_second=cell.reference_tokens_per_second,
    )
