from __future__ import annotations

import pytest

from fuzzer.stats import fisher, holm, mcnemar


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


def test_fisher_refuses_impossible_counts() -> None:
    with pytest.raises(ValueError, match="5 of 4"):
        fisher(1, 4, 5, 4)


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
