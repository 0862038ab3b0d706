"""How many answers it takes, and what so many can show: to be known before a run starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.stats.intervals import check_share

_LARGEST = 10**9  # answers; more than any run sends


def requests_needed(bound: float, confidence: float = 0.95, failures: int = 0) -> int:
    """The fewest requests that rule out every rate above ``bound`` although ``failures`` of them fail.

    The inverse of Clopper and Pearson's upper bound (1934); clean, the inverse of the rule of three. The same numbers
    are the sample sizes of one-sided tolerance limits (Wilks 1941: 59, 93, 124 ... for 95 % and 95 %). Read the other
    way: so many requests show more than ``failures`` failures with that probability, where the true rate is ``bound``.
    """
    check_share("bound", bound)
    check_share("confidence", confidence)
    if failures < 0:
        raise ValueError(f"failures are a count, not {failures}")
    clean = math.ceil(math.log1p(-confidence) / math.log1p(-bound))
    if failures == 0:
        return clean
    from scipy.stats import binom

    return _first(lambda n: binom.cdf(failures, n, bound) <= 1 - confidence, clean)


def detection_chance(n: int, rate: float) -> float:
    """The chance that ``n`` independent requests show at least one failure, where the true rate is ``rate``.

    The binomial's first term: 1 - (1 - rate)^n (Hanley and Lippman-Hand 1983).
    """
    if n < 0 or not 0 <= rate <= 1:
        raise ValueError(f"it takes a count and a rate from 0 to 1, not {n} and {rate}")
    if rate == 1:
        return float(n > 0)
    return -math.expm1(n * math.log1p(-rate))


@dataclass(frozen=True, slots=True)
class FixedTest:
    """A test of fixed size: pass with at most ``failures`` in ``n``, else fail."""

    n: int
    failures: int


def fixed_test(p0: float, p1: float, alpha: float, beta: float) -> FixedTest:
    """The smallest fixed test that fails at ``p0`` at most with ``alpha`` and passes at ``p1`` at most with ``beta``.

    The two-point sampling plan for attributes (Guenther 1969): for each count of failures the least n that keeps beta,
    until that n keeps alpha as well.
    """
    if not 0 < p0 < p1 < 1:
        raise ValueError(f"rates must be 0 < p0 < p1 < 1, not p0 = {p0} and p1 = {p1}")
    check_share("alpha", alpha)
    check_share("beta", beta)
    from scipy.stats import binom

    failures = 0
    while True:
        n = requests_needed(p1, 1 - beta, failures)
        if binom.sf(failures, n, p0) <= alpha:
            return FixedTest(n, failures)
        failures += 1


def mcnemar_power(pairs: int, only_candidate: float, only_reference: float, alpha: float) -> float:
    """The chance that ``pairs`` pairs show a candidate to be worse: one-sided exact McNemar at level ``alpha``.

    ``only_candidate`` and ``only_reference`` are the true shares of pairs in which only that side fails. The power is
    averaged over how many pairs turn out discordant (Duffy 1984; O'Brien 2002 has the worked example).
    """
    check_share("alpha", alpha)
    discordant = only_candidate + only_reference
    if pairs < 0 or min(only_candidate, only_reference) < 0 or not 0 < discordant <= 1:
        raise ValueError(
            f"it takes a count and two shares that add up to no more than 1, not {pairs}, {only_candidate} and "
            f"{only_reference}"
        )
    import numpy as np
    from scipy.stats import binom

    spread = 12 * math.sqrt(pairs * discordant) + 40  # what lies further out weighs nothing
    least = max(0, math.floor(pairs * discordant - spread))
    counts = np.arange(least, min(pairs, math.ceil(pairs * discordant + spread)) + 1)
    critical = binom.isf(alpha, counts, 0.5) + 1
    chances = binom.sf(critical - 1, counts, only_candidate / discordant)
    return float(np.sum(binom.pmf(counts, pairs, discordant) * chances))


def mcnemar_pairs(only_candidate: float, only_reference: float, alpha: float, power: float) -> int:
    """The pairs that `mcnemar_power` needs for this power, where the candidate is truly worse.

    The power rises in small saw-teeth; this is a size from which on it is kept but for their depth.
    """
    check_share("power", power)
    if only_candidate <= only_reference:
        raise ValueError("no number of pairs shows a candidate to be worse that is not")
    return _first(lambda n: mcnemar_power(n, only_candidate, only_reference, alpha) >= power, 1)


def _first(holds: Callable[[int], bool], least: int) -> int:
    """The first number from ``least`` on for which a condition holds that then goes on to hold."""
    high = max(least, 1)
    while not holds(high):
        if high > _LARGEST:
            raise ValueError(f"it takes more than {_LARGEST} answers")
        high *= 2
    low = least
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low
