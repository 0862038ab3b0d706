"""The ratio of two rates, and its interval over clusters."""

from __future__ import annotations

import random

import pytest

from fuzzer.stats import rate_ratio


def told(seed: int, clusters: int, width: int = 4, spread: float = 0.2) -> list[tuple[int, float, float, float, float]]:
    rng = random.Random(seed)
    rows = []
    for cluster in range(clusters):
        slow = rng.lognormvariate(0, spread)
        for _ in range(width):
            tokens = float(rng.randint(5, 40))
            rows.append((cluster, tokens, tokens / 130 * slow, tokens, tokens / 100))
    return rows


def test_it_is_the_ratio_of_sums_whatever_the_lengths() -> None:
    found = rate_ratio([(0, 100.0, 1.0, 10.0, 1.0), (1, 10.0, 1.0, 10.0, 1.0)])
    assert found is not None
    assert found.value == pytest.approx(110 / 20)
    assert (found.low, found.high, found.pairs, found.clusters) == (None, None, 2, 2)


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    truth = rate_ratio(told(0, 4000))
    assert truth is not None
    held = 0
    for seed in range(1, 61):
        found = rate_ratio(told(seed, 40), seed=seed)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        held += found.low <= truth.value <= found.high
    assert held >= 51  # of 60; at 95 % fewer are seen once in 500 times


def test_clusters_widen_it_and_the_seed_fixes_it() -> None:
    rows = told(1, 40)
    found, again = rate_ratio(rows), rate_ratio(rows)
    assert found == again
    alone = rate_ratio([(index, *row[1:]) for index, row in enumerate(rows)])
    assert found is not None
    assert alone is not None
    assert found.high is not None
    assert found.low is not None
    assert alone.high is not None
    assert alone.low is not None
    assert found.high - found.low > 1.5 * (alone.high - alone.low)


@pytest.mark.parametrize("row", [(0, 1.0, 0.0, 1.0, 1.0), (0, 0.0, 1.0, 1.0, 1.0), (0, 1.0, 1.0, 1.0, 0.0)])
def test_what_has_no_tokens_or_took_no_time_has_no_ratio(row: tuple[int, float, float, float, float]) -> None:
    assert rate_ratio([row]) is None
    assert rate_ratio([]) is None
