from __future__ import annotations

import subprocess
import sys

import pytest

from fuzzer.stats import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    rule_out,
    wilson,
)

NEWCOMBE = [  # Newcombe 1998, table I: k, n, score interval (method 3), exact interval (method 5)
    (81, 263, (0.2553, 0.3662), (0.2527, 0.3676)),
    (15, 148, (0.0624, 0.1605), (0.0578, 0.1617)),
    (0, 20, (0.0, 0.1611), (0.0, 0.1684)),
    (1, 29, (0.0061, 0.1718), (0.0009, 0.1776)),
]


@pytest.mark.parametrize(("k", "n", "score", "exact"), NEWCOMBE)
def test_wilson_matches_the_published_table(
    k: int, n: int, score: tuple[float, float], exact: tuple[float, float]
) -> None:
    assert wilson(k, n) == pytest.approx(score, abs=5e-5)


@pytest.mark.parametrize(("k", "n", "score", "exact"), NEWCOMBE)
def test_clopper_pearson_matches_the_published_table(
    k: int, n: int, score: tuple[float, float], exact: tuple[float, float]
) -> None:
    bounds = clopper_pearson_lower(k, n, 0.975), clopper_pearson_upper(k, n, 0.975)
    assert bounds == pytest.approx(exact, abs=5e-5)


def test_wilson_is_symmetric_and_narrows_with_less_confidence() -> None:
    low, high = wilson(7, 100)
    assert wilson(93, 100) == pytest.approx((1 - high, 1 - low))
    assert low < wilson(7, 100, 0.8)[0] < 0.07 < wilson(7, 100, 0.8)[1] < high


def test_bounds_include_the_ends() -> None:
    assert wilson(5, 5)[1] == 1.0
    assert wilson(0, 5)[0] == 0.0
    assert clopper_pearson_upper(5, 5) == 1.0
    assert clopper_pearson_lower(5, 5) == pytest.approx(0.05 ** (1 / 5))
    assert clopper_pearson_lower(0, 5) == 0.0


def test_the_exact_bound_is_where_the_binomial_tail_is_the_error() -> None:
    from scipy.stats import binom

    assert binom.cdf(3, 400, clopper_pearson_upper(3, 400, 0.95)) == pytest.approx(0.05)
    assert binom.sf(2, 400, clopper_pearson_lower(3, 400, 0.99)) == pytest.approx(0.01)


def test_nothing_seen_bounds_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert (clopper_pearson_lower(0, 0), clopper_pearson_upper(0, 0)) == (0.0, 1.0)
    assert rule_out(0) == 1.0


@pytest.mark.parametrize(("n", "percent"), [(100, "2.95"), (304, "0.98"), (1000, "0.30"), (3000, "0.10")])
def test_what_a_clean_run_rules_out(n: int, percent: str) -> None:
    assert f"{100 * rule_out(n):.2f}" == percent
    assert rule_out(n) < 3 / n  # the rule of three is its upper limit


def test_the_published_rate_has_its_wilson_interval() -> None:
    # 111 wrong answers of 304 (36.5 %); by Wilson's formula with z = 1.959964
    z, p, n = 1.959964, 111 / 304, 304
    centre, half = p + z * z / (2 * n), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    expected = (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)
    assert wilson(111, 304) == pytest.approx(expected, abs=1e-6)
    assert [f"{end:.2%}" for end in wilson(111, 304)] == ["31.30%", "42.06%"]


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    for bound in (wilson, clopper_pearson_lower, clopper_pearson_upper):
        with pytest.raises(ValueError, match=f"{k} of {n}"):
            bound(k, n)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_is_a_share(confidence: float) -> None:
    for bound in (wilson, clopper_pearson_lower, clopper_pearson_upper):
        with pytest.raises(ValueError, match="confidence"):
            bound(1, 10, confidence)


def test_importing_the_room_leaves_scipy_alone() -> None:
    code = "import sys, fuzzer.stats; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
