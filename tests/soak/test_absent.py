"""A server that is not there answers nothing wrong: its leg decides nothing, in every direction."""

from __future__ import annotations

import pytest

from fuzzer.events import Event, ExchangeDone, LoadSeen, StageStarted
from fuzzer.soak.counting import absent, counted
from fuzzer.soak.liveness import Liveness
from fuzzer.soak.rotation import hit
from fuzzer.summary import ArmCounts, CellSummary, FindingGroup, Reason
from tests.report.factory import bleed, group, summary
from tests.report.factory import cell as gate_cell

from .factory import cell as night_cell
from .factory import leg, night
from .test_ledger import began

CELL = "candidate/bf16/c8/closed-loop"
LOAD = LoadSeen("candidate", 8, 0, None)


def dead(how: str, failed: int, *, arm: str = "candidate") -> CellSummary:
    """A cell of a gate in which the last ``failed`` of 64 requests failed so at one end."""
    fine = gate_cell(0 if arm == "reference" else failed, 64, reference=(0, 64), status="fail")
    counts = ArmCounts(sent=64, completed=64 - failed, right=64 - failed, error={how: failed})
    return fine.model_copy(update={"arms": dict(fine.arms) | {arm: counts}})


def of(one: CellSummary, findings: tuple[FindingGroup, ...] = ()) -> tuple[str, int, bool, str]:
    failed = Reason(code="service-failures", cell=one.key, message="requests failed only on the candidate")
    told = summary("fail", 1, (failed,), (one,), findings=findings)
    made = counted(told, began(1), boot=1, active=60.0, first_request=0, ended="2026-11-29T22:01:00+00:00")
    return made.verdict, made.exit_status, made.cells[0].counted, made.reasons[0] if made.reasons else ""


@pytest.mark.parametrize("arm", ["candidate", "reference"])
@pytest.mark.parametrize(
    ("how", "failed"), [("connect", 40), ("connect", 8), ("timeout-connect", 64), ("unauthorised", 1), ("refused", 64)]
)
def test_a_leg_whose_server_went_away_counts_for_nothing_and_says_so(how: str, failed: int, arm: str) -> None:
    verdict, status, counts, why = of(dead(how, failed, arm=arm))
    assert (verdict, status, counts) == ("inconclusive", 3, False)
    assert why.startswith("outage: ")
    assert arm in why


@pytest.mark.parametrize(
    ("how", "failed"), [("connect", 7), ("disconnect", 40), ("server-error", 64), ("refused", 63), ("timeout-read", 40)]
)
def test_a_server_that_is_there_and_drops_requests_still_fails(how: str, failed: int) -> None:
    verdict, status, counts, _ = of(dead(how, failed))
    assert (verdict, status, counts) == ("fail", 1, True)


def test_a_certain_fault_still_fails_the_leg_in_which_the_server_went_away() -> None:
    assert of(dead("connect", 40), (group(bleed(), breaks_gate=True),))[:2] == ("fail", 1)


def test_outages_send_no_more_traffic_there_and_break_no_night() -> None:
    away = leg(1, night_cell("rounds", 64, counted=False), reasons=("outage: 64 requests found no connection",))
    told = night(away)
    assert not hit(away)
    assert told.verdict == "inconclusive"
    assert any("nothing counts in its 1 leg: outage: 64 requests" in reason.message for reason in told.reasons)


def timed_out(timeout: float, *before: Event, count: int = 8) -> Liveness:
    """So many time-outs of a candidate that told its load, or whatever came before."""
    heard = Liveness(timeout, {}, lambda *_: None)
    late = ExchangeDone("candidate", "measure", "timeout-read")
    for event in (StageStarted(CELL, "candidate", "measure", 0, 16, 8), *before, *[late] * count):
        heard(event)
    return heard


@pytest.mark.parametrize(
    ("heard", "silent"),
    [
        (timed_out(0.0, LOAD), 8),  # nothing came for half of no time at all
        (timed_out(1000.0, LOAD), 0),  # it said how busy it was: a hang
        (timed_out(0.0), 0),  # without metrics nobody can tell
        (timed_out(0.0, ExchangeDone("candidate", "measure", "ok")), 0),
        (timed_out(0.0, LOAD, count=7), 7),
    ],
)
def test_a_process_that_stands_still_is_told_from_one_that_hangs(heard: Liveness, silent: int) -> None:
    one = dead("timeout-read", 40).model_copy(update={"key": CELL})
    assert heard.silences[CELL, "candidate"] == silent
    assert bool(absent(one, heard.silences)) == (silent >= 8)


def test_a_leg_in_which_the_server_began_anew_fails_for_nothing_but_what_answers_showed() -> None:
    fine = gate_cell(8, 64, reference=(0, 64), status="fail")
    anew = Reason(code="restarted", cell=fine.key, message="the candidate was restarted in mid-run")
    lost = Reason(code="service-failures", cell=fine.key, message="8 requests failed only on the candidate")
    for findings, verdict in (((), "inconclusive"), ((group(bleed(), breaks_gate=True),), "fail")):
        told = summary("fail", 1, (lost, anew), (fine,), findings=findings)
        made = counted(told, began(1), boot=2, active=60.0, first_request=0, ended="2026-11-29T22:01:00+00:00")
        assert (made.verdict, made.cells[0].counted) == (verdict, False)
        assert made.reasons == ("restarted: the candidate was restarted in mid-run",)
