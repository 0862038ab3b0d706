"""How much faster one side is than the other on the same prompts, with an interval."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.stats.clusters import FEWEST_CLUSTERS, RESAMPLES, accelerated
from fuzzer.stats.intervals import check_share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Numbers = NDArray[np.float64]

Pair = tuple[Hashable, float, float, float, float]
"""Cluster label; tokens and seconds of the one side; tokens and seconds of the other, for the same prompt."""


@dataclass(frozen=True, slots=True)
class RateRatio:
    """One side's tokens per second over the other's; ``low`` and ``high`` are None where clusters are too few."""

    value: float
    low: float | None
    high: float | None
    pairs: int
    clusters: int


def rate_ratio(pairs: Iterable[Pair], confidence: float = 0.95, seed: int = 0) -> RateRatio | None:
    """The ratio of two rates (tokens over seconds, both summed over the pairs); None where a sum is nothing.

    With N in flight all the time, seconds summed over answers are N times the time that went by, so that this is the
    ratio of throughputs (Little 1961), whatever the lengths of the answers. The interval is the bias-corrected and
    accelerated bootstrap (Efron 1987) over whole clusters of pairs (Field and Welsh 2007): requests that were in flight
    together slow each other down, which is why simulation output is taken in batches of neighbours (Law, Simulation
    Modeling and Analysis, section 9.5.3). Fewer than 10 clusters give no interval. The same seed gives the same one.
    """
    import numpy as np

    check_share("confidence", confidence)
    sums: dict[Hashable, list[float]] = {}
    count = 0
    for label, *figures in pairs:
        count += 1
        row = sums.setdefault(label, [0.0] * 4)
        for place, figure in enumerate(figures):
            row[place] += figure
    table = np.array(list(sums.values()), dtype=np.float64).reshape(-1, 4)
    total = table.sum(axis=0)
    if not (total > 0).all():
        return None
    value = float(_ratios(total))
    if len(table) < FEWEST_CLUSTERS:
        return RateRatio(value, None, None, count, len(table))
    share = np.full(len(table), 1 / len(table))
    weights = np.random.default_rng(seed).multinomial(len(table), share, size=RESAMPLES)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn, without = _ratios(weights @ table), _ratios(total - table)
    if not (np.isfinite(drawn).all() and np.isfinite(without).all()):
        return RateRatio(value, None, None, count, len(table))
    low, high = accelerated(drawn, value, without, confidence)
    return RateRatio(value, low, high, count, len(table))


def _ratios(sums: _Numbers) -> _Numbers:
    ratios: _Numbers = (sums[..., 0] / sums[..., 1]) / (sums[..., 2] / sums[..., 3])
    return ratios
