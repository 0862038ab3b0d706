from __future__ import annotations

from functools import cache

import pytest
from scipy.stats import binom

from benchmarks.sequential import Boundaries, Simulated, contenders, simulate
from fuzzer.stats import Sprt, clopper_pearson_upper, fixed_test

DEFAULT = Sprt(p0=0.001, p1=0.01, alpha=0.01 / 2, beta=0.05)  # the default gate: two gated cells
BLOCK = 48


def test_a_clean_cell_needs_331() -> None:
    assert DEFAULT.clean_size == 331
    assert DEFAULT.cap == 1324
    assert DEFAULT.state(0, 330) == "open"
    assert DEFAULT.state(0, 331) == "pass"


def test_each_failure_costs_255_more_answers() -> None:
    passes_at = [next(n for n in range(331, 2000) if DEFAULT.state(k, n) == "pass") for k in range(4)]
    assert passes_at == [331, 586, 842, 1097]


def test_three_early_failures_decide() -> None:
    assert DEFAULT.state(2, 10) == "open"
    assert DEFAULT.state(3, 10) == "fail"
    assert DEFAULT.state(0, 0) == "open"


def test_a_pass_implies_the_policy_bound() -> None:
    for k, n in [(0, 331), (1, 586), (2, 842), (3, 1097)]:
        assert clopper_pearson_upper(k, n, 0.95) < 0.01


@pytest.mark.parametrize("block", [1, BLOCK])
def test_true_error_rates_keep_what_was_asked_for(block: int) -> None:
    good, bad = DEFAULT.ending(DEFAULT.p0, block), DEFAULT.ending(DEFAULT.p1, block)
    assert good.fails <= DEFAULT.alpha
    assert bad.passes <= DEFAULT.beta
    assert good.passes > 0.95
    assert bad.fails > 0.9


@pytest.mark.parametrize("p1", [0.002, 0.01, 0.05, 0.2])
@pytest.mark.parametrize("cells", [1, 2, 20])
@pytest.mark.parametrize("beta", [0.01, 0.05, 0.2])
def test_true_error_rates_stay_inside_walds_limits(p1: float, cells: int, beta: float) -> None:
    test = Sprt(p0=p1 / 10, p1=p1, alpha=0.01 / cells, beta=beta)
    assert test.ending(test.p0).fails <= test.alpha / (1 - beta)
    assert test.ending(test.p1).passes <= beta / (1 - test.alpha)


def test_a_perfect_cell_always_passes_at_the_clean_size() -> None:
    ending = DEFAULT.ending(0.0)
    assert (ending.passes, ending.fails, ending.open, ending.mean_n) == (1.0, 0.0, 0.0, 331.0)
    assert ending.median_n == 331
    assert DEFAULT.ending(0.0, BLOCK).mean_n == 336.0


def test_a_broken_cell_fails_within_one_block() -> None:
    ending = DEFAULT.ending(111 / 304, BLOCK)
    assert ending.fails == pytest.approx(1.0, abs=1e-6)
    assert ending.mean_n == pytest.approx(BLOCK, abs=1e-3)


def test_the_indifference_zone_may_end_either_way() -> None:
    ending = DEFAULT.ending(0.003, BLOCK)
    assert min(ending.passes, ending.fails, ending.open) > 0.005
    assert ending.passes + ending.fails + ending.open == pytest.approx(1.0)


RUNS = 10_000


@cache
def simulated(rate: float, block: int) -> Simulated:
    return simulate(Boundaries.of(DEFAULT.state, DEFAULT.cap, block), rate, RUNS)


def within(share: float, bound: float) -> bool:
    """Whether so large a share of the runs is what a true probability of at most ``bound`` gives, but for 1 in 1000."""
    return bool(binom.sf(round(share * RUNS) - 1, RUNS, bound) > 1e-3)


@pytest.mark.parametrize("block", [1, BLOCK])
def test_ten_thousand_simulated_runs_keep_the_stated_errors(block: int) -> None:
    good, bad = simulated(DEFAULT.p0, block), simulated(DEFAULT.p1, block)
    assert within(good.fails, DEFAULT.alpha)
    assert within(bad.passes, DEFAULT.beta)
    assert good.passes > 0.97
    assert bad.fails > 0.93


@pytest.mark.parametrize("rate", [0.0, DEFAULT.p0, 0.003, 0.006, DEFAULT.p1, 0.05])
def test_the_indifference_zone_is_as_computed(rate: float) -> None:
    runs, exact = simulated(rate, BLOCK), DEFAULT.ending(rate, BLOCK)
    assert (runs.passes, runs.fails, runs.open) == pytest.approx((exact.passes, exact.fails, exact.open), abs=0.02)
    assert abs(runs.median_n - exact.median_n) <= BLOCK


def test_a_clean_cell_takes_little_more_than_a_third_of_the_fixed_sample() -> None:
    fixed = fixed_test(DEFAULT.p0, DEFAULT.p1, DEFAULT.alpha, DEFAULT.beta)
    assert (fixed.n, fixed.failures) == (913, 4)
    assert simulated(DEFAULT.p0, BLOCK).median_n / fixed.n == pytest.approx(336 / 913)
    assert simulated(DEFAULT.p1, BLOCK).median_n / fixed.n < 0.5


@pytest.mark.parametrize("rate", [0.0, DEFAULT.p0, 0.003, DEFAULT.p1, 0.05])
def test_no_betting_process_decides_in_fewer_blocks(rate: float) -> None:
    medians = [
        simulate(Boundaries.of(state, DEFAULT.cap, BLOCK), rate, 2000).median_n
        for state in contenders(DEFAULT).values()
    ]
    assert min(medians) == medians[0]


@pytest.mark.parametrize(("p0", "p1"), [(0.01, 0.01), (0.02, 0.01), (0.0, 0.01), (0.1, 1.0)])
def test_rates_must_be_apart(p0: float, p1: float) -> None:
    with pytest.raises(ValueError, match="p0 < p1"):
        Sprt(p0, p1, 0.01, 0.05)


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.05), (0.01, 0.0), (0.5, 0.5)])
def test_errors_must_leave_room(alpha: float, beta: float) -> None:
    with pytest.raises(ValueError, match="alpha and beta"):
        Sprt(0.001, 0.01, alpha, beta)


def test_impossible_counts_and_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="4 of 3"):
        DEFAULT.state(4, 3)
    with pytest.raises(ValueError, match="rate"):
        DEFAULT.ending(1.5)
    with pytest.raises(ValueError, match="blocks"):
        DEFAULT.ending(0.01, 0)
