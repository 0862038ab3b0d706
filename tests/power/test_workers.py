"""Processes that measure, with stand-ins for the measurement: what is left when one of them dies or fails."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from fuzzer.errors import UnavailableError
from fuzzer.power.jobs import Job, Row, fault_jobs
from fuzzer.power.workers import measured

from .factory import row


def _told(job: Job) -> Row:
    tempfile.mkdtemp()  # a run's directory, which a process that is killed leaves behind
    return row(job.fault, job.seed)


def _killed_at_two(job: Job) -> Row:
    told = _told(job)
    if job.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return told


def _wrong_at_one(job: Job) -> Row:
    if job.seed == 1:
        raise ValueError("the second run went wrong")
    return _told(job)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process makes its temporary directories."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _seeds(rows: Iterable[Row], into: list[int]) -> None:
    into.extend(one.seed for one in rows)


def test_a_process_that_is_killed_ends_it_with_the_finished_rows_and_a_plain_sentence(temporary: Path) -> None:
    rows = measured(list(fault_jobs(["collapse"], range(9))), 1, _killed_at_two)
    seeds = [next(rows).seed]
    assert len(list(temporary.iterdir())) == 1
    for process in multiprocessing.active_children():
        process.join(60)  # so that the second row and the death are told in one breath
    with pytest.raises(UnavailableError, match=r"has died, .*memory is short.* run the same command again to go on"):
        _seeds(rows, seeds)
    assert seeds == [0, 1]
    assert list(temporary.iterdir()) == []


def test_an_error_of_one_run_costs_no_row_of_another_that_was_begun(temporary: Path) -> None:
    seeds: list[int] = []
    with pytest.raises(ValueError, match="the second run went wrong"):
        _seeds(measured(list(fault_jobs(["collapse"], range(9))), 1, _wrong_at_one), seeds)
    assert {0, 2} <= set(seeds) < set(range(9))
    assert list(temporary.iterdir()) == []


def test_nothing_temporary_is_left_when_it_is_done_or_given_up(temporary: Path) -> None:
    seeds: list[int] = []
    _seeds(measured(list(fault_jobs(["collapse"], range(4))), 2, _told), seeds)
    assert sorted(seeds) == [0, 1, 2, 3]
    assert list(temporary.iterdir()) == []
    given_up = measured(list(fault_jobs(["collapse"], range(4))), 1, _told)
    next(given_up)
    given_up.close()
    assert list(temporary.iterdir()) == []
