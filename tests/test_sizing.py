from __future__ import annotations

import pytest

from fuzzer.decisions import sprt
from fuzzer.errors import UsageError
from fuzzer.plan import Endpoint, Plan
from fuzzer.sizing import Question, describe, duration, percent, share, size


def test_ruling_out_three_in_a_thousand() -> None:
    sizes = size(Question(max_wrong_rate=0.003, cells=2, speed=12))
    assert sizes.clean == 998
    assert sizes.allowing == {1: 1580, 2: 2097, 3: 2583}
    assert sizes.cost.answers == 3992
    assert sizes.cost.seconds == pytest.approx(332.7, abs=0.1)
    text = "\n".join(describe(sizes))
    assert "To rule out a failure rate of 0.3 % at 95 % (one-sided) you need 998 judged answers a cell" in text
    assert "3992 answers; at 12/s that is 6 min" in text


def test_the_sizes_are_those_of_the_gate() -> None:
    candidate = Endpoint(name="candidate", url="http://127.0.0.1:1")
    plan = Plan(candidates=(candidate,))
    sequential = size(Question(cells=len(plan.gated))).sequential
    test = sprt(plan)
    assert (sequential.alpha, sequential.cap) == (test.alpha, test.cap)
    assert sequential.clean == 336
    assert sequential.clean - test.clean_size < 48


def test_how_a_cell_ends_is_told_for_good_and_bad_engines() -> None:
    fates = {fate.true_rate: fate for fate in size(Question(true_rate=0.07)).sequential.fates}
    assert fates[0.0].passes == 1.0
    assert fates[0.07].fails > 0.999
    assert fates[0.07].answers <= 96
    assert fates[0.01].passes <= 0.05
    assert fates[0.001].fails <= 0.005


def test_the_chance_to_see_a_true_rate_and_the_pairs_to_prove_it() -> None:
    sizes = size(Question(true_rate=0.01))
    assert sizes.seen == pytest.approx(0.95, abs=1e-3)
    assert size(Question(true_rate=0.07)).pairs == 167


def test_a_tiny_rate_is_sized_without_working_out_every_end() -> None:
    sizes = size(Question(max_wrong_rate=1e-5))
    assert sizes.clean == 299572
    assert sizes.sequential.fates == ()
    assert any("not worked out" in line for line in describe(sizes))


def test_without_a_speed_or_a_reference_nothing_is_said_of_them() -> None:
    text = "\n".join(describe(size(Question(cells=1, arms=1))))
    assert "For 1 cell: 299 answers." in text
    assert "/s" not in text


@pytest.mark.parametrize(
    ("wrong", "option"),
    [
        ({"max_wrong_rate": 0.0}, "--max-wrong-rate"),
        ({"confidence": 95.0}, "--confidence"),
        ({"cells": 0}, "--cells"),
        ({"speed": 0.0}, "--rate"),
        ({"speed": float("nan")}, "--rate"),
        ({"true_rate": 1.0}, "--true-rate"),
    ],
)
def test_a_mistake_names_the_option_with_an_example(wrong: dict[str, float], option: str) -> None:
    with pytest.raises(UsageError, match=f"^{option}: .*for example {option}"):
        Question(**wrong)  # type: ignore[arg-type]  # cells is whole here


def test_shares_are_read_and_shown() -> None:
    assert share("--confidence", " 95% ") == 0.95
    assert share("--confidence", "0.95") == 0.95
    with pytest.raises(UsageError, match="--confidence: 'much' is not understood"):
        share("--confidence", "much")
    assert [percent(value) for value in (0.003, 0.0003, 0.999999, 1.0, 0.0)] == [
        "0.3 %", "0.03 %", "over 99.99 %", "100 %", "0 %"
    ]  # fmt: skip
    assert [duration(seconds) for seconds in (83, 332.7, 9000)] == ["83 s", "6 min", "2.5 h"]
