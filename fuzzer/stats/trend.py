"""Does a rate rise along a scale? The Cochran-Armitage test for a trend in proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence

FEWEST = 5  # failures, under which the normal approximation says nothing


def rising(groups: Sequence[tuple[float, int, int]]) -> float | None:
    """One-sided p-value of a rate that rises with the score; each group is (score, failed, judged).

    Cochran (1954) and Armitage (1955): the failures' scores against what equal rates would give, over its standard
    deviation, with the hypergeometric variance (N - 1), as normal. None where it cannot tell: fewer than five failures
    or passes, or a single score. Scores are taken as they are; moving or stretching them changes nothing.
    """
    told = [(score, k, n) for score, k, n in groups if n > 0]
    if any(not 0 <= k <= n for _, k, n in told):
        raise ValueError("a group fails between none and all of its answers")
    total, failed = sum(n for _, _, n in told), sum(k for _, k, _ in told)
    if failed < FEWEST or total - failed < FEWEST:
        return None
    middle = math.fsum(score * n for score, _, n in told) / total
    spread = math.fsum(n * (score - middle) ** 2 for score, _, n in told)
    if spread <= 0:
        return None
    rate = failed / total
    statistic = math.fsum(k * (score - middle) for score, k, _ in told)
    z = statistic / math.sqrt(rate * (1 - rate) * spread * total / (total - 1))
    return 0.5 * math.erfc(z / math.sqrt(2))
