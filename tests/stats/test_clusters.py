from __future__ import annotations

import random

import pytest

from fuzzer.stats import clopper_pearson_upper, cluster_bootstrap, cluster_bound, design_effect, wilson

# Weil 1970 (in Williams 1975): pups alive at 4 days, and how many of them lived 21 days, of 16 litters each
CONTROL = "13/13 12/12 9/9 9/9 8/8 8/8 12/13 11/12 9/10 9/10 8/9 11/13 4/5 5/7 7/10 7/10"
TREATED = "12/12 11/11 10/10 9/9 10/11 9/10 9/10 8/9 8/9 4/5 7/9 4/7 5/10 3/6 3/10 0/7"


def litters(table: str) -> list[tuple[int, bool]]:
    rows = [[int(number) for number in cell.split("/")] for cell in table.split()]
    return [(litter, pup < lived) for litter, (lived, born) in enumerate(rows) for pup in range(born)]


def rounds(count: int, size: int, rate: float, spread: float, rng: random.Random) -> list[tuple[int, bool]]:
    a, b = rate * spread, (1 - rate) * spread
    rates = [rng.betavariate(a, b) for _ in range(count)]
    return [(label, rng.random() < own) for label, own in enumerate(rates) for _ in range(size)]


def test_cluster_bound_counts_each_cluster_once() -> None:
    outcomes = [("r1", True), ("r1", True), ("r1", False), ("r2", False), ("r3", False), ("r3", False)]
    bound = cluster_bound(outcomes)
    assert (bound.failed, bound.clusters) == (1, 3)
    assert bound.upper == clopper_pearson_upper(1, 3)


def test_a_thousand_clean_requests_in_one_cluster_clear_little() -> None:
    assert cluster_bound(("boot", False) for _ in range(1000)).upper == pytest.approx(0.95)
    assert cluster_bound([]).upper == 1.0


def test_the_design_effect_of_the_published_litters() -> None:
    # Rao and Scott 1992: v = m / (m - 1) * sum of squared deviations / n^2, over p (1 - p) / n; by hand from the table
    assert design_effect(litters(CONTROL)) == pytest.approx(1.2325, abs=5e-5)
    assert design_effect(litters(TREATED)) == pytest.approx(3.9529, abs=5e-5)


def test_the_design_effect_is_untold_where_nothing_varies() -> None:
    assert design_effect([(label, False) for label in range(20)]) is None
    assert design_effect([(label, True) for label in range(20)]) is None
    assert design_effect([("boot", True), ("boot", False)]) is None


def test_the_bootstrap_of_clustered_failures_is_wider_than_the_plain_interval() -> None:
    interval = cluster_bootstrap(litters(TREATED))
    assert interval is not None
    low, high = wilson(112, 145)
    assert interval.low < low < 112 / 145 < high < interval.high
    standard_error = (interval.design_effect * (112 / 145) * (33 / 145) / 145) ** 0.5
    assert (interval.high - interval.low) / (2 * 1.96) == pytest.approx(standard_error, rel=0.15)


def test_the_bootstrap_holds_the_true_rate_where_the_plain_interval_does_not() -> None:
    rng = random.Random(20261130)
    held = plain = 0
    for seed in range(80):
        outcomes = rounds(40, 8, 0.2, 7 / 3, rng)
        interval = cluster_bootstrap(outcomes, seed=seed)
        assert interval is not None
        held += interval.low <= 0.2 <= interval.high
        low, high = wilson(sum(failed for _, failed in outcomes), len(outcomes))
        plain += low <= 0.2 <= high
    assert held >= 70
    assert plain <= 68


def test_the_bootstrap_is_reproducible_and_refuses_false_comfort() -> None:
    assert cluster_bootstrap(litters(CONTROL), seed=3) == cluster_bootstrap(litters(CONTROL), seed=3)
    assert cluster_bootstrap([(label % 100, False) for label in range(800)]) is None
    assert cluster_bootstrap([(label % 9, label == 0) for label in range(800)]) is None
    with pytest.raises(ValueError, match="confidence"):
        cluster_bootstrap(litters(CONTROL), 95.0)
