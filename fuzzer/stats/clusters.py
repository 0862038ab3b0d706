"""Failures that come in clusters (rounds, boots): bounds and intervals that do not take answers to be independent."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fuzzer.stats.intervals import check_share, clopper_pearson_upper

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Numbers = NDArray[np.float64]

FEWEST_CLUSTERS = 10  # fewer say too little of how clusters differ, whatever one resamples
RESAMPLES = 4000

Outcomes = Iterable[tuple[Hashable, bool]]
"""(cluster label, failed) of each request."""


@dataclass(frozen=True, slots=True)
class ClusterBound:
    """How many of the clusters hold a failure, and the one-sided upper bound on the share of such clusters."""

    failed: int
    clusters: int
    upper: float


@dataclass(frozen=True, slots=True)
class ClusterInterval:
    """A two-sided interval for the failure rate of requests, from resampled clusters.

    ``design_effect`` is how many times the variance is that of independent requests: n requests are worth
    n / ``design_effect`` independent ones.
    """

    low: float
    high: float
    clusters: int
    design_effect: float


def cluster_bound(outcomes: Outcomes, confidence: float = 0.95) -> ClusterBound:
    """The bound that holds when failures come in clusters: one trial a cluster, failed if any of its requests did.

    The bound is Clopper and Pearson's (1934). With every request in one cluster little is known, however many there
    were; the request-level bound assumes that they are independent.
    """
    counts = _count(outcomes)
    failed = sum(k > 0 for k, _ in counts)
    return ClusterBound(failed, len(counts), clopper_pearson_upper(failed, len(counts), confidence))


def design_effect(outcomes: Outcomes) -> float | None:
    """The variance of the failure rate over that of as many independent requests (Rao and Scott 1992, section 2).

    1 means that clusters do not matter. None where it cannot be told: fewer than two clusters, or no request or every
    request failed.
    """
    return counted_effect(_count(outcomes))


def counted_effect(counts: Sequence[tuple[int, int]]) -> float | None:
    """`design_effect` of clusters that are counted already: (failures, requests) of each."""
    k, n, m = sum(k for k, _ in counts), sum(n for _, n in counts), len(counts)
    if m < 2 or k in (0, n):
        return None
    rate = k / n
    variance = m / (m - 1) * math.fsum((failed - size * rate) ** 2 for failed, size in counts) / n**2
    return n * variance / (rate * (1 - rate))


def cluster_bootstrap(outcomes: Outcomes, confidence: float = 0.95, seed: int = 0) -> ClusterInterval | None:
    """The bias-corrected and accelerated bootstrap interval over whole clusters (Efron 1987; Field and Welsh 2007).

    Whole clusters are drawn, with all their requests; where clusters are nested (rounds in boots), label by the outer
    one. Simulated with 20 to 100 strongly clustered rounds, a 95 % interval held the true rate in 91 to 95 % of the
    runs, Wilson's in 69 to 76 %. None where a bootstrap would be false comfort: fewer than 10 clusters, or failures in
    all or none of the requests (every resample would say the same); `cluster_bound` holds there. The same seed gives
    the same interval.
    """
    check_share("confidence", confidence)
    counts = _count(outcomes)
    effect = counted_effect(counts)
    if len(counts) < FEWEST_CLUSTERS or effect is None:
        return None
    import numpy as np

    table = np.array(counts, dtype=np.float64)
    failed, size = table[:, 0], table[:, 1]
    share = np.full(len(counts), 1 / len(counts))
    weights = np.random.default_rng(seed).multinomial(len(counts), share, size=RESAMPLES)
    rates = (weights @ failed) / (weights @ size)
    without = (failed.sum() - failed) / (size.sum() - size)
    low, high = accelerated(rates, float(failed.sum() / size.sum()), without, confidence)
    return ClusterInterval(low, high, len(counts), effect)


def accelerated(rates: _Numbers, rate: float, without: _Numbers, confidence: float) -> tuple[float, float]:
    """Efron's interval (1987) from resampled figures, the figure itself, and the figures with one cluster left out."""
    import numpy as np
    from scipy.stats import norm

    below = float(np.mean(rates < rate) + np.mean(rates == rate) / 2)
    bias = float(norm.ppf(min(max(below, 1 / RESAMPLES), 1 - 1 / RESAMPLES)))
    leaning = without.mean() - without
    spread = float((leaning**2).sum() ** 1.5)
    acceleration = float((leaning**3).sum()) / (6 * spread) if spread else 0.0

    def quantile(share: float) -> float:
        z = bias + float(norm.ppf(share))
        return float(np.quantile(rates, norm.cdf(bias + z / (1 - acceleration * z))))

    tail = (1 - confidence) / 2
    return quantile(tail), quantile(1 - tail)


def _count(outcomes: Outcomes) -> list[tuple[int, int]]:
    """(failures, requests) of each cluster."""
    table: dict[Hashable, tuple[int, int]] = {}
    for label, failed in outcomes:
        k, n = table.get(label, (0, 0))
        table[label] = k + failed, n + 1
    return list(table.values())
