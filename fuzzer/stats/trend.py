"""Does a rate rise along a scale? The Cochran-Armitage test for a trend in proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST = 5  # failures, under which the normal approximation says nothing


Groups = Sequence[tuple[float, int, int]]


def rising(*strata: Groups) -> float | None:
    """One-sided p-value of a rate that rises with the score; each group of a stratum is (score, failed, judged).

    Cochran (1954) and Armitage (1955): the failures' scores against what equal rates would give, over its standard
    deviation, with the hypergeometric variance (N - 1), as normal; several strata are added up (Mantel 1963), so that
    they may fail differently often. None where it cannot tell: fewer than five failures or passes, or a single score in
    every stratum. Scores are taken as they are; moving or stretching them all changes nothing.
    """
    failed = passed = 0
    statistic = variance = 0.0
    for groups in strata:
        k, n, moved, spread = _stratum([group for group in groups if group[2] > 0])
        if spread <= 0:
            continue
        failed, passed = failed + k, passed + n - k
        statistic += moved
        variance += k / n * (1 - k / n) * spread * n / (n - 1)
    if min(failed, passed) < FEWEST or variance <= 0:
        return None
    return 0.5 * math.erfc(statistic / math.sqrt(2 * variance))


def _stratum(groups: Groups) -> tuple[int, int, float, float]:
    """Failed, judged, the failures' scores against the mean, and the spread of the scores."""
    if any(not 0 <= k <= n for _, k, n in groups):
        raise ValueError("a group fails between none and all of its answers")
    total, failed = sum(n for _, _, n in groups), sum(k for _, k, _ in groups)
    middle = math.fsum(score * n for score, _, n in groups) / total if total else 0.0
    spread = math.fsum(n * (score - middle) ** 2 for score, _, n in groups)
    return failed, total, math.fsum(k * (score - middle) for score, k, _ in groups), spread
