"""One release while it is driven: its slots, who is in flight, what is still to come, and the moments of sending."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint

from fuzzer.history.records import Received
from fuzzer.history.schedule import Release
from fuzzer.traffic.gauge import Gauge
from fuzzer.traffic.ledger import Job, Ledger
from fuzzer.wire.clock import now_ns
from fuzzer.wire.pace import Pace

MS = 1_000_000  # nanoseconds
JOURNAL_NS = 400_000  # what journalling one request before it leaves may cost
CONNECT_SECONDS = 0.5  # so long a barrier waits for connections that do not come
PREPARE_NS = 10 * MS  # so long before its time a request is made ready and its connection opened
SPIN_NS = 2 * MS  # timers wake up to a millisecond late: the last stretch is waited for in small steps

_Chain = deque[Job]


async def until(due: int) -> None:
    """Wait for a moment, to a small part of a millisecond on a quiet machine."""
    while (left := due - now_ns()) > 0:
        if left > SPIN_NS:
            await anyio.sleep((left - SPIN_NS) / 1e9)
        else:
            await checkpoint()


class _Barrier:
    """Counts the requests that stand ready, with open connections, until all may leave together."""

    def __init__(self, expected: int) -> None:
        self.all_ready = anyio.Event()
        self.opened = anyio.Event()
        self._missing = expected

    def arrive(self) -> None:
        """One more stands ready, or never will."""
        self._missing -= 1
        if self._missing <= 0:
            self.all_ready.set()


class ReleaseRun:
    """Drives one release; ``gauge`` holds who is in flight."""

    def __init__(self, release: Release, number: int, first: int, ledger: Ledger) -> None:
        self.release = release
        self.gauge = Gauge(release.width)
        self._ledger = ledger
        self._round = None if release.keep_full else number
        self._left = 0
        self._waiting: deque[_Chain] = deque()
        self._timed: list[tuple[float, _Chain]] = []
        self._take(first)

    async def run(self) -> None:
        """Send the release, and come back when nothing of it is in flight any more."""
        if not self._left:
            return
        free = self.release.width - len(self._timed)
        chains = [self._waiting.popleft() for _ in range(min(free, len(self._waiting)))]
        chains += [deque([self._filler()]) for _ in range(free - len(chains))]
        async with anyio.create_task_group() as tasks:
            start = await self._together(tasks, chains)
            for at_ms, chain in self._timed:
                tasks.start_soon(self._at, start + round(at_ms * MS), chain)
        self._ledger.unsent += sum(len(chain) for chain in self._waiting)
        self._ledger.account(self.gauge, keep_full=self.release.keep_full)

    def _take(self, index: int) -> None:
        """What of the release has not been sent by an earlier process."""
        for chain in self.release.chains:
            jobs: _Chain = deque()
            before = ""
            for send in chain:
                judged = send.role == "victim"
                if not self._ledger.known(index, judged=judged):
                    jobs.append(self._ledger.job(index, self._round, send, self.release.width, before))
                    self._left += judged
                before = self._ledger.key(index)
                index += 1
            if not jobs:
                continue
            if chain[0].at_ms:
                self._timed.append((chain[0].at_ms, jobs))
            else:
                self._waiting.append(jobs)

    def _filler(self) -> Job:
        return self._ledger.filler(self._round, self.release.width)

    # --- the moments of sending

    async def _together(self, tasks: TaskGroup, chains: Sequence[_Chain]) -> int:
        """Let the first of each chain go at one moment; the moment."""
        if not chains:
            return now_ns()
        barrier = _Barrier(len(chains))
        jobs = [chain.popleft() for chain in chains]
        paces = [Pace(hold=True, ready=barrier.arrive) for _ in jobs]
        for job, chain, pace in zip(jobs, chains, paces, strict=True):
            tasks.start_soon(self._first_of, job, chain, pace, barrier)
        with anyio.move_on_after(CONNECT_SECONDS):
            await barrier.all_ready.wait()
        due = now_ns() + JOURNAL_NS * len(jobs)
        for job, flight in zip(jobs, self.gauge.enter([job.key for job in jobs], due), strict=True):
            self._ledger.sent(job, flight, due, due)
        await until(due)
        for pace in paces:
            pace.release()
        barrier.opened.set()
        return due

    async def _first_of(self, job: Job, chain: _Chain, pace: Pace, barrier: _Barrier) -> None:
        received = await self._ledger.ask(job, pace)
        if not barrier.opened.is_set():  # no connection: it counts as sent when the others leave
            barrier.arrive()
            await barrier.opened.wait()
        await self._ended(job, chain, received, pace)

    async def _at(self, due: int, chain: _Chain) -> None:
        """Let a chain begin at its time; a slot has been kept for it."""
        await until(due - PREPARE_NS)
        if self._left or not self.release.keep_full:
            await self._timely(chain.popleft(), chain, due)

    async def _timely(self, job: Job, chain: _Chain, due: int) -> None:
        """Send one request at its time, journalled at the moment when it leaves."""
        pace, gone = Pace(hold=True), anyio.Event()

        async def leave() -> None:
            await until(due)
            now = now_ns()
            self._ledger.sent(job, self.gauge.enter([job.key], now)[0], now, due)
            pace.release()
            gone.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            received = await self._ledger.ask(job, pace)
            await gone.wait()  # without a connection it counts as sent at its time
        await self._ended(job, chain, received, pace)

    # --- what a slot does next

    async def _ended(self, job: Job, chain: _Chain, received: Received, pace: Pace) -> None:
        """A slot's request has ended: the next takes its place at the same moment, as long as there is one."""
        while True:
            if received.outcome == "cancelled":
                await checkpoint()  # the closing of the connection goes out before the next request
            self._left -= job.judged
            now = now_ns()
            self.gauge.miss(job.key, pace.written_ns)
            following = self._following(job, chain)
            if following is None or following.send.at_ms:
                self._ledger.done(job, self.gauge.leave(job.key, now), received, pace)
                if following is not None:
                    await self._timely(following, chain, now + round(following.send.at_ms * MS))
                elif not self._left:
                    self.gauge.stop(now)
                return
            ended, flight = self.gauge.hand_over(job.key, following.key, now)
            self._ledger.sent(following, flight, now, None)
            settle = _Once(partial(self._ledger.done, job, ended, received, pace))
            job, pace = following, Pace(left=settle)  # what has ended is booked once the next is on its way
            try:
                received = await self._ledger.ask(job, pace)
            finally:
                settle()

    def _following(self, job: Job, chain: _Chain) -> Job | None:
        if not self.release.keep_full:
            return chain.popleft() if chain else None
        if not self._left:
            self._ledger.unsent += len(chain)
            chain.clear()
            return None
        if not chain and self._waiting:
            self._ledger.early_ends += job.phase == "neighbour"
            chain.extend(self._waiting.popleft())
        return chain.popleft() if chain else self._filler()


class _Once:
    """A call that is made the first time only."""

    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()
