"""Counts before and after: the exact test that swaps them within their pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def falling(pairs: Iterable[tuple[int, int]]) -> float:
    """The one-sided p of a fall from the first of each pair to the second, where neither is likelier to be larger.

    Fisher's randomisation test (The Design of Experiments, 1935, section 21): the share of the ways to swap counts
    within pairs whose fall in all is at least as large as the one seen, counted exactly. No pair that differs gives 1.
    """
    falls = [first - second for first, second in pairs]
    ways = Counter({0: 1})
    for fall in map(abs, falls):
        swapped: Counter[int] = Counter()
        for total, count in ways.items():
            swapped[total + fall] += count
            swapped[total - fall] += count
        ways = swapped
    as_large = sum(count for total, count in ways.items() if total >= sum(falls))
    return as_large / ways.total()
