from __future__ import annotations

from dataclasses import replace

import pytest

from fuzzer.night import Night, NightReason
from fuzzer.report.night.rows import ranked
from fuzzer.report.night.sentences import (
    amounts,
    boots_line,
    broken,
    drift_line,
    exclusions,
    hours,
    outcome,
    reasons,
    totals,
    verdict_line,
)

from . import factory


def test_a_clean_night_says_what_it_judged_and_under_which_limit_it_stayed() -> None:
    said = verdict_line(factory.clean())
    assert said.startswith("PASS: 0 of 3,840 judged answers failed in 8.0 h")
    assert "under 1 % at 95 %" in said


@pytest.mark.parametrize(
    ("night", "word"),
    [
        (factory.bleeding(), "no innocent explanation"),
        (factory.drifting(), "the longer the server runs"),
        (factory.bad_boot(), "one start of the server"),
    ],
)
def test_a_night_that_fails_says_for_what_in_its_first_line(night: Night, word: str) -> None:
    assert verdict_line(night).startswith("FAIL: ")
    assert word in verdict_line(night)


def test_of_a_failing_night_the_first_line_names_no_reason_that_does_not_fail_it() -> None:
    night = factory.bad_boot()
    late = NightReason(code="disk", message="dropped")
    assert "disk" not in verdict_line(night.model_copy(update={"reasons": (late, *night.reasons)}))


def test_what_passed_is_told_once_and_what_fails_comes_first() -> None:
    assert reasons(factory.clean()) == []
    night = factory.bad_boot()
    late = NightReason(code="outage", message="away")
    assert reasons(night.model_copy(update={"reasons": (late, *night.reasons)}))[-1] == "away [outage]"


def test_a_cell_breaks_the_night_by_its_counts_or_by_a_finding_in_its_legs() -> None:
    assert broken(factory.clean()) == set()
    assert broken(factory.bleeding()) == {"candidate/nvfp4/c16/closed-loop"}
    night = factory.drifting()
    assert broken(night) == {cell.key for cell in night.cells if cell.status == "fail"} != set()


def test_the_totals_leave_the_control_out() -> None:
    night = factory.clean()
    controls = sum(cell.n for cell in night.cells if cell.role == "control")
    assert controls > 0
    assert totals(night) == (0, sum(cell.n for cell in night.cells) - controls)


def test_every_cell_says_what_it_rules_out_with_its_denominator() -> None:
    said = exclusions(factory.clean())
    assert len(said) == len(factory.clean().cells)
    assert "concurrency 5, lm_head nvfp4, rounds: a failure rate above 0.47 % (0 of 640 failed in 10 legs)" in said


def test_what_a_cell_rules_out_does_not_hide_a_finding_in_it() -> None:
    (said,) = [line for line in exclusions(factory.bleeding()) if "breaks the night" in line]
    assert said.startswith("concurrency 16, lm_head nvfp4, closed-loop: a failure rate above")


def test_a_cell_that_fails_clears_nothing() -> None:
    night = factory.drifting()
    failed = [cell for cell in night.cells if cell.status == "fail"]
    assert failed
    assert sum("nothing is cleared" in line for line in exclusions(night)) == len(failed)


def test_drift_is_told_with_both_halves() -> None:
    (drift,) = factory.drifting().drifts
    said = drift_line(drift)
    assert "MORE OFTEN" in said
    assert f"{drift.late[0]} of {drift.late[1]}" in said
    (none,) = factory.clean().drifts
    assert "too few" in drift_line(none)
    assert "no drift shown" in drift_line(factory.bleeding().drifts[0])


def test_a_bad_boot_is_named_and_one_boot_alone_says_nothing() -> None:
    assert boots_line(factory.bad_boot()).startswith("Boot 3 is BAD")
    assert boots_line(factory.interrupted()).startswith("No boot of 2")
    assert "cannot be told" in boots_line(factory.clean())


def test_what_was_dropped_and_lost_is_told() -> None:
    said = " ".join(amounts(factory.interrupted()))
    assert "3 of 14 legs was dropped for the disk limit (leg 1-2, 4)" in said
    assert "9 exchanges of 13,440" in said
    assert "3 processes" in said
    assert "dropped" not in " ".join(amounts(factory.clean()))


def test_a_leg_is_clean_failed_broken_or_not_judged() -> None:
    clean = factory.leg(1, 0)
    assert outcome(clean) == "clean"
    assert outcome(factory.leg(1, 1)) == "failures"
    assert outcome(factory.leg(1, 1, bled=1)) == "FAIL"
    uncounted = tuple(replace(cell, counted=False) for cell in clean.cells)
    assert outcome(replace(clean, cells=uncounted)) == "not judged"


def test_a_clock_that_was_set_back_moves_no_leg_before_the_night() -> None:
    leg = factory.leg(4, 0)
    assert hours(leg) == pytest.approx(4 * factory.MINUTES / 60)
    assert hours(replace(leg, started=factory.moment(900))) == pytest.approx(leg.active / 3600)
    assert hours(replace(leg, started="no moment")) == pytest.approx(leg.active / 3600)


def test_new_findings_come_first_and_nothing_is_new_where_no_earlier_night_is_known() -> None:
    night = factory.bleeding()
    first, state = ranked(night, factory.trend())[0]
    assert (first.key, state) == (factory.BLEED, "new, breaks the night")
    assert {said for found, said in ranked(night, factory.trend()) if found.key == factory.NEAR} == {"known"}
    assert not any("new" in said or "known" in said for _, said in ranked(night, None))
