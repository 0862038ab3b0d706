"""The driver on a real server: exactly N in flight, all of it recorded, nothing sent twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from fuzzer.events import Event
from fuzzer.history.records import AnyRecord, Arm, Done, Message, Phase, Prompt, Sent, Stage
from fuzzer.plan import Endpoint, Sampling, ScheduleName
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.traffic.driver import Driver, Line, Prompts, StageSpec
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.schedules import releases
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for

pytestmark = pytest.mark.anyio


def _prompt(prompt_id: str) -> Prompt:
    text = f"What is the code word? The code word is {prompt_id.upper()}."
    return Prompt(
        id=prompt_id, family="code-word", level="easy", messages=(Message(role="user", content=text),), answer=prompt_id
    )


class Bench:
    """A driver on one endpoint, and all that it recorded."""

    def __init__(self, client: Client, memo: Memo, sampling: Sampling) -> None:
        self.records: list[AnyRecord] = []
        self.events: list[Event] = []
        self.line = Line("candidate", client)
        self.driver = Driver(
            record=self.records.append,
            emit=self.events.append,
            memo=memo,
            prompts=Prompts(_prompt, lambda index: _prompt(f"f{index:06d}"), memo),
            sampling=sampling,
        )

    @property
    def sent(self) -> list[Sent]:
        return [record for record in self.records if isinstance(record, Sent)]

    @property
    def done(self) -> list[Done]:
        return [record for record in self.records if isinstance(record, Done)]

    @property
    def stage(self) -> Stage:
        return next(record for record in self.records if isinstance(record, Stage))


@asynccontextmanager
async def bench(config: SimConfig | None = None, memo: Memo | None = None) -> AsyncIterator[Bench]:
    async with SimServer(config or SimConfig()) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        async with Client(endpoint, dialect_for("vllm"), timeout=30) as client:
            yield Bench(client, memo or Memo(), Sampling(max_tokens=32))


def spec(
    schedule: ScheduleName, count: int, concurrency: int, *, phase: Phase = "measure", arm: Arm = "candidate"
) -> StageSpec:
    prompts = [f"p{index:06d}" for index in range(count)]
    return StageSpec("cell", arm, phase, 0, concurrency, releases(schedule, prompts, concurrency))


async def test_a_closed_loop_holds_exactly_n_to_the_last_measured_end() -> None:
    async with bench() as b:
        exchanges = await b.driver.drive(spec("closed-loop", 24, 6), b.line)
    assert [exchange.sent.index for exchange in exchanges] == list(range(24))
    assert all(exchange.ok for exchange in exchanges)
    assert b.stage.share_at_n >= 0.99
    assert (b.stage.min_in_flight, b.stage.max_in_flight) == (6, 6)
    fillers = [sent for sent in b.sent if sent.phase == "filler"]
    assert len(fillers) >= 5
    assert not {sent.prompt for sent in fillers} & {exchange.sent.prompt for exchange in exchanges}


async def test_one_at_a_time_sends_every_prompt_and_no_filler() -> None:
    async with bench() as b:
        exchanges = await b.driver.drive(spec("closed-loop", 5, 1), b.line)
    assert [exchange.sent.index for exchange in exchanges] == list(range(5))
    assert len(b.sent) == 5
    assert b.stage.share_at_n >= 0.99


async def test_every_request_is_recorded_as_sent_before_it_is_done() -> None:
    async with bench() as b:
        await b.driver.drive(spec("rounds", 8, 4), b.line)
    order = [(type(record).__name__, record.key) for record in b.records if isinstance(record, Sent | Done)]
    for name, key in order:
        if name == "Done":
            assert order.index(("Sent", key)) < order.index(("Done", key))
    assert {sent.key for sent in b.sent} == {done.key for done in b.done}


async def test_a_barrier_drains_before_the_next_release() -> None:
    async with bench() as b:
        exchanges = await b.driver.drive(spec("rounds", 8, 4), b.line)
    ends = [exchange.done.received.end_ns for exchange in exchanges[:4] if exchange.done]
    assert max(ends) <= min(exchange.sent.sent_ns for exchange in exchanges[4:])
    assert {exchange.sent.round for exchange in exchanges} == {0, 1}
    assert all(exchange.sent.in_flight == 4 for exchange in exchanges)


async def test_a_lone_probe_is_alone() -> None:
    async with bench() as b:
        exchanges = await b.driver.drive(spec("burst-solo", 10, 4), b.line)
    probes = [exchange for exchange in exchanges if exchange.sent.concurrency == 1]
    assert [exchange.sent.index for exchange in probes] == [4, 9]
    assert all(exchange.done and exchange.done.max_in_flight == 1 for exchange in probes)


async def test_what_the_memo_holds_is_not_sent_again_and_the_lost_stay_lost() -> None:
    async with bench() as b:
        await b.driver.drive(spec("closed-loop", 6, 2), b.line)
        first = b.records
    keys = [f"cell#0/measure0/candidate/{index}" for index in range(6)]
    memo = Memo()
    for record in first:
        if isinstance(record, Prompt | Sent) or (isinstance(record, Done) and record.key in keys[:3]):
            if isinstance(record, Sent) and record.key in keys[4:]:
                continue
            memo.add(record)
    async with bench(memo=memo) as b:
        exchanges = await b.driver.drive(spec("closed-loop", 6, 2), b.line)
    again = {sent.key for sent in b.sent}
    assert again & set(keys) == set(keys[4:])
    assert [exchange.done is not None for exchange in exchanges] == [True, True, True, False, True, True]


async def test_cancellation_leaves_those_in_flight_sent_and_not_done() -> None:
    async with bench(SimConfig(faults={"hang": 1.0})) as b, anyio.create_task_group() as tasks:

        async def drive() -> None:
            await b.driver.drive(spec("closed-loop", 6, 3), b.line)

        tasks.start_soon(drive)
        while len(b.sent) < 3:
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    assert len(b.sent) == 3
    assert b.done == []


async def test_exposure_counts_how_often_the_endpoint_was_sent_a_prompt() -> None:
    async with bench() as b:
        await b.driver.drive(spec("replicas", 2, 3), b.line)
    assert sorted((sent.prompt, sent.exposure) for sent in b.sent) == [
        (f"p{prompt:06d}", exposure) for prompt in range(2) for exposure in range(3)
    ]
