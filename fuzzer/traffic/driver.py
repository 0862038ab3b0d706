"""The driver: sends a stage's requests so that exactly N are in flight, and records every one before it goes.

A judged request is never retried. Nothing here raises for what a server does; cancellation leaves the requests in
flight journalled as sent and not done, which makes them *lost* when the run is resumed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import anyio

from fuzzer.events import Event, ExchangeDone, StageStarted
from fuzzer.history.records import (
    AnyRecord,
    Arm,
    Counters,
    Done,
    Exchange,
    Phase,
    Prompt,
    Recalled,
    Received,
    Sent,
    Stage,
)
from fuzzer.plan import Sampling
from fuzzer.traffic.gauge import Flight, Gauge
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.schedules import Release
from fuzzer.wire.client import Client
from fuzzer.wire.clock import now_ns
from fuzzer.wire.params import Params

SAMPLE_SECONDS = 0.25  # how often a server is asked for its running requests during a stage
TOP_LOGPROBS = 5
FILLER_TRIES = 100


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One drive phase on one endpoint; ``key`` is the same for the same plan and seed.

    ``part`` numbers the stages of a pass that comes in several; ``max_tokens`` None means the plan's.
    """

    cell: str
    arm: Arm
    phase: Phase
    block: int
    concurrency: int
    releases: tuple[Release, ...]
    pass_index: int = 0
    part: int = 0
    logprobs: bool = False
    max_tokens: int | None = None

    @property
    def key(self) -> str:
        """The identity of the stage in its run."""
        part = f".{self.part}" if self.part else ""
        return f"{self.cell}#{self.block}/{self.phase}{self.pass_index}{part}/{self.arm}"


@dataclass(slots=True)
class Line:
    """An endpoint ready to be driven, and how often it has been sent each prompt."""

    name: str
    client: Client
    exposures: Counter[str] = field(default_factory=Counter)


class Prompts:
    """Where the driver takes prompts by id, and fresh filler; each is recorded at its first use."""

    def __init__(
        self,
        find: Callable[[str], Prompt],
        filler: Callable[[int], Prompt],
        memo: Memo,
        unfit: Callable[[Prompt], bool] = lambda _: False,
    ) -> None:
        self._find = find
        self._filler = filler
        self._unfit = unfit
        self._known = memo.prompts
        self._fillers = memo.fillers

    def take(self, prompt_id: str, record: Callable[[AnyRecord], None]) -> Prompt:
        """The prompt of that id."""
        prompt = self._find(prompt_id)
        if prompt_id not in self._known:
            self._known.add(prompt_id)
            record(prompt)
        return prompt

    def fresh_filler(self, record: Callable[[AnyRecord], None]) -> Prompt:
        """A filler prompt that this run has not used, of a kind that the model can do: a runaway would outlast all."""
        for _ in range(FILLER_TRIES):
            prompt = self._filler(self._fillers)
            self._fillers += 1
            if not self._unfit(prompt):
                break
        record(prompt)
        return prompt


@dataclass(frozen=True, slots=True)
class _Job:
    key: str
    index: int
    round: int | None
    prompt: Prompt
    phase: Phase
    width: int


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
        self._record = record
        self._emit = emit
        self._memo = memo
        self._prompts = prompts
        self._sampling = sampling

    async def drive(self, spec: StageSpec, line: Line) -> list[Exchange]:
        """Send the stage and return its measured exchanges in schedule order (filler is only recorded)."""
        if spec.key in self._memo.stages:
            return [self._memo.exchanges[key] for _, key, _ in _slots(spec) if key in self._memo.exchanges]
        self._emit(StageStarted(spec.cell, spec.arm, spec.phase, spec.block, len(list(_slots(spec))), spec.concurrency))
        run = _StageRun(spec, line, self._record, self._emit, self._prompts, self._sampling, self._memo)
        return await run.run()


    def remember(self, answers: Iterable[Recalled]) -> None:
        """Take answers that earlier runs got for exchanges of the coming stage; those already known stay."""
        for answer in answers:
            key = answer.sent.key
            if key not in self._memo.exchanges:
                self._prompts.take(answer.sent.prompt, self._record)
                self._record(answer)
                self._memo.add(answer)


def _slots(spec: StageSpec) -> Iterator[tuple[int, str, str]]:
    index = 0
    for release in spec.releases:
        for prompt in release.prompts:
            yield index, f"{spec.key}/{index}", prompt
            index += 1


