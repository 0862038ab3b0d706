"""What the nights say together: the last one's standing, findings that are new, known or gone, and what moved."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fuzzer.night import Boot, Night
from fuzzer.report.render import open_screen
from fuzzer.trend import trend
from fuzzer.trend.console import show
from fuzzer.trend.page import trend_page, write_trend
from fuzzer.trend.story import Trend
from tests.report.factory import HOSTILE
from tests.report.test_page import Outline, inert

from .factory import BLEED, Counts, found, soak, write_soak, write_unended

LOOP = "corruption/loop@candidate"


def look(folder: Path, *nights: Night, last: int | None = None) -> Trend:
    for night in nights:
        write_soak(folder, night)
    return trend(folder, last=last)


def clean(number: int) -> Night:
    return soak(number, [Counts(0, 5000), Counts(1, 5000, "rounds")])


def faulty(number: int) -> Night:
    boots = [Boot(number=one, since="", why="", k=12 * (one == 2), n=2500, bad=one == 2) for one in (1, 2)]
    cells = [Counts(12, 5000), Counts(1, 5000, "rounds")]
    return soak(number, cells, [found(count=3)], boots, "fail")


def text(told: Trend, width: int = 200) -> str:
    out = io.StringIO()
    show(told, open_screen(out, width))
    return out.getvalue()


def test_the_last_night_decides(tmp_path: Path) -> None:
    assert look(tmp_path, clean(0), clean(1)).exit_status == 3
    assert look(tmp_path, clean(2)).exit_status == 0
    told = look(tmp_path, faulty(3))
    assert (told.exit_status, told.standing) == (1, "flagged")
    assert told.last is not None
    assert told.last.flagged == ("candidate/bf16/c8/closed-loop",)
    assert look(tmp_path, clean(4)).exit_status == 0


def test_no_night_at_all_is_too_little(tmp_path: Path) -> None:
    told = trend(tmp_path)
    assert (told.exit_status, told.last) == (3, None)
    assert text(told).startswith("TOO LITTLE TO COMPARE: no finished night here")
    assert "TOO LITTLE" in trend_page(told)


def test_one_candidate_can_be_looked_at_alone(tmp_path: Path) -> None:
    for number in range(4):
        other = Counts(40 * (number == 3), 5000, candidate="other")
        write_soak(tmp_path, soak(number, [Counts(0, 5000), other], [found("bleed/stale@other")]))
    assert trend(tmp_path).exit_status == 1
    mine = trend(tmp_path, candidate="candidate")
    assert mine.exit_status == 0
    assert {series.key.candidate for series in mine.series} == {"candidate"}
    assert all(not night.changes for night in mine.nights)


def test_nights_that_are_not_shown_are_compared_with_all_the_same(tmp_path: Path) -> None:
    told = look(tmp_path, *map(clean, range(5)), faulty(5), last=1)
    assert (told.exit_status, len(told.nights), told.earlier) == (1, 1, 5)
    assert [len(series.points) for series in told.series] == [1, 1]


def changes(told: Trend) -> dict[tuple[str, str], tuple[str, int, int, bool]]:
    assert told.last is not None
    return {(one.key, one.schedule): (one.state, one.seen, one.before, one.alarm) for one in told.last.changes}


def test_findings_are_new_known_or_gone_by_key_and_schedule(tmp_path: Path) -> None:
    cells = [Counts(0, 5000), Counts(0, 5000, "rounds")]
    told = look(
        tmp_path,
        soak(0, cells, [found(LOOP, certainty="likely", breaks=False)]),
        soak(1, cells, [found("bleed/stale@candidate"), found(LOOP, certainty="likely", breaks=False)]),
        soak(2, cells, [found(), found(LOOP, certainty="likely", breaks=False), found(LOOP, schedule="rounds")]),
    )
    assert changes(told) == {
        (BLEED, "closed-loop"): ("new", 0, 2, True),
        (LOOP, "closed-loop"): ("known", 2, 2, False),
        (LOOP, "rounds"): ("new", 0, 2, True),
        ("bleed/stale@candidate", "closed-loop"): ("gone", 1, 2, False),
    }
    assert told.exit_status == 1
    assert "new certain finding bleed/concurrent/user@candidate under closed-loop: once" in text(told)


def test_a_likely_finding_that_is_new_is_told_and_flags_nothing(tmp_path: Path) -> None:
    told = look(tmp_path, clean(0), clean(1), soak(2, [Counts(0, 5000)], [found(LOOP, certainty="likely")]))
    assert changes(told) == {(LOOP, "closed-loop"): ("new", 0, 2, False)}
    assert told.exit_status == 0
    assert f"new: {LOOP} under closed-loop, likely, once" in text(told)


def test_what_a_night_did_not_look_for_is_neither_gone_nor_compared_with(tmp_path: Path) -> None:
    told = look(
        tmp_path,
        soak(0, [Counts(0, 5000, "rounds")], [found(schedule="rounds")]),
        soak(1, [Counts(0, 5000, "rounds")]),
        soak(2, [Counts(0, 5000)], [found()]),
    )
    assert changes(told) == {(BLEED, "closed-loop"): ("first", 0, 0, False)}
    assert "certain, once; no earlier night ran this schedule" in text(told)


def test_acceptance_and_speed_that_moved_are_information(tmp_path: Path) -> None:
    nights = [soak(n, [Counts(0, 5000, acceptance=3 + 0.01 * (n % 3), speed=900.0 + n)]) for n in range(9)]
    told = look(tmp_path, *nights, soak(9, [Counts(0, 5000, acceptance=1.4, speed=890.0)]))
    assert told.exit_status == 0
    assert told.last is not None
    assert [(one.figure, one.now, one.nights) for one in told.last.moved] == [("acceptance length", 1.4, 9)]
    assert "acceptance length 1.4, usually 3.01 (median of 9 nights), 53% down" in text(told)
    assert all(not night.moved for night in told.nights[:8])


def test_the_spread_over_boots_is_told(tmp_path: Path) -> None:
    said = text(look(tmp_path, clean(0), clean(1), faulty(2)))
    assert "boot 2 is bad: 0.48 % (12/2500" in said
    assert "2 boots: from 0 % (0/2500" in said


def test_nights_that_vary_by_more_than_chance_are_said_to(tmp_path: Path) -> None:
    uneven = [soak(n, [Counts(100 * (n % 2), 5000), Counts(50 + n, 5000, "rounds")]) for n in range(8)]
    said = text(look(tmp_path, *uneven))
    assert "candidate/bf16/c8/closed-loop: the earlier nights vary" in said
    assert "candidate/bf16/c8/rounds: the earlier nights vary" not in said


def test_the_reasons_and_what_was_left_out_are_told(tmp_path: Path) -> None:
    write_unended(tmp_path, "half")
    (tmp_path / "soak-000").mkdir()
    (tmp_path / "soak-000" / "night.json").write_text("{", encoding="utf-8")
    said = text(look(tmp_path, clean(1), clean(2), faulty(3), clean(4)))
    assert said.startswith("NOT FLAGGED: 2026-10-05 02:00 (soak, soak-004)")
    assert "2026-10-04 02:00: candidate/bf16/c8/closed-loop: 0.24 % (12/5000; 0.14 % to 0.42 %) failed, against" in said
    assert "half: has not ended" in said
    assert "soak-000: not read" in said


@pytest.mark.parametrize("width", [60, 80, 120, 160, 200])
def test_it_fits_the_terminal(tmp_path: Path, width: int) -> None:
    said = text(look(tmp_path, clean(0), clean(1), faulty(2)), width)
    assert max(map(len, said.splitlines())) <= width
    assert "12/5000" in said


def test_the_page_is_one_file_with_a_plot_a_cell(tmp_path: Path) -> None:
    told = look(tmp_path / "reports", clean(0), clean(1), faulty(2))
    write_trend(tmp_path / "new" / "trend.html", told)
    page = (tmp_path / "new" / "trend.html").read_text(encoding="utf-8")
    inert(page)
    assert sum(tag == "svg" for tag, _ in Outline(page).tags) == 2
    assert page.count("flagged</text>") == 1
    assert "FLAGGED: 2026-10-03 02:00 (soak, soak-002)" in page
    assert '<tr class="bad"' in page


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    hostile = HOSTILE[:300].replace("\ud800", "")
    for number in range(3):
        cells = [Counts(30 * (number == 2), 5000, candidate=f"c<script>alert(1)</script>{hostile}")]
        write_soak(tmp_path, soak(number, cells, [found(f"bleed/{hostile}@c")] * (number == 2)))
    told = trend(tmp_path)
    assert told.exit_status == 1
    page = trend_page(told)
    inert(page)
    assert "\x1b" not in page
    assert all(char == "\n" or char.isprintable() for char in text(told, 80))
