"""A first count against those that follow it: the exact test that puts another of them first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


def falling(rows: Iterable[Sequence[int]]) -> float:
    """The one-sided p of a fall from the first count of each row to its others, where any of a row may come first.

    Fisher's randomisation test (The Design of Experiments, 1935, section 21): the share of the ways to put one count of
    each row first whose firsts sum to at least what was seen, counted exactly. Rows of one count, or of equal ones, say
    nothing; no others give 1.
    """
    seen = 0
    ways = Counter({0: 1})
    for row in rows:
        seen += row[0]
        chosen: Counter[int] = Counter()
        for total, count in ways.items():
            for value in row:
                chosen[total + value] += count
        ways = chosen
    return sum(count for total, count in ways.items() if total >= seen) / ways.total()
