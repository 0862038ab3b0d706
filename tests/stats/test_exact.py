from __future__ import annotations

from collections.abc import Callable

import pytest

from fuzzer.stats import Paired, boschloo, fisher, holm, mcnemar, pair_up, unpaired


def test_mcnemar_of_the_published_case() -> None:
    assert f"{mcnemar(111, 1):.1e}" == "4.4e-32"
    assert mcnemar(111, 1, "greater") == pytest.approx(113 / 2**112)


def test_mcnemar_matches_the_textbook_example() -> None:
    # Fagerland, Lydersen and Laake 2013, table 2 (airway hyper-responsiveness: 1 and 7 discordant): exact p = 0.070
    assert mcnemar(1, 7) == pytest.approx(0.0703125)
    assert mcnemar(7, 1, "greater") == pytest.approx(9 / 256)


def test_mcnemar_two_sided_ignores_the_direction_and_greater_does_not() -> None:
    assert mcnemar(9, 2) == mcnemar(2, 9)
    assert mcnemar(9, 2, "greater") < 0.05 < 0.95 < mcnemar(2, 9, "greater")


@pytest.mark.parametrize(("b", "c"), [(0, 0), (1, 1), (40, 40)])
def test_mcnemar_of_even_arms_is_one(b: int, c: int) -> None:
    assert mcnemar(b, c) == 1.0
    assert mcnemar(b, c, "greater") >= 0.5


def test_mcnemar_under_one_percent_takes_eight_to_nothing() -> None:
    assert mcnemar(8, 0) < 0.01 < mcnemar(7, 0)


def test_mcnemar_refuses_negative_counts() -> None:
    with pytest.raises(ValueError, match="-1"):
        mcnemar(-1, 3)


def test_mcnemar_agrees_with_the_textbook_score_test() -> None:
    from scipy.stats import norm

    # Agresti, Categorical Data Analysis (2002), table 10.1, approval of a prime minister: 150 against 86, z = -4.17
    assert mcnemar(150, 86) == pytest.approx(2 * norm.sf(4.17), rel=0.25)


def test_pairs_that_share_a_label_are_one_pair() -> None:
    rounds = [("r1", True, False), ("r1", True, False), ("r2", False, True), ("r2", True, False), ("r3", False, False)]
    assert pair_up(rounds, "round") == Paired(b=1, c=0, both=1, n=3, unit="round")
    answers = pair_up([(place, ours, theirs) for place, (_, ours, theirs) in enumerate(rounds)], "answer")
    assert (answers.b, answers.c, answers.both, answers.n) == (3, 1, 0, 5)
    assert answers.p("greater") == mcnemar(3, 1, "greater")
    assert pair_up([], "answer").p() == 1.0


def test_fisher_matches_the_lady_tasting_tea() -> None:
    assert fisher(3, 4, 1, 4, "greater") == pytest.approx(17 / 70)
    assert fisher(3, 4, 1, 4) == pytest.approx(34 / 70)


def test_fisher_of_the_published_rates() -> None:
    # The concurrency-8 report: 7/100 wrong with speculation, 0/304 without
    from math import comb

    assert fisher(7, 100, 0, 304, "greater") == pytest.approx(comb(100, 7) / comb(404, 7))
    assert fisher(0, 304, 7, 100, "greater") == pytest.approx(1.0)


def test_fisher_without_a_trial_on_one_side_says_nothing() -> None:
    assert fisher(0, 0, 3, 10) == 1.0


@pytest.mark.parametrize("test", [fisher, boschloo, unpaired])
def test_tests_of_unpaired_arms_refuse_impossible_counts(test: Callable[[int, int, int, int], object]) -> None:
    with pytest.raises(ValueError, match="5 of 4"):
        test(1, 4, 5, 4)


@pytest.mark.parametrize(
    ("k1", "n1", "k2", "n2", "expected"),
    [  # the R package Exact, exact.test(method = "boschloo"), on a grid of 1e-8, as scipy tests against it
        (7, 9, 2, 10, 0.009886142),
        (16, 41, 5, 25, 0.05827348),
        (12, 15, 7, 15, 0.03410916),  # the vaccine of Mehta and Senchaudhuri (2003): 0.0341 unconditionally
        (24, 61, 10, 35, 0.1512882),
        (1, 3, 0, 3, 0.34375),
    ],
)
def test_boschloo_matches_the_published_values(k1: int, n1: int, k2: int, n2: int, expected: float) -> None:
    assert boschloo(k1, n1, k2, n2, "greater") == pytest.approx(expected, abs=1e-7)
    assert boschloo(k1, n1, k2, n2, "greater") <= fisher(k1, n1, k2, n2, "greater")


def test_boschloo_of_the_published_rates_and_of_nothing() -> None:
    assert boschloo(7, 100, 0, 304, "greater") == pytest.approx(3.09e-5, rel=1e-3)
    assert boschloo(0, 304, 7, 100, "greater") == pytest.approx(1.0)
    assert boschloo(3, 10, 3, 10) == 1.0
    assert boschloo(0, 0, 3, 10) == 1.0


def test_large_unpaired_arms_are_compared_by_fisher() -> None:
    small, large = unpaired(4, 331, 0, 331, "greater"), unpaired(8, 3000, 0, 3000, "greater")
    assert (small.test, small.p) == ("Boschloo", boschloo(4, 331, 0, 331, "greater"))
    assert (large.test, large.p) == ("Fisher", fisher(8, 3000, 0, 3000, "greater"))


def test_holm_matches_the_worked_example() -> None:
    # R, p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm")
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_holm_keeps_order_ties_and_the_limit_of_one() -> None:
    assert holm([0.9, 0.02, 0.02]) == pytest.approx((0.9, 0.06, 0.06))
    assert holm([0.5, 0.6]) == (1.0, 1.0)
    assert holm([0.004]) == (0.004,)
    assert holm([]) == ()


def test_holm_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match=r"1\.2"):
        holm([0.1, 1.2])