class _StageRun:
    """The state of one stage while it is driven."""

    def __init__(
        self,
        spec: StageSpec,
        line: Line,
        record: Callable[[AnyRecord], None],
        emit: Callable[[Event], None],
        prompts: Prompts,
        sampling: Sampling,
        memo: Memo,
    ) -> None:
        self.spec = spec
        self.line = line
        self.record = record
        self.emit = emit
        self.prompts = prompts
        self.sampling = sampling
        self.memo = memo
        self.exchanges: dict[int, Exchange] = {}
        self.histogram: Counter[int] = Counter()
        self.shares: list[float] = []
        self.least = self.most = 0
        self.running: list[float] = []
        self.queue: deque[_Job] = deque()
        self.left = 0
        self.gauge = Gauge(1)
        self.fillers = 0

    async def run(self) -> list[Exchange]:
        before = await self.line.client.counters()
        started = now_ns()
        async with anyio.create_task_group() as tasks:
            if before is not None and before.running is not None:
                tasks.start_soon(self._sample)
            index = 0
            for number, release in enumerate(self.spec.releases):
                await self._release(number, index, release)
                index += len(release.prompts)
            tasks.cancel_scope.cancel()
        seconds = (now_ns() - started) / 1e9
        after = await self.line.client.counters()
        self.record(self._stage(seconds, before, after))
        return [self.exchanges[index] for index in sorted(self.exchanges)]

    async def _release(self, number: int, first: int, release: Release) -> None:
        round_number = None if release.keep_full else number
        self.queue.clear()
        for offset, prompt_id in enumerate(release.prompts):
            key = f"{self.spec.key}/{first + offset}"
            if (known := self.memo.exchanges.get(key)) is not None:
                self.exchanges[first + offset] = known
                continue
            prompt = self.prompts.take(prompt_id, self.record)
            self.queue.append(_Job(key, first + offset, round_number, prompt, self.spec.phase, release.width))
        if not self.queue:
            return
        self.left = len(self.queue)
        self.gauge = Gauge(release.width)
        initial = [self._next(release, round_number, fill=True) for _ in range(release.width)]
        jobs = [job for job in initial if job is not None]
        now = now_ns()
        flights = self.gauge.enter([job.key for job in jobs], now)
        async with anyio.create_task_group() as workers:
            for job, flight in zip(jobs, flights, strict=True):
                self._sent(job, flight, now)
                workers.start_soon(self._work, job, release, round_number)
        self._account(release)

    def _next(self, release: Release, round_number: int | None, *, fill: bool) -> _Job | None:
        """The next measured prompt, else filler while measured ones are in flight, else nothing."""
        if self.queue:
            return self.queue.popleft()
        if not fill or not self.left:
            return None
        self.fillers += 1
        prompt = self.prompts.fresh_filler(self.record)
        key = f"{self.spec.key}/{prompt.id}"
        return _Job(key, -self.fillers, round_number, prompt, "filler", release.width)

    async def _work(self, job: _Job, release: Release, round_number: int | None) -> None:
        """Hold one slot: when a request ends, the next takes its place at the same moment."""
        while True:
            received = await self.line.client.ask(job.prompt.messages, self._params(job))
            if job.phase != "filler":
                self.left -= 1
            now = now_ns()
            following = self._next(release, round_number, fill=True) if release.keep_full else None
            if following is None:
                self._done(job, self.gauge.leave(job.key, now), received)
                if not self.left:
                    self.gauge.stop(now)
                return
            ended, flight = self.gauge.hand_over(job.key, following.key, now)
            self._done(job, ended, received)
            self._sent(following, flight, now)
            job = following

    def _params(self, job: _Job) -> Params:
        return Params(
            max_tokens=self._limit(job.prompt),
            stream=self.sampling.stream,
            logprobs=TOP_LOGPROBS if self.spec.logprobs else 0,
            cache=self.sampling.cache,
            salt=job.key,
            seed=self.sampling.seed,
            thinking=job.prompt.wants.thinking or self.sampling.thinking,
            request_id=job.key,
            wants=job.prompt.wants,
        )

    def _limit(self, prompt: Prompt) -> int:
        return self.spec.max_tokens or prompt.wants.max_tokens or self.sampling.tokens

    def _sent(self, job: _Job, flight: Flight, now: int) -> None:
        exposure = self.line.exposures[job.prompt.id]
        self.line.exposures[job.prompt.id] += 1
        sent = Sent(
            key=job.key,
            arm=self.spec.arm,
            endpoint=self.line.name,
            cell=self.spec.cell,
            phase=job.phase,
            block=self.spec.block,
            pass_index=self.spec.pass_index,
            index=job.index,
            round=job.round,
            prompt=job.prompt.id,
            concurrency=job.width,
            exposure=exposure,
            cache=self.sampling.cache,
            stream=self.sampling.stream,
            logprobs=self.spec.logprobs,
            max_tokens=self._limit(job.prompt),
            sent_ns=now,
            in_flight=flight.at_send,
        )
        self.record(sent)
        self.exchanges[job.index] = Exchange(sent=sent, done=None)

    def _done(self, job: _Job, flight: Flight, received: Received) -> None:
        done = Done(key=job.key, min_in_flight=flight.least, max_in_flight=flight.most, received=received)
        self.record(done)
        sent = self.exchanges.pop(job.index).sent
        if job.phase != "filler":
            self.exchanges[job.index] = Exchange(sent=sent, done=done)
            self.least = min(self.least or flight.least, flight.least)
            self.most = max(self.most, flight.most)
        self.emit(ExchangeDone(self.spec.arm, job.phase, received.outcome))

    def _account(self, release: Release) -> None:
        self.histogram.update(self.gauge.histogram)
        self.shares.append(self.gauge.share() if release.keep_full else float(self.gauge.peak == release.width))

    async def _sample(self) -> None:
        while True:
            await anyio.sleep(SAMPLE_SECONDS)
            counters = await self.line.client.counters()
            if counters is not None and counters.running is not None:
                self.running.append(counters.running)

    def _stage(self, seconds: float, before: Counters | None, after: Counters | None) -> Stage:
        return Stage(
            key=self.spec.key,
            cell=self.spec.cell,
            arm=self.spec.arm,
            endpoint=self.line.name,
            phase=self.spec.phase,
            block=self.spec.block,
            pass_index=self.spec.pass_index,
            concurrency=self.spec.concurrency,
            share_at_n=sum(self.shares) / len(self.shares) if self.shares else 1.0,
            min_in_flight=self.least,
            max_in_flight=self.most,
            seconds=seconds,
            histogram={count: ns / 1e9 for count, ns in sorted(self.histogram.items())},
            server_running=tuple(self.running),
            before=before,
            after=after,
        )
