from __future__ import annotations

import pytest

from fuzzer.report.words import counts, duration, estimate, fraction, listed, ordered, p_value, percent, place, plural
from fuzzer.summary import ArmCounts, Rate

from . import factory


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.01, "1 %"),
        (0.36513, "36.5 %"),
        (1 / 304, "0.33 %"),
        (0.0098, "0.98 %"),
        (0.00001, "0.001 %"),
        (0.99996, "> 99.9 %"),
        (0.998, "99.8 %"),
    ],
)
def test_percentages_keep_the_digits_that_matter(share: float, shown: str) -> None:
    assert percent(share) == shown


@pytest.mark.parametrize(
    ("p", "shown"), [(4.353e-32, "4.4e-32"), (0.0123, "0.012"), (0.00001, "1.0e-05"), (1.0, "1"), (0.0, "< 1e-300")]
)
def test_p_values_have_two_significant_digits(p: float, shown: str) -> None:
    assert p_value(p) == shown


def test_a_rate_always_comes_with_its_denominator() -> None:
    assert estimate(Rate(k=111, n=304)) == "36.5 % (111/304)"
    assert estimate(Rate(k=0, n=0)) == "unknown (0/0)"
    assert fraction(None) == "-"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.85, "0.85 s"), (42, "42 s"), (734, "12 min"), (11520, "3.2 h"), (0, "0 s")]
)
def test_times_are_for_people(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_counting_words() -> None:
    assert (plural(1, "finding"), plural(1702, "exchange")) == ("1 finding", "1,702 exchanges")
    assert [listed([]), listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_cells_go_by_concurrency_then_by_lm_head() -> None:
    cells = [
        factory.cell(concurrency=8, lm_head="nvfp4"),
        factory.cell(concurrency=16, lm_head="bf16"),
        factory.cell(concurrency=8, lm_head="bf16"),
        factory.cell(concurrency=8, lm_head=None),
    ]
    assert [(cell.concurrency, cell.lm_head) for cell in ordered(cells)] == [
        (8, None),
        (8, "bf16"),
        (8, "nvfp4"),
        (16, "bf16"),
    ]


def test_the_candidate_is_named_only_among_several() -> None:
    one, two = factory.passing(), factory.two_heads()
    assert place(one.cells[1], one) == "concurrency 8, lm_head nvfp4, closed-loop"
    assert place(two.cells[0], two) == "concurrency 8, lm_head nvfp4, closed-loop, candidate fp4"


def test_counts_name_every_way_in_which_an_exchange_ended() -> None:
    arm = ArmCounts(
        sent=20, completed=17, right=9, verbose=2, wrong={"runaway": 1, "wrong-value": 3}, unjudged={"no-answer": 2},
        error={"timeout-read": 2}, lost=1,
    )  # fmt: skip
    assert counts(arm) == (
        "sent 20: right 9, verbose but right 2, wrong 4 (wrong-value 3, runaway 1), not judged 2 (no-answer 2), "
        "service failure 2 (timeout-read 2), lost 1"
    )
