"""What a night's verdict says of counts, on planted faults and on healthy nights."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fuzzer.night import NightReason
from fuzzer.soak.verdict import Ending, judged

from .factory import BLEED, cell, drawn, leg, night, plan, soak, state


def codes(found: object) -> set[str]:
    reasons = getattr(found, "reasons", ())
    return {reason.code for reason in reasons}


def test_a_healthy_night_passes_and_says_what_it_rules_out() -> None:
    found = night(*drawn(np.random.default_rng(1), lambda _: 0.0))
    assert (found.verdict, found.exit_status) == ("pass", 0)
    assert {one.schedule for one in found.cells} == {"closed-loop", "rounds", "burst-solo"}
    assert sum(one.n for one in found.cells) == found.judged == (60 - 9) * 64  # the anchor set counts once
    assert all(one.upper < 0.006 and one.status == "pass" for one in found.cells)
    assert "rules out a rate of" in found.reasons[0].message


def test_healthy_nights_are_not_called_faulty_though_both_ends_err_now_and_then() -> None:
    rng = np.random.default_rng(2)
    nights = [night(*drawn(rng, lambda _: 0.004, reference=0.004)) for _ in range(200)]
    assert {found.verdict for found in nights} <= {"pass", "inconclusive"}


def test_one_certain_finding_in_a_night_breaks_it() -> None:
    legs = drawn(np.random.default_rng(3), lambda _: 0.0)
    legs[40] = dataclasses.replace(legs[40], findings=(BLEED,))
    found = night(*legs)
    assert (found.verdict, codes(found)) == ("fail", {"certain-finding"})
    (group,) = found.findings
    assert (group.first, group.last, group.count, group.breaks) == (41, 41, 1, True)


def test_twelve_wrong_answers_in_five_thousand_are_found_where_the_reference_has_none() -> None:
    rng = np.random.default_rng(4)
    found = [night(*drawn(rng, lambda _: 12 / 1250, legs=96)) for _ in range(20)]
    assert [one.verdict for one in found] == ["fail"] * 20
    assert all("worse-than-reference" in codes(one) for one in found)


def test_failures_that_grow_with_uptime_are_called_drift() -> None:
    rng = np.random.default_rng(5)
    found = night(*drawn(rng, lambda number: 0.002 * number))
    assert "drift" in codes(found)
    (anchors, everything) = found.drifts
    assert (anchors.on, everything.on, everything.flagged) == ("anchors", "all", True)
    assert anchors.early[0] / anchors.early[1] < anchors.late[0] / anchors.late[1]


def test_a_constant_failure_rate_is_no_drift_even_where_more_legs_go_where_it_fails() -> None:
    rng = np.random.default_rng(6)
    late = [
        night(*drawn(rng, lambda number: 0.2 if number > 20 and number % 2 else 0.02,
                     why=lambda number: "findings" if number > 20 and number % 2 else "rotation"))
        for _ in range(30)
    ]  # fmt: skip
    assert not any("drift" in codes(one) for one in late)


def test_a_bad_boot_is_named() -> None:
    rng = np.random.default_rng(7)
    found = night(*drawn(rng, lambda n: 0.15 if 25 <= n <= 36 else 0.0, boot=lambda n: 1 + (n - 1) // 12))
    assert [boot.bad for boot in found.boots] == [False, False, True, False, False]
    assert "boot 3 (since" in next(reason.message for reason in found.reasons if reason.code == "bad-boot")


def test_boots_that_fail_alike_are_not_called_bad() -> None:
    rng = np.random.default_rng(8)
    nights = [night(*drawn(rng, lambda _: 0.05, boot=lambda n: 1 + (n - 1) // 12)) for _ in range(60)]
    assert not any(boot.bad for found in nights for boot in found.boots)


@pytest.mark.parametrize("field", ["service", "material"])
def test_failed_requests_and_material_divergence_add_up_over_the_night(field: str) -> None:
    legs = [leg(n, cell("closed-loop", 0, **{f"{field}_b": n % 3 == 0})) for n in range(1, 61)]
    code = {"service": "service-failures", "material": "material-divergence"}[field]
    assert code in codes(night(*legs, manifest=soak(schedules=("closed-loop",))))
    shared = [
        leg(n, cell("closed-loop", 0, **{f"{field}_b": n % 3 == 0, f"{field}_c": n % 3 == 1})) for n in range(1, 61)
    ]
    assert code not in codes(night(*shared, manifest=soak(schedules=("closed-loop",))))


def test_acceptance_that_collapsed_in_one_leg_is_chance_and_in_most_is_not() -> None:
    once = [leg(n, cell("closed-loop", 0, collapsed=n == 4)) for n in range(1, 11)]
    mostly = [leg(n, cell("closed-loop", 0, collapsed=n > 4)) for n in range(1, 11)]
    one = soak(schedules=("closed-loop",))
    assert "acceptance-collapse" not in codes(night(*once, manifest=one))
    assert "acceptance-collapse" in codes(night(*mostly, manifest=one))


def test_a_cell_that_no_leg_measured_keeps_the_night_open() -> None:
    legs = [leg(n, cell("closed-loop", 0)) for n in range(1, 11)]
    empty = [leg(11, cell("rounds", 0, counted=False), reasons=("restarted: its server was restarted",))]
    found = night(*legs, *empty)
    assert (found.verdict, found.exit_status) == ("inconclusive", 3)
    assert any("restarted" in reason.message for reason in found.reasons)
    assert any("burst-solo" in reason.message and "longer" in reason.message for reason in found.reasons)


def test_what_does_not_count_is_not_added_up() -> None:
    legs = [leg(1, cell("closed-loop", 9, counted=False)), leg(2, cell("closed-loop", 0))]
    (counted,) = night(*legs).cells
    assert (counted.k, counted.n, counted.legs) == (0, 64, 1)


def test_a_night_that_was_broken_off_passes_nothing_but_may_fail() -> None:
    clean, ending = drawn(np.random.default_rng(9), lambda _: 0.0), Ending(ended="now", interrupted=True)
    assert (night(*clean, ending=ending).verdict, night(*clean, ending=ending).exit_status) == ("interrupted", 130)
    partial = leg(61, cell("rounds", 0, 5), verdict="interrupted", exit_status=130, findings=(BLEED,))
    assert night(*clean, ending=Ending(ended="now", interrupted=True, partial=partial)).verdict == "fail"


def test_what_was_lost_keeps_a_clean_night_from_passing_and_a_faulty_one_from_nothing() -> None:
    clean = drawn(np.random.default_rng(10), lambda _: 0.0)
    damaged, lost = state(*clean), state(*clean)
    damaged.damaged = 1
    lost.lost[61] = "its history is damaged"
    for each in (damaged, lost):
        assert judged(soak(), each, Ending(ended="now"), {}).verdict == "inconclusive"
    full = Ending(ended="now", stopped=NightReason(code="disk", message="the disk is full"))
    assert night(*clean, ending=full).verdict == "inconclusive"


def test_without_a_reference_the_limit_alone_decides() -> None:
    alone = soak(references=(), schedules=("closed-loop",))
    bad = [leg(n, cell("closed-loop", 4, b=4)) for n in range(1, 11)]
    assert "wrong-rate" in codes(night(*bad, manifest=alone))
    assert not plan(references=()).references


def test_a_prompt_of_the_anchor_set_that_always_fails_is_one_failure_and_not_one_for_each_time_it_is_asked() -> None:
    legs = [
        leg(
            number,
            cell("closed-loop", int(number % 6 == 1), b=int(number % 6 == 1)),
            purpose="anchor" if number % 6 == 1 else "sweep",
        )
        for number in range(1, 97)
    ]
    found = night(*legs)
    assert (found.verdict, found.cells[0].k) == ("inconclusive", 1)


def test_drafts_that_outlive_their_requests_fail_by_the_first_leg_of_a_boot_that_can_show_them() -> None:
    def made(*told: float | None, boots: int = 1) -> set[str]:
        legs = [leg(n, cell("long-pairs", 0, stale_p=p), boot=1 + n % boots) for n, p in enumerate(told, 1)]
        found = night(*legs)
        reasons = [reason.message for reason in found.reasons if reason.code == "stale-drafts"]
        assert all("see leg 2" in message for message in reasons)
        return codes(found) & {"stale-drafts"}

    assert made(None, 2e-5, 1.0, 0.4)
    assert not made(None, 6e-4, 1e-9)  # what comes later in a boot is not asked
    assert not made(None, None)
    assert made(1.0, 2e-5, 1.0, boots=2)
    assert not made(1.0, 3e-4, boots=2)  # one of two boots
