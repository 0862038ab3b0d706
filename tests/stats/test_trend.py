"""The trend test against published figures, and its error on rates that do not rise."""

from __future__ import annotations

import numpy as np
import pytest

from fuzzer.stats import rising


def test_agresti_s_infant_malformation_and_alcohol() -> None:
    """Agresti, Categorical Data Analysis, table 3.9: M^2 = 6.57, so z = 2.563 and one-sided p = 0.0052."""
    groups = [(0.0, 48, 17114), (0.5, 38, 14502), (1.5, 5, 793), (4.0, 1, 127), (7.0, 1, 38)]
    assert rising(groups) == pytest.approx(0.0052, abs=0.0001)


def test_moving_and_stretching_the_scores_changes_nothing() -> None:
    groups = [(0.0, 3, 50), (1.0, 6, 50), (2.0, 9, 50)]
    assert rising(groups) == pytest.approx(rising([(7 + 3 * score, k, n) for score, k, n in groups]))
    falling = [(-score, k, n) for score, k, n in groups]
    assert rising(groups) == pytest.approx(1 - (rising(falling) or 0))


@pytest.mark.parametrize(
    "groups",
    [[], [(1.0, 0, 500), (2.0, 4, 500)], [(1.0, 9, 500)], [(1.0, 9, 500), (1.0, 90, 500)], [(0.0, 9, 9), (1.0, 9, 9)]],
)
def test_where_nothing_can_be_told_it_says_so(groups: list[tuple[float, int, int]]) -> None:
    assert rising(groups) is None


def test_rates_that_do_not_rise_are_seldom_called_rising() -> None:
    rng = np.random.default_rng(5)
    told = [rising([(float(leg), int(k), 64) for leg, k in enumerate(rng.binomial(64, 0.01, 40))]) for _ in range(4000)]
    values = [p for p in told if p is not None]
    assert len(values) > 3900
    assert sum(p < 0.01 for p in values) / len(values) < 0.015
    assert sum(p < 0.001 for p in values) / len(values) < 0.003


def test_strata_that_fail_differently_often_show_no_rise_of_their_own() -> None:
    often, seldom = [(float(leg), 20, 64) for leg in range(10, 20)], [(float(leg), 1, 64) for leg in range(10)]
    assert (rising([*often, *seldom]) or 1) < 1e-6
    assert rising(often, seldom) == pytest.approx(0.5)
    rises = [(float(leg), leg, 64) for leg in range(10)]
    assert (rising(rises, often) or 1) < 0.05


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between none and all"):
        rising([(1.0, 5, 4)])
