"""Exact tests that compare two arms, and the correction for testing many cells. All return p-values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Alternative = Literal["two-sided", "greater"]


def mcnemar(b: int, c: int, alternative: Alternative = "two-sided") -> float:
    """Exact McNemar test of ``b`` pairs where only the candidate failed against ``c`` where only the reference did.

    The binomial test of the discordant pairs at 1/2 (McNemar 1947; exact form in Fagerland, Lydersen and Laake 2013).
    ``"greater"`` asks whether the candidate fails more often. No discordant pair gives 1.
    """
    if b < 0 or c < 0:
        raise ValueError(f"discordant pairs are counts, not {b} and {c}")
    if b + c == 0:
        return 1.0
    from scipy.stats import binom

    if alternative == "greater":
        return float(binom.sf(b - 1, b + c, 0.5))
    return min(1.0, 2 * float(binom.cdf(min(b, c), b + c, 0.5)))


def fisher(k1: int, n1: int, k2: int, n2: int, alternative: Alternative = "two-sided") -> float:
    """Fisher's exact test (1935) of ``k1`` failures in ``n1`` against ``k2`` in ``n2``, where the two are not paired.

    ``"greater"`` asks whether the first fails more often. The two-sided value sums the tables that are no likelier than
    the one seen.
    """
    for k, n in ((k1, n1), (k2, n2)):
        if not 0 <= k <= n:
            raise ValueError(f"{k} of {n} is no count of failures: it takes 0 <= k <= n")
    import numpy as np
    from scipy.stats import fisher_exact

    return float(fisher_exact(np.array([[k1, n1 - k1], [k2, n2 - k2]]), alternative=alternative).pvalue)


def holm(pvalues: Sequence[float]) -> tuple[float, ...]:
    """The p-values adjusted by Holm's step-down method (1979), in the order given.

    Rejecting where the adjusted value is under alpha keeps the chance of any false rejection under alpha, whatever the
    dependence between the tests.
    """
    if any(not 0 <= p <= 1 for p in pvalues):
        raise ValueError(f"p-values lie from 0 to 1: {list(pvalues)}")
    adjusted = [1.0] * len(pvalues)
    floor = 0.0
    for rank, index in enumerate(sorted(range(len(pvalues)), key=pvalues.__getitem__)):
        floor = max(floor, min(1.0, (len(pvalues) - rank) * pvalues[index]))
        adjusted[index] = floor
    return tuple(adjusted)
