"""The driver: sends a stage's requests as its schedule says, and records every one before it goes.

A judged request is never retried. Nothing here raises for what a server does; cancellation leaves the requests in
flight journalled as sent and not done, which makes them *lost* when the run is resumed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

import anyio

from fuzzer.events import Event, LoadSeen, StageDone, StageStarted
from fuzzer.history.records import AnyRecord, Counters, Exchange, Recalled, Stage
from fuzzer.history.schedule import Scheduled
from fuzzer.plan import Sampling
from fuzzer.traffic.ledger import TOP_LOGPROBS as TOP_LOGPROBS
from fuzzer.traffic.ledger import Ledger
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.slots import ReleaseRun
from fuzzer.traffic.stage import Line as Line
from fuzzer.traffic.stage import Means
from fuzzer.traffic.stage import Prompts as Prompts
from fuzzer.traffic.stage import StageSpec as StageSpec
from fuzzer.wire.clock import now_ns

SAMPLE_SECONDS = 0.25  # how often a server is asked for its running requests during a stage
SETTLE_SECONDS = 2.0  # how long a server may take to notice that the last request is over
SETTLE_STEP = 0.05
WATCH_SECONDS = 0.5  # how long a server that says it is busy is watched before a stage: does it generate?


class Driver:
    """Drives stages one after another; what is already in the memo is not sent again."""

    def __init__(
        self,
        *,
        record: Callable[[AnyRecord], None],
        emit: Callable[[Event], None],
        memo: Memo,
        prompts: Prompts,
        sampling: Sampling,
    ) -> None:
        self.means = Means(record, emit, memo, prompts, sampling)

    async def drive(self, spec: StageSpec, line: Line) -> list[Exchange]:
        """Send the stage and return its judged exchanges in schedule order (all others are only recorded)."""
        memo = self.means.memo
        if (scheduled := memo.schedules.get(spec.key)) is not None:
            spec = dataclasses.replace(spec, releases=scheduled.releases)
        if spec.key in memo.stages:
            keys = (f"{spec.key}/{index}" for index in spec.victims)
            return [memo.exchanges[key] for key in keys if key in memo.exchanges]
        await line.client.patience.rest()
        self.means.emit(StageStarted(spec.cell, spec.arm, spec.phase, spec.block, len(spec.victims), spec.concurrency))
        if scheduled is None:
            journalled = Scheduled(key=spec.key, cell=spec.cell, block=spec.block, releases=spec.releases)
            self.means.record(journalled)
        return await _StageRun(spec, line, self.means).run()

    def remember(self, answers: Iterable[Recalled]) -> None:
        """Take answers that earlier runs got for exchanges of the coming stage; those already known stay."""
        means = self.means
        for answer in answers:
            if answer.sent.key not in means.memo.exchanges:
                means.prompts.note(means.prompts.find(answer.sent.prompt), means.record)
                means.record(answer)
                means.memo.add(answer)


class _StageRun:
    """One stage while it is driven: its releases one after another, and the server's own counts beside them."""

    def __init__(self, spec: StageSpec, line: Line, means: Means) -> None:
        self.spec = spec
        self.line = line
        self.means = means
        self.ledger = Ledger(spec, line, means)
        self.running: list[float] = []
        self.waiting: float | None = None
        self.usage: float | None = None
        self.current: ReleaseRun | None = None

    async def run(self) -> list[Exchange]:
        before = await self._watched()
        started = now_ns()
        async with anyio.create_task_group() as tasks:
            if before is not None and before.running is not None:
                tasks.start_soon(self._sample)
            first = 0
            for number, release in enumerate(self.spec.releases):
                self.current = ReleaseRun(release, number, first, self.ledger)
                await self.current.run()
                first += len(list(release.sends))
            tasks.cancel_scope.cancel()
        seconds = (now_ns() - started) / 1e9
        after = await self._settled()
        version = await self.line.client.version() if self.spec.phase == "measure" else None
        stage = self._stage(seconds, before, after, version)
        self.means.record(stage)
        self.means.emit(StageDone(stage))
        return self.ledger.judged

    async def _sample(self) -> None:
        """What the server says is running, taken only where N were in flight before and after it was asked."""
        while True:
            await anyio.sleep(SAMPLE_SECONDS)
            full = self._full()
            counters = await self.line.client.counters()
            if counters is None:
                continue
            self.means.emit(LoadSeen(self.spec.arm, counters.running, counters.waiting, counters.pool_usage))
            if counters.running is not None and full and self._full():
                self.running.append(counters.running)
                self.waiting = max(self.waiting or 0.0, counters.waiting or 0.0)
            if counters.pool_usage is not None and self.line.traits.kv_tokens is not None:
                self.usage = max(self.usage or 0.0, counters.pool_usage)

    def _full(self) -> bool:
        return self.current is not None and self.current.gauge.count >= self.spec.concurrency

    async def _watched(self) -> Counters | None:
        """The server's counters before anything is sent; what it generates meanwhile is for somebody else."""
        first = last = await self.line.client.counters()
        with anyio.move_on_after(WATCH_SECONDS):
            while first is not None and last is not None and last.running and not self.ledger.others:
                await anyio.sleep(SETTLE_STEP)
                last = await self.line.client.counters() or last
                if (last.generated_tokens or 0) > (first.generated_tokens or 0):
                    self.ledger.others = int(last.running or 0)
        return last

    async def _settled(self) -> Counters | None:
        """The server's counters once it has nothing left to run, or what it says after two seconds of waiting."""
        after = await self.line.client.counters()
        with anyio.move_on_after(SETTLE_SECONDS):
            while after is not None and after.running:
                await anyio.sleep(SETTLE_STEP)
                after = await self.line.client.counters() or after
        if after is not None and after.running:
            self.ledger.still_running = int(after.running)
        return after

    def _stage(self, seconds: float, before: Counters | None, after: Counters | None, version: str | None) -> Stage:
        spec, ledger = self.spec, self.ledger
        return Stage(
            key=spec.key,
            cell=spec.cell,
            arm=spec.arm,
            endpoint=self.line.name,
            phase=spec.phase,
            block=spec.block,
            pass_index=spec.pass_index,
            concurrency=spec.concurrency,
            share_at_n=ledger.share,
            min_in_flight=ledger.least,
            max_in_flight=ledger.most,
            seconds=seconds,
            histogram={count: ns / 1e9 for count, ns in sorted(ledger.histogram.items())},
            server_running=tuple(self.running),
            server_waiting=self.waiting,
            pool_usage=self.usage,
            deviations=ledger.deviations(),
            version=version,
            before=before,
            after=after,
        )
