"""Whose requests a server runs before a stage: somebody else's, or what this run has left there itself."""

from __future__ import annotations

from fuzzer.history.records import Counters, Stage
from fuzzer.history.schedule import Deviations
from fuzzer.judge.company import Company
from tests.oracles.factory import exchange

END = ("candidate", "candidate")


def stage(others: int, before: float = 0, after: float = 0) -> Stage:
    """A stage before which so many ran that were not of it; ``before`` and ``after`` it so many ran at all."""
    counters = [Counters(at_ns=0, running=running) for running in (before or others, after)]
    return Stage(
        key="k", cell="c", arm="candidate", endpoint="candidate", phase="measure", block=0, concurrency=8,
        share_at_n=1, min_in_flight=8, max_in_flight=8, seconds=1, before=counters[0], after=counters[1],
        deviations=Deviations(others=others),
    )  # fmt: skip


def test_what_runs_before_a_stage_is_somebody_elses() -> None:
    company = Company()
    assert [company.stage(stage(others)) for others in (0, 2, 1)] == [0, 2, 1]
    assert company.seen == {END: {"c": 2}}


def test_what_a_stage_left_behind_may_run_before_the_next_until_nothing_runs() -> None:
    company = Company()
    company.exchange(exchange("p000000", "", outcome="cancelled"))
    assert company.stage(stage(0, after=1)) == 0
    assert company.stage(stage(1, after=1)) == 0
    assert not company.seen
    assert company.stage(stage(0)) == 0
    assert company.stage(stage(1)) == 1


def test_what_is_broken_off_in_a_stage_did_not_run_before_it() -> None:
    company = Company()
    company.exchange(exchange("p000000", "", outcome="timeout-total"))
    assert company.stage(stage(1, after=1)) == 1


def test_what_was_lost_with_its_process_may_run_before_the_next_stage_already() -> None:
    company = Company()
    company.exchange(exchange("p000000", lost=True))
    assert company.stage(stage(1, after=1)) == 0


def test_what_a_server_refused_leaves_nothing_behind() -> None:
    company = Company()
    for outcome in ("refused", "overloaded", "server-error", "connect", "ok"):
        company.exchange(exchange("p000000", "", outcome=outcome))
    company.stage(stage(0, after=1))
    assert company.stage(stage(1)) == 1
