"""The control chart: it keeps its promise on clean nights, and flags the night in which a fault was switched on."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from fuzzer.stats import Sprt, fisher
from fuzzer.trend.chart import ALARM, Point, Series, chart, fewest_flagged, why_too_little
from fuzzer.trend.nights import TrendNight

from .factory import row


def only(nights: list[TrendNight]) -> tuple[Point, ...]:
    (series,) = chart(nights)
    return series.points


def flagged_nights(series: list[Series]) -> tuple[int, int]:
    """(flagged, compared) nights."""
    nights: dict[str, bool] = {}
    for one in series:
        for point in one.points:
            if point.adjusted is not None:
                nights[point.run_id] = nights.get(point.run_id, False) or point.state == "flagged"
    return sum(nights.values()), len(nights)


def test_clean_nights_are_flagged_no_more_often_than_promised() -> None:
    """2,000 series of 20 nights, four cells a night: at most 0.1 % of the nights, but for chance."""
    random = np.random.default_rng(20261130)
    flagged = compared = 0
    for _ in range(500):
        failed = random.binomial(5000, 0.0005, (20, 4))
        found = flagged_nights(chart(row(at, [(int(k), 5000) for k in night]) for at, night in enumerate(failed)))
        flagged, compared = flagged + found[0], compared + found[1]
    assert compared == 500 * 18
    assert flagged <= binom.isf(0.001, compared, ALARM)


def test_a_gate_that_stops_at_a_moment_of_its_own_choosing_keeps_the_promise() -> None:
    random = np.random.default_rng(7)
    plan = Sprt(p0=0.001, p1=0.01, alpha=0.005, beta=0.05)
    flagged = compared = 0
    for _ in range(100):
        nights = []
        for at in range(12):
            failed = np.cumsum(random.binomial(48, 0.003, 28))
            blocks = next((b for b in range(1, 28) if plan.state(int(failed[b - 1]), 48 * b) != "open"), 28)
            nights.append(row(at, [(int(failed[blocks - 1]), 48 * blocks)], looks=blocks))
        found = flagged_nights(chart(nights))
        flagged, compared = flagged + found[0], compared + found[1]
    assert compared > 900
    assert flagged <= binom.isf(0.001, compared, ALARM)


@pytest.mark.parametrize("seed", range(5))
def test_the_night_in_which_a_rare_fault_was_switched_on_is_flagged_and_none_before(seed: int) -> None:
    """12 in 5,000 against next to nothing."""
    random = np.random.default_rng(seed)
    before = [row(at, [(int(random.binomial(5000, 0.0001)), 5000), (0, 5000)]) for at in range(10)]
    first, _ = chart([*before, row(10, [(12, 5000), (0, 5000)])])
    assert [point.state for point in first.points] == ["too little"] * 2 + ["as before"] * 8 + ["flagged"]


def test_a_fault_that_stays_is_flagged_every_night_since_flagged_nights_are_not_compared_with() -> None:
    points = only([*(row(at, [(0, 5000)]) for at in range(3)), *(row(at, [(12, 5000)]) for at in range(3, 8))])
    assert [point.state for point in points[3:]] == ["flagged"] * 5
    assert (points[-1].before, points[-1].before_n) == (3, 15_000)


def test_p_is_that_of_the_exact_test_times_the_cells_of_the_night() -> None:
    nights = [row(at, [(1, 2000), (0, 2000), (2, 2000)]) for at in range(2)]
    worst = chart([*nights, row(2, [(9, 2000), (0, 2000), (2, 2000)])])[0].points[-1]
    assert worst.p == pytest.approx(fisher(9, 2000, 2, 4000, "greater"))
    assert worst.adjusted == pytest.approx(3 * fisher(9, 2000, 2, 4000, "greater"))


def test_fewer_failures_than_before_are_no_flag() -> None:
    points = only([*(row(at, [(50, 1000)]) for at in range(4)), row(4, [(0, 1000)])])
    assert points[-1].state == "as before"


@pytest.mark.parametrize(
    ("before", "why"),
    [([(0, 5000)], "1 of 2 earlier nights"), ([(0, 100), (0, 100)], "200 of 300 earlier answers")],
)
def test_too_few_nights_or_answers_are_not_compared_with(before: list[tuple[int, int]], why: str) -> None:
    last = only([*(row(at, [cell]) for at, cell in enumerate(before)), row(9, [(100, 100)])])[-1]
    assert (last.state, last.p) == ("too little", None)
    assert why_too_little(last) == why


def test_a_cell_that_measured_nothing_is_neither_judged_nor_compared_with() -> None:
    points = only([*(row(at, [(0, 400)]) for at in range(2)), row(2, [(0, 0)]), row(3, [(1, 400)])])
    assert [point.state for point in points] == ["too little", "too little", "not counted", "as before"]
    assert points[-1].before == 2


def test_other_sorts_and_set_ups_are_other_series() -> None:
    soak = row(0, [(0, 400)])
    gate = soak.model_copy(update={"run_id": "g", "sort": "gate"})
    other = soak.model_copy(update={"run_id": "o", "setup": "another model"})
    assert [len(series.points) for series in chart([soak, gate, other])] == [1, 1, 1]


def test_nights_that_vary_by_more_than_chance_widen_the_test() -> None:
    """Alike nights flag 60 in 1,000 after 20 in 1,000; nights that swing from 0 to 40 do not."""
    alike = only([*(row(at, [(20, 1000)]) for at in range(6)), row(6, [(60, 1000)])])[-1]
    swinging = only([*(row(at, [(40 * (at % 2), 1000)]) for at in range(6)), row(6, [(60, 1000)])])[-1]
    assert (alike.state, swinging.state) == ("flagged", "as before")
    assert alike.effect is not None
    assert swinging.effect is not None
    assert alike.effect < 1 < 10 < swinging.effect


def test_it_says_how_many_failures_it_takes() -> None:
    before = [(0, 5000)] * 5
    fewest = fewest_flagged(5000, before, cells=3)
    nights = [row(at, [cell] * 3) for at, cell in enumerate(before)]
    for failed, state in ((fewest, "flagged"), (fewest - 1, "as before")):
        assert chart([*nights, row(9, [(failed, 5000), (0, 5000), (0, 5000)])])[0].points[-1].state == state
    assert fewest_flagged(3, [(150, 300)] * 2) > 3


def test_the_page_on_the_trend_says_how_many_failures_it_takes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "trend.md").read_text(encoding="utf-8")
    table = page[page.index("| answers a night |") :].partition("\n\n")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    nights = [int(number) for name in head for number in re.findall(r"\d+", name)]
    assert (len(nights), len(rows)) == (3, 2)
    for answers, *cells in rows:
        n = int(answers.replace(",", ""))
        assert [int(cell) for cell in cells] == [fewest_flagged(n, [(0, n)] * count, cells=6) for count in nights]
