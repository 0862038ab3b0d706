"""Exact tests that compare two arms, and the correction for testing many cells. All return p-values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Alternative = Literal["two-sided", "greater"]

_BOSCHLOO_TABLES = 250_000  # n1 * n2 beyond which maximising over the common rate takes seconds; Fisher is valid too


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


@dataclass(frozen=True, slots=True)
class Paired:
    """Counts of pairs, and what one pair is: ``unit`` says so in a word ("answer", "round", "boot").

    ``b`` pairs failed on the candidate only, ``c`` on the reference only, ``both`` on both, out of ``n``.
    """

    b: int
    c: int
    both: int
    n: int
    unit: str

    def p(self, alternative: Alternative = "two-sided") -> float:
        """The exact McNemar p-value of these pairs (see `mcnemar`)."""
        return mcnemar(self.b, self.c, alternative)


def pair_up(outcomes: Iterable[tuple[Hashable, bool, bool]], unit: str) -> Paired:
    """Pairs from (label, candidate failed, reference failed); what shares a label is one pair, failed if any part did.

    McNemar's test takes the pairs to be independent; pairs that come in clusters reject too often (Eliasziw and Donner
    1991). Answers that fail together (replicas of one prompt in one round) are therefore one pair, labelled by their
    round.
    """
    pairs: dict[Hashable, tuple[bool, bool]] = {}
    for label, ours, theirs in outcomes:
        before = pairs.get(label, (False, False))
        pairs[label] = before[0] or ours, before[1] or theirs
    found = list(pairs.values())
    return Paired(
        b=found.count((True, False)),
        c=found.count((False, True)),
        both=found.count((True, True)),
        n=len(found),
        unit=unit,
    )


def fisher(k1: int, n1: int, k2: int, n2: int, alternative: Alternative = "two-sided") -> float:
    """Fisher's exact test (1935) of ``k1`` failures in ``n1`` against ``k2`` in ``n2``, where the two are not paired.

    ``"greater"`` asks whether the first fails more often. The two-sided value sums the tables that are no likelier than
    the one seen.
    """
    _check_counts((k1, n1), (k2, n2))
    import numpy as np
    from scipy.stats import fisher_exact

    return float(fisher_exact(np.array([[k1, n1 - k1], [k2, n2 - k2]]), alternative=alternative).pvalue)


def boschloo(k1: int, n1: int, k2: int, n2: int, alternative: Alternative = "two-sided") -> float:
    """Boschloo's exact test (1970) of ``k1`` failures in ``n1`` against ``k2`` in ``n2``, where they are not paired.

    Orders the tables by Fisher's one-sided p-value and maximises over the common rate, so that one-sided it is never
    above Fisher's. Two-sided it is twice the smaller side. Takes seconds where ``n1`` and ``n2`` exceed a thousand.
    """
    _check_counts((k1, n1), (k2, n2))
    if n1 == 0 or n2 == 0:
        return 1.0
    import numpy as np
    from scipy.stats import boschloo_exact

    table = np.array([[k1, k2], [n1 - k1, n2 - k2]])
    return min(1.0, float(boschloo_exact(table, alternative=alternative).pvalue))


@dataclass(frozen=True, slots=True)
class Unpaired:
    """The p-value of two arms that share no pairs, and the test that gave it."""

    p: float
    test: Literal["Boschloo", "Fisher"]


def unpaired(k1: int, n1: int, k2: int, n2: int, alternative: Alternative = "two-sided") -> Unpaired:
    """Boschloo's test, or Fisher's where the arms are so large that Boschloo's would take long.

    Both are valid; Boschloo's has more power (Mehrotra, Chan and Berger 2003), and little of it at such sizes.
    """
    if n1 * n2 <= _BOSCHLOO_TABLES:
        return Unpaired(boschloo(k1, n1, k2, n2, alternative), "Boschloo")
    return Unpaired(fisher(k1, n1, k2, n2, alternative), "Fisher")


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


def _check_counts(*arms: tuple[int, int]) -> None:
    for k, n in arms:
        if not 0 <= k <= n:
            raise ValueError(f"{k} of {n} is no count of failures: it takes 0 <= k <= n")
