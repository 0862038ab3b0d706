"""Wald's sequential test against betting e-processes and the fixed test: errors, open ends, sample sizes.

    python -m benchmarks.sequential [--max-wrong-rate 0.01] [--cells 2] [--runs 10000] [--block 48]

Every test decides the same question with the same errors: fail at a rate of p0 with at most alpha, pass at p1 with at
most beta, cut at the same cap. The e-processes bet against "the rate is at most p0" (to fail) and against "the rate is
at least p1" (to pass) and decide when a bettor's wealth has grown 1/alpha-fold or 1/beta-fold: Ville's inequality
(1939) bounds their errors whatever the stopping (Waudby-Smith and Ramdas 2024; Ramdas et al. 2023). With yes-or-no
outcomes a bet is a likelihood ratio, and a portfolio of bets a mixture of them (Robbins 1970).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from fuzzer.stats import Decision, FixedTest, Sprt, fixed_test

State = Callable[[int, int], Decision]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Bets:
    """An e-process each way. Each bet is (share of the money, the rate that it bets on)."""

    test: Sprt
    to_pass: tuple[tuple[float, float], ...]
    to_fail: tuple[tuple[float, float], ...]

    def state(self, k: int, n: int) -> Decision:
        """Where it stands at ``k`` failures in ``n``."""
        if _wealth(self.to_fail, self.test.p0, k, n) >= -math.log(self.test.alpha):
            return "fail"
        return "pass" if _wealth(self.to_pass, self.test.p1, k, n) >= -math.log(self.test.beta) else "open"


def _wealth(bets: Sequence[tuple[float, float]], null: float, k: int, n: int) -> float:
    """The logarithm of what one coin has become."""
    logs = [math.log(share) + _log_chance(rate, k, n) - _log_chance(null, k, n) for share, rate in bets]
    return float(logsumexp(logs))


def _log_chance(rate: float, k: int, n: int) -> float:
    if rate == 0:
        return -math.inf if k else 0.0
    return k * math.log(rate) + (n - k) * math.log1p(-rate)


def contenders(test: Sprt) -> dict[str, State]:
    """The tests that are compared; all but the first are betting e-processes."""
    p0, p1 = test.p0, test.p1
    grid = tuple(p1 * 2.0**power for power in range(7) if p1 * 2.0**power < 1)
    many = tuple((1 / len(grid), rate) for rate in grid)
    return {
        "SPRT": test.state,
        "e-process, bets on p0 and p1": Bets(test, ((1.0, p0),), ((1.0, p1),)).state,
        "e-process, half on 0, half on p0; half on p1, half on many": Bets(
            test, ((0.5, 0.0), (0.5, p0)), ((0.5, p1), *((share / 2, rate) for share, rate in many))
        ).state,
        "e-process, bets on many rates": Bets(
            test, tuple((1 / 5, p0 * factor) for factor in (0.0, 0.5, 1.0, 2.0, 4.0)), many
        ).state,
    }


@dataclass(frozen=True)
class Boundaries:
    """For each look: pass with at most so many failures (-1: never), fail from so many on."""

    looks: Counts
    pass_to: Counts
    fail_from: Counts

    @classmethod
    def of(cls, state: State, cap: int, block: int) -> Boundaries:
        """The boundaries of a test that is looked at after every block until its cap is reached or passed."""
        looks = np.arange(1, -(-cap // block) + 1) * block
        rows = [_boundary(state, int(n)) for n in looks]
        return cls(looks, np.array([row[0] for row in rows]), np.array([row[1] for row in rows]))


def _boundary(state: State, n: int) -> tuple[int, int]:
    last_pass, k = -1, 0
    while k <= n and (decision := state(k, n)) != "fail":
        last_pass = k if decision == "pass" else last_pass
        k += 1
    return last_pass, k


@dataclass(frozen=True)
class Simulated:
    """The shares of the runs that passed, failed and stayed open, and their median sample."""

    passes: float
    fails: float
    open: float
    median_n: float


def simulate(boundaries: Boundaries, rate: float, runs: int, seed: int = 0) -> Simulated:
    """Run a test so many times on answers that fail independently with this rate; open ones count to the cap."""
    looks = boundaries.looks
    block = int(looks[0])
    failures = np.random.default_rng(seed).binomial(block, rate, size=(runs, len(looks))).cumsum(axis=1)
    fails, passes = failures >= boundaries.fail_from, failures <= boundaries.pass_to
    ended = fails | passes
    first = np.where(ended.any(axis=1), ended.argmax(axis=1), len(looks) - 1)
    rows = np.arange(runs)
    failed, passed = fails[rows, first], passes[rows, first]
    return Simulated(
        float(passed.mean()), float(failed.mean()), float(1 - (passed | failed).mean()), float(np.median(looks[first]))
    )


def report(test: Sprt, runs: int, block: int) -> None:
    """Print the table, and how each e-process's sample compares with the sequential test's."""
    fixed = fixed_test(test.p0, test.p1, test.alpha, test.beta)
    print(_heading(test, fixed, runs, block))
    rates = (0.0, test.p0, 3 * test.p0, test.p1, 2 * test.p1, 5 * test.p1, min(36.5 * test.p1, 0.9))
    medians: dict[str, list[float]] = {}
    for name, state in contenders(test).items():
        boundaries = Boundaries.of(state, test.cap, block)
        results = [simulate(boundaries, rate, runs) for rate in rates]
        medians[name] = [result.median_n for result in results]
        ratios = [ours / theirs for ours, theirs in zip(medians[name], medians["SPRT"], strict=True)]
        print(f"\n{name}\n   true rate     pass     fail     open   median n   / fixed   / SPRT's")
        for rate, result, ratio in zip(rates, results, ratios, strict=True):
            print(
                f"  {rate:9.2%}  {result.passes:7.2%}  {result.fails:7.2%}  {result.open:7.2%}  {result.median_n:9.0f}"
                f"  {result.median_n / fixed.n:8.2f}  {ratio:9.2f}"
            )
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"  median sample / SPRT's: {min(ratios):.2f} to {max(ratios):.2f}, geometric mean {mean:.2f}")
    print()


def _heading(test: Sprt, fixed: FixedTest, runs: int, block: int) -> str:
    return (
        f"p0 = {test.p0:.2%}, p1 = {test.p1:.2%}, alpha = {test.alpha:.2%}, beta = {test.beta:.2%}, cap {test.cap}; "
        f"{runs} runs a row, a look every {block} answers\n"
        f"fixed test: {fixed.n} answers, pass with at most {fixed.failures} failures"
    )


def main() -> None:
    """Parse the arguments and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--max-wrong-rate", type=float, default=0.01)
    parser.add_argument("--cells", type=int, default=2)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--block", type=int, default=48)
    arguments = parser.parse_args()
    limit = arguments.max_wrong_rate
    test = Sprt(p0=limit / 10, p1=limit, alpha=0.01 / arguments.cells, beta=0.05)
    for block in sorted({1, arguments.block}):
        report(test, arguments.runs, block)


if __name__ == "__main__":
    main()
