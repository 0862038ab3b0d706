"""Measuring in parallel: processes that keep a pair of servers each, and take one job after another."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from fuzzer.errors import UnavailableError
from fuzzer.power.jobs import Job, Row
from fuzzer.power.measure import Bench, measure
from fuzzer.power.program import program_state
from fuzzer.traffic.pauses import shorten_pauses

_AHEAD = 2  # jobs handed out beyond those that are being measured
_DIED = (
    "a process that was measuring has died, killed perhaps because memory is short; the finished runs are kept: run "
    "the same command again to go on, with fewer --jobs if it happens again"
)


class _Worker:
    """What a process keeps from job to job: an event loop, and the servers that live in it."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._bench = Bench()

    def run(self, job: Job) -> Row | None:
        """Measure in a directory of its own; servers that a failure left behind are not used again."""
        directory = Path(tempfile.mkdtemp(prefix="run-"))
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


def _begin(directory: str) -> None:
    tempfile.tempdir = directory  # the parent's, which removes it whatever becomes of this process
    program_state()  # before anyone edits what this process runs
    shorten_pauses()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_end_with_parent, args=(directory,), daemon=True).start()


def _end_with_parent(directory: str) -> None:
    """A parent that is killed tells nobody; its workers would go on measuring, for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        shutil.rmtree(directory, ignore_errors=True)  # as the parent would have done
        os._exit(1)


def measured(jobs: Sequence[Job], processes: int, run: Callable[[Job], Row | None] = _run) -> Generator[Row]:
    """The rows of the jobs, as they come; a job that was interrupted has none.

    The first error of a job ends it all, after the jobs that were handed out have given their rows. UnavailableError
    if a process dies, which ends the others.
    """
    context = multiprocessing.get_context("spawn")
    waiting = iter(jobs)
    pending: set[Future[Row | None]] = set()
    failed: BaseException | None = None
    with (
        tempfile.TemporaryDirectory(prefix="specfuzz-power-", ignore_cleanup_errors=True) as directory,
        ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(directory,)) as pool,
    ):
        try:
            while True:
                while failed is None and len(pending) < processes + _AHEAD and (job := next(waiting, None)) is not None:
                    try:
                        pending.add(pool.submit(run, job))
                    except BrokenProcessPool as error:
                        failed = error
                if not pending:
                    break
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    if (wrong := future.exception()) is not None:
                        failed = failed or wrong
                    elif (row := future.result()) is not None:
                        yield row
        finally:
            pool.shutdown(cancel_futures=True)  # waits for what is under way, which still writes to the directory
    if isinstance(failed, BrokenProcessPool):
        raise UnavailableError(_DIED) from failed
    if failed is not None:
        raise failed
