"""Deciding a failure rate as soon as the answers allow it: Wald's sequential probability ratio test.

Betting e-processes with the same errors were compared with it (``benchmarks/sequential.py``): looked at after every
block none decides sooner, and those that catch gross faults sooner leave more cells open between p0 and p1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Decision = Literal["pass", "fail", "open"]

_CAP = 4  # an open test is cut at so many times the clean sample


@dataclass(frozen=True, slots=True)
class Ending:
    """How a test ends at one true rate: three probabilities that sum to 1, and the mean and median sample."""

    passes: float
    fails: float
    open: float
    mean_n: float
    median_n: int


@dataclass(frozen=True)
class Sprt:
    """Wald's sequential test (1945) of a failure rate at or under ``p0`` against one at or over ``p1``.

    ``alpha`` bounds the chance to fail at ``p0``, ``beta`` the chance to pass at ``p1``, by Wald's limits: the true
    errors are at most alpha / (1 - beta) and beta / (1 - alpha), however seldom one looks. In between lies the
    indifference zone: any end is right.
    """

    p0: float
    p1: float
    alpha: float
    beta: float

    def __post_init__(self) -> None:
        if not 0 < self.p0 < self.p1 < 1:
            raise ValueError(f"rates must be 0 < p0 < p1 < 1, not p0 = {self.p0} and p1 = {self.p1}")
        if self.alpha <= 0 or self.beta <= 0 or self.alpha + self.beta >= 1:
            raise ValueError(f"alpha and beta must be over 0, together under 1, not {self.alpha} and {self.beta}")

    def state(self, k: int, n: int) -> Decision:
        """Where the test stands at ``k`` failures in ``n``; the first look that is not open decides, and none after it.

        Past the `cap` it stays what it is here: the caller ends an open test there, as inconclusive.
        """
        if not 0 <= k <= n:
            raise ValueError(f"{k} of {n} is no count of failures: it takes 0 <= k <= n")
        ratio = self._ratio(k, n)
        if ratio >= self._fail_at:
            return "fail"
        return "pass" if ratio <= self._pass_at else "open"

    @cached_property
    def clean_size(self) -> int:
        """The fewest answers that pass if none of them is a failure."""
        return math.ceil(self._pass_at / self._ratio(0, 1))

    @property
    def cap(self) -> int:
        """The sample at which an open test is cut: 4 times the clean one."""
        return _CAP * self.clean_size

    def ending(self, rate: float, block: int = 1) -> Ending:
        """How the test ends where the true failure rate is ``rate``, looked at after every ``block`` answers.

        Exact, by recursion over the open states (Aroian 1968); the last look is the first at or past the `cap`.
        """
        if not 0 <= rate <= 1 or block < 1:
            raise ValueError(f"it takes a rate from 0 to 1 and blocks of at least 1, not {rate} and {block}")
        ends = {"pass": 0.0, "fail": 0.0}
        spent, alive, n, median = 0.0, {0: 1.0}, 0, 0
        while alive and n < self.cap:
            spent += block * sum(alive.values())
            n += block
            for _ in range(block):
                alive = _step(alive, rate)
            for k, decision in [(k, self.state(k, n)) for k in alive]:
                if decision != "open":
                    ends[decision] += alive.pop(k)
            median = median or (n if sum(alive.values()) <= 0.5 else 0)
        return Ending(ends["pass"], ends["fail"], sum(alive.values()), spent, median or n)

    @property
    def _pass_at(self) -> float:
        return math.log(self.beta / (1 - self.alpha))

    @property
    def _fail_at(self) -> float:
        return math.log((1 - self.beta) / self.alpha)

    def _ratio(self, k: int, n: int) -> float:
        """The log-likelihood ratio of p1 to p0."""
        return k * math.log(self.p1 / self.p0) + (n - k) * (math.log1p(-self.p1) - math.log1p(-self.p0))


def _step(alive: dict[int, float], rate: float) -> dict[int, float]:
    """One more answer: the probability of each count of failures."""
    after: dict[int, float] = {}
    for k, mass in alive.items():
        after[k] = after.get(k, 0.0) + mass * (1 - rate)
        after[k + 1] = after.get(k + 1, 0.0) + mass * rate
    return after
