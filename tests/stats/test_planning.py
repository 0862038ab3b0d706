from __future__ import annotations

import pytest

from fuzzer.stats import (
    FixedTest,
    clopper_pearson_upper,
    detection_chance,
    fixed_test,
    mcnemar_pairs,
    mcnemar_power,
    requests_needed,
    rule_out,
)


@pytest.mark.parametrize(
    ("rate", "needed"),
    [(111 / 304, 7), (4 / 50, 36), (7 / 100, 42), (0.0032, 935), (1 / 304, 910), (12 / 5000, 1247), (0.01, 299)],
)
def test_requests_needed_to_see_or_rule_out_a_rate(rate: float, needed: int) -> None:
    assert requests_needed(rate) == needed
    assert rule_out(needed) <= rate < rule_out(needed - 1)


def test_ruling_out_three_in_a_thousand_takes_998() -> None:
    assert requests_needed(0.003) == 998


@pytest.mark.parametrize(
    ("bound", "sizes"),
    [  # Wilks's sample sizes for one-sided tolerance limits, as tabled in the nuclear-safety literature
        (0.05, [59, 93, 124, 153, 181]),
        (0.01, [299, 473, 628, 773, 913]),
    ],
)
def test_failures_make_the_sample_larger_as_wilks_tables_say(bound: float, sizes: list[int]) -> None:
    assert [requests_needed(bound, 0.95, failures) for failures in range(5)] == sizes
    for failures, n in enumerate(sizes):
        assert clopper_pearson_upper(failures, n) <= bound < clopper_pearson_upper(failures, n - 1)


def test_the_size_that_rules_a_rate_out_is_the_size_that_finds_it() -> None:
    assert detection_chance(299, 0.01) >= 0.95 > detection_chance(298, 0.01)
    assert detection_chance(300, 0.0) == 0.0
    assert (detection_chance(0, 1.0), detection_chance(1, 1.0)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("p0", "p1", "alpha", "beta", "plan"),
    [  # two-point plans of acceptance sampling: R AcceptanceSampling's find.plan, and Minitab's example
        (0.01, 0.05, 0.05, 0.10, FixedTest(132, 3)),
        (0.015, 0.10, 0.05, 0.10, FixedTest(52, 2)),
    ],
)
def test_fixed_tests_match_published_sampling_plans(
    p0: float, p1: float, alpha: float, beta: float, plan: FixedTest
) -> None:
    assert fixed_test(p0, p1, alpha, beta) == plan


def test_mcnemar_power_matches_the_worked_example() -> None:
    # O'Brien 2002, in the manual of G*Power 3.1 (exact McNemar): 0.32 against 0.08, 50 pairs, one-sided 5 %
    assert mcnemar_power(50, 0.32, 0.08, 0.05) == pytest.approx(0.839343, abs=5e-5)
    assert mcnemar_power(50, 0.20, 0.20, 0.05) == pytest.approx(0.032578, abs=5e-6)


def test_the_pairs_that_are_asked_for_have_the_power() -> None:
    pairs = mcnemar_pairs(0.07, 0.0, 0.01, 0.95)
    assert mcnemar_power(pairs, 0.07, 0.0, 0.01) >= 0.95 > mcnemar_power(pairs - 1, 0.07, 0.0, 0.01)


def test_impossible_plans_are_refused() -> None:
    for value in (0.0, 1.0, 95.0):
        with pytest.raises(ValueError, match="confidence"):
            requests_needed(0.01, value)
        with pytest.raises(ValueError, match="bound"):
            requests_needed(value)
    with pytest.raises(ValueError, match="-1"):
        requests_needed(0.01, 0.95, -1)
    with pytest.raises(ValueError, match="p0 < p1"):
        fixed_test(0.02, 0.01, 0.05, 0.05)
    with pytest.raises(ValueError, match="rate"):
        detection_chance(3, 1.5)
    with pytest.raises(ValueError, match="worse"):
        mcnemar_pairs(0.01, 0.01, 0.05, 0.9)
    with pytest.raises(ValueError, match="no more than 1"):
        mcnemar_power(10, 0.7, 0.7, 0.05)
