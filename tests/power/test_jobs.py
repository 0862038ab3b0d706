from __future__ import annotations

import pytest

from fuzzer.errors import UsageError
from fuzzer.power.jobs import Job, chosen, clean_jobs, fault_jobs, missing, named_schedules
from fuzzer.shapes import SHAPES
from fuzzer.sim.faults import FAULTS

from .factory import row


def test_a_fault_that_needs_a_schedule_is_also_looked_for_without_it() -> None:
    jobs = list(fault_jobs(["stale-slot", "collapse"], range(2)))
    assert [(job.purpose, job.fault, job.schedule, job.seed) for job in jobs] == [
        ("find", "stale-slot", "burst-solo", 0),
        ("plain", "stale-slot", "closed-loop", 0),
        ("find", "collapse", "closed-loop", 0),
        ("find", "stale-slot", "burst-solo", 1),
        ("plain", "stale-slot", "closed-loop", 1),
        ("find", "collapse", "closed-loop", 1),
    ]
    assert {job.rate for job in jobs} == {FAULTS["stale-slot"].default_rate, FAULTS["collapse"].default_rate}


def test_a_closed_loop_is_given_fewer_seeds_than_the_schedule_that_finds_the_fault() -> None:
    jobs = list(fault_jobs(["stale-slot"], range(5, 64)))
    assert [job.seed for job in jobs if job.purpose == "find"] == list(range(5, 64))
    assert [job.seed for job in jobs if job.purpose == "plain"] == list(range(5, 25))


def test_a_fault_keeps_its_concurrency_under_schedules_that_are_given() -> None:
    jobs = list(fault_jobs(["graph-padding"], [7], ["rounds", "replicas"]))
    assert [(job.schedule, job.concurrency) for job in jobs] == [("rounds", 5), ("replicas", 5)]


def test_clean_runs_are_of_the_default_gate_and_of_each_schedule() -> None:
    jobs = list(clean_jobs(3, 1))
    assert sum(job.schedule == "default-gate" for job in jobs) == 3
    assert [job.schedule for job in jobs if job.schedule != "default-gate"] == list(SHAPES)


def test_names_are_checked() -> None:
    assert chosen("all") == list(FAULTS)
    assert chosen("none") == []
    assert chosen("collapse, hang") == ["collapse", "hang"]
    assert named_schedules("all") == list(SHAPES)
    assert named_schedules(None) == []
    with pytest.raises(UsageError, match="gremlin"):
        chosen("collapse,gremlin")
    with pytest.raises(UsageError, match="storm"):
        named_schedules("storm")


def test_what_was_measured_is_not_measured_again() -> None:
    rows = [*(row(seed=seed) for seed in range(3)), row("collapse")]
    jobs = [*fault_jobs(["stale-slot"], range(4)), *fault_jobs(["collapse"], range(1))]
    assert missing(jobs, rows) == [
        *(job for job in fault_jobs(["stale-slot"], range(4)) if job.purpose == "plain" or job.seed == 3)
    ]


def test_a_row_of_another_program_state_still_answers_its_job() -> None:
    (job,) = fault_jobs(["collapse"], range(1))
    assert missing([job], [row("collapse", program="0123456789ab")]) == []


def test_another_rate_is_another_job() -> None:
    job = Job("find", "collapse", "closed-loop", 8, 0, 0.5)
    assert missing([job], [row("collapse")]) == [job]
