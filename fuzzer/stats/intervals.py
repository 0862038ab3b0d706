"""Bounds on one failure rate. Rates, bounds and confidences are shares from 0 to 1."""

from __future__ import annotations

import math


def wilson(k: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided score interval for ``k`` failures in ``n`` (Wilson 1927; Newcombe 1998, method 3): for the eye.

    Nothing seen (``n`` = 0) gives (0, 1).
    """
    check_count(k, n)
    check_share("confidence", confidence)
    if n == 0:
        return 0.0, 1.0
    from scipy.stats import norm

    z2 = float(norm.isf((1 - confidence) / 2)) ** 2
    centre = (k + z2 / 2) / (n + z2)
    half = math.sqrt(z2 * (k * (n - k) / n + z2 / 4)) / (n + z2)
    return (0.0 if k == 0 else centre - half), (1.0 if k == n else centre + half)


def clopper_pearson_upper(k: int, n: int, confidence: float = 0.95) -> float:
    """One-sided exact upper bound for ``k`` failures in ``n`` (Clopper and Pearson 1934, by the beta quantile).

    A true rate above it would show as few failures less often than 1 - ``confidence``. Nothing seen gives 1.
    """
    check_count(k, n)
    check_share("confidence", confidence)
    if k == n:
        return 1.0
    from scipy.stats import beta

    return float(beta.ppf(confidence, k + 1, n - k))


def clopper_pearson_lower(k: int, n: int, confidence: float = 0.95) -> float:
    """One-sided exact lower bound for ``k`` failures in ``n`` (Clopper and Pearson 1934). Nothing seen gives 0."""
    check_count(k, n)
    check_share("confidence", confidence)
    if k == 0:
        return 0.0
    from scipy.stats import beta

    return float(beta.isf(confidence, k, n - k + 1))


def rule_out(n: int, confidence: float = 0.95) -> float:
    """What ``n`` requests without a failure rule out: every rate above the returned bound.

    The exact form of the "rule of three" (Hanley and Lippman-Hand 1983): 1 - (1 - ``confidence``)^(1/n).
    """
    return clopper_pearson_upper(0, n, confidence)


def check_count(k: int, n: int) -> None:
    """ValueError unless ``k`` can be a count in ``n``."""
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no count of failures: it takes 0 <= k <= n")


def check_share(name: str, value: float) -> None:
    """ValueError unless ``value`` lies between 0 and 1."""
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value}")
