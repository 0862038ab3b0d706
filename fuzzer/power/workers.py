"""Measuring in parallel: processes that keep a pair of servers each, and take one job after another."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

from fuzzer.power.jobs import Job, Row
from fuzzer.power.measure import Bench, measure
from fuzzer.traffic.pauses import shorten_pauses

_AHEAD = 2  # jobs handed out beyond those that are being measured


class _Worker:
    """What a process keeps from job to job: an event loop, and the servers that live in it."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._bench = Bench()

    def run(self, job: Job) -> Row | None:
        """Measure in a directory of its own; servers that a failure left behind are not used again."""
        directory = Path(tempfile.mkdtemp(prefix="specfuzz-power-"))
        try:
            return self._runner.run(measure(job, self._bench, directory))
        except BaseException:
            self._runner.run(self._bench.close())
            raise
        finally:
            shutil.rmtree(directory, ignore_errors=True)


_worker: _Worker | None = None


def _run(job: Job) -> Row | None:
    global _worker
    if _worker is None:
        _worker = _Worker()
    return _worker.run(job)


def _begin() -> None:
    shorten_pauses()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed tells nobody; its workers would go on measuring, for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def measured(jobs: Sequence[Job], processes: int) -> Iterator[Row]:
    """The rows of the jobs, as they come; a job that was interrupted has none.

    The first error of a job ends it all, after the jobs that are under way.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin) as pool:
        waiting = iter(jobs)
        pending: set[Future[Row | None]] = set()
        try:
            while True:
                while len(pending) < processes + _AHEAD and (job := next(waiting, None)) is not None:
                    pending.add(pool.submit(_run, job))
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    row = future.result()
                    if row is not None:
                        yield row
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
