"""Whose requests a server runs while this run has none in flight: somebody else's, its own that leak, or nobody's."""

from __future__ import annotations

from fuzzer.history.records import Counters, Stage
from fuzzer.judge.company import Company
from tests.oracles.factory import exchange

END = ("candidate", "candidate")


def stage(before: tuple[float, float], after: tuple[float, float]) -> Stage:
    """A stage with the running requests and generated tokens around it."""
    counters = [Counters(at_ns=0, running=running, generated_tokens=made) for running, made in (before, after)]
    return Stage(
        key="k", cell="c", arm="candidate", endpoint="candidate", phase="measure", block=0, concurrency=8,
        share_at_n=1, min_in_flight=8, max_in_flight=8, seconds=1, before=counters[0], after=counters[1],
    )  # fmt: skip


def test_what_runs_and_generates_between_stages_is_somebody_elses() -> None:
    company = Company()
    assert company.stage(stage((0, 0), (0, 100))) == 0
    assert company.stage(stage((2, 130), (1, 300))) == 2
    assert company.seen == {END: 2}


def test_a_gauge_that_stands_still_and_tokens_that_are_counted_late_are_nobodys() -> None:
    company = Company()
    told = [stage((0, 0), (3, 100)), stage((3, 100), (0, 200)), stage((0, 210), (0, 300))]
    assert [company.stage(one) for one in told] == [0, 0, 0]
    assert not company.seen


def test_what_was_broken_off_may_run_on() -> None:
    company = Company()
    company.stage(stage((0, 0), (0, 100)))
    company.exchange(exchange("p000000", "", outcome="refused"))
    assert not company.broken
    company.exchange(exchange("p000000", "", outcome="cancelled"))
    assert company.stage(stage((2, 130), (2, 300))) == 0
    assert (company.broken, company.seen) == ({END}, {})


def test_an_engine_that_began_anew_tells_nothing_of_before() -> None:
    company = Company()
    company.stage(stage((0, 0), (0, 100)))
    assert company.stage(stage((1, 20), (0, 300))) == 0
