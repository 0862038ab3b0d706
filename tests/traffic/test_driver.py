"""The driver on a real server: exactly N in flight, all of it recorded, nothing sent twice, nothing left behind."""

from __future__ import annotations

import socket

import anyio
import pytest

from fuzzer.history.records import Done, Prompt, Sent
from fuzzer.history.schedule import Overrides, Release, Scheduled, Send
from fuzzer.plan import Endpoint, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.traffic.loops import barrier, closed_loop
from fuzzer.traffic.memo import Memo
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from tests.traffic.bench import Bench, bench, block, ids

pytestmark = pytest.mark.anyio

LONG = Overrides(max_tokens=400)


def neighbour(number: int, **more: object) -> Send:
    return Send.model_validate({"prompt": f"f{1_200_000 + number}", "role": "neighbour", **more})


async def test_a_closed_loop_holds_exactly_n_to_the_last_measured_end() -> None:
    async with bench() as b:
        exchanges = await b.drive([closed_loop(6, ids(24))], 6)
        seen = await b.seen()
    assert [exchange.sent.index for exchange in exchanges] == list(range(24))
    assert all(exchange.ok for exchange in exchanges)
    assert b.stage.share_at_n >= 0.99
    assert (b.stage.min_in_flight, b.stage.max_in_flight) == (6, 6)
    assert seen.most == 6
    fillers = b.role("filler")
    assert len(fillers) >= 5
    assert not {sent.prompt for sent in fillers} & {exchange.sent.prompt for exchange in exchanges}


async def test_one_at_a_time_sends_every_prompt_and_no_filler() -> None:
    async with bench() as b:
        exchanges = await b.drive([closed_loop(1, ids(5))], 1)
    assert [exchange.sent.index for exchange in exchanges] == list(range(5))
    assert len(b.sent) == 5
    assert b.stage.share_at_n >= 0.99


async def test_the_schedule_is_journalled_before_anything_is_sent_and_requests_before_they_end() -> None:
    async with bench() as b:
        await b.drive([barrier(4, ids(4)), barrier(4, ids(8)[4:])], 4)
    kinds = [type(record) for record in b.records]
    assert kinds.index(Scheduled) < kinds.index(Sent)
    order = [(type(record).__name__, record.key) for record in b.records if isinstance(record, Sent | Done)]
    for name, key in order:
        if name == "Done":
            assert order.index(("Sent", key)) < order.index(("Done", key))
    assert {sent.key for sent in b.sent} == set(b.done)


async def test_a_barrier_drains_before_the_next_release() -> None:
    async with bench() as b:
        exchanges = await b.drive(block("rounds", 8, 4), 4)
    ends = [exchange.done.received.end_ns for exchange in exchanges[:4] if exchange.done]
    assert max(ends) <= min(exchange.sent.sent_ns for exchange in exchanges[4:])
    assert {exchange.sent.round for exchange in exchanges} == {0, 1}
    assert all(exchange.sent.in_flight == 4 for exchange in exchanges)


async def test_a_release_of_less_than_n_is_filled_up() -> None:
    async with bench() as b:
        exchanges = await b.drive([barrier(4, ids(2))], 4)
    assert [exchange.sent.in_flight for exchange in exchanges] == [4, 4]
    assert len(b.role("filler")) == 2
    assert b.stage.share_at_n == 1.0


async def test_follow_ups_go_one_after_another_on_their_slot() -> None:
    chain = (neighbour(0), neighbour(1, at_ms=20), Send(prompt="p000000"))
    async with bench() as b:
        judged, _ = await b.drive([Release(width=2, chains=(chain, (Send(prompt="p000001"),)))], 2)
    first, second = b.role("neighbour")
    ended = b.done[first.key].received.end_ns
    assert second.after == first.key
    assert judged.sent.after == second.key
    assert second.due_ns is not None
    assert ended < second.due_ns <= second.sent_ns
    assert b.done[second.key].received.end_ns <= judged.sent.sent_ns


async def test_a_cancelled_neighbours_connection_is_closed_and_its_slot_goes_on() -> None:
    chains = (
        (neighbour(0, cancel_tokens=3, overrides=LONG), neighbour(0, overrides=LONG)),
        (neighbour(1, cancel_ms=5.0, overrides=LONG),),
        (Send(prompt="p000000"),),
    )
    async with bench(SimConfig(step_seconds=0.02)) as b:
        await b.drive([Release(width=3, chains=chains)], 3)
        seen = await b.seen()
    cancelled = [key for key, done in b.done.items() if done.received.outcome == "cancelled"]
    endings = {request.id: request.ending for request in seen.requests}
    assert sorted(cancelled) == [b.scheduled.key + place for place in ("/0", "/2")]
    assert [endings[key] for key in cancelled] == ["gone", "gone"]
    assert all(endings[sent.key] == "whole" for sent in b.sent if sent.key not in cancelled)
    by_tokens = b.done[b.scheduled.key + "/0"].received
    assert by_tokens.parts >= 1
    assert len(by_tokens.token_ids or ()) < 400
    assert b.stage.deviations.cancelled == 2
    assert b.stage.deviations.still_running == 0
    assert seen.most <= 3


async def test_a_barrier_without_connections_was_never_full() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound, and nobody listens
        endpoint = Endpoint(name="candidate", url=f"http://127.0.0.1:{closed.getsockname()[1]}", model="sim-model")
        async with Client(endpoint, dialect_for("vllm"), timeout=30) as client:
            b = Bench("", client, Memo(), Sampling(), None)
            await b.drive(block("rounds", 4, 4), 4)
    assert {done.received.outcome for done in b.done.values()} == {"connect"}
    assert b.stage.share_at_n == 0


async def test_what_is_broken_off_by_tokens_is_streamed_whatever_the_rest_does() -> None:
    chains = ((neighbour(0, cancel_tokens=3, overrides=LONG),), (Send(prompt="p000000"),))
    async with bench(SimConfig(step_seconds=0.02), stream=False) as b:
        await b.drive([Release(width=2, chains=chains)], 2)
    assert b.stage.deviations.cancelled == 1
    assert {sent.phase: sent.stream for sent in b.sent} == {"neighbour": True, "measure": False}


async def test_a_cancel_that_comes_too_late_is_recorded() -> None:
    chains = ((neighbour(0, cancel_tokens=500),), (Send(prompt="p000000"),))
    async with bench() as b:
        await b.drive([Release(width=2, chains=chains)], 2)
    assert b.stage.deviations.late_cancels == 1
    assert b.stage.deviations.cancelled == 0


async def test_neighbours_that_are_no_longer_needed_are_not_sent() -> None:
    plenty = tuple(neighbour(number) for number in range(60))
    async with bench() as b:
        await b.drive([Release(width=2, chains=(plenty, (Send(prompt="p000000"),)), keep_full=True)], 2)
    assert b.stage.deviations.unsent > 40
    assert len(b.role("neighbour")) + b.stage.deviations.unsent == 60


async def test_neighbours_that_run_out_are_replaced_and_it_is_recorded() -> None:
    victims = tuple((Send(prompt=prompt),) for prompt in ids(8))
    async with bench() as b:
        await b.drive([Release(width=2, chains=((neighbour(0),), *victims), keep_full=True)], 2)
    assert b.stage.deviations.early_ends == 1
    assert b.stage.share_at_n >= 0.99


async def test_what_the_memo_holds_is_not_sent_again_and_the_lost_stay_lost() -> None:
    async with bench() as b:
        await b.drive([closed_loop(2, ids(6))], 2)
        first = b.records
    keys = [f"cell#0/measure0/candidate/{index}" for index in range(6)]
    memo = Memo()
    for record in first:
        if isinstance(record, Prompt | Sent | Scheduled) or (isinstance(record, Done) and record.key in keys[:3]):
            if isinstance(record, Sent) and record.key in keys[4:]:
                continue
            memo.add(record)
    async with bench(memo=memo) as b:
        exchanges = await b.drive([closed_loop(2, ids(6))], 2)
    again = {sent.key for sent in b.sent}
    assert again & set(keys) == set(keys[4:])
    assert [exchange.done is not None for exchange in exchanges] == [True, True, True, False, True, True]
    assert not any(isinstance(record, Scheduled) for record in b.records)


async def test_a_half_done_chain_is_completed_where_it_stopped() -> None:
    chains = ((neighbour(0), neighbour(1), Send(prompt="p000000")), (Send(prompt="p000001"),))
    async with bench() as b:
        await b.drive([Release(width=2, chains=chains)], 2)
        first = b.records
    memo = Memo()
    for record in first:
        key = record.key if isinstance(record, Sent | Done) else ""
        if isinstance(record, Prompt | Scheduled) or key.endswith(("/0", "/3")):
            memo.add(record)
    async with bench(memo=memo) as b:
        exchanges = await b.drive([], 2)  # the journalled schedule stands, whatever would be built today
    sent = [sent.key.rpartition("/")[2] for sent in b.sent if sent.phase != "filler"]
    assert sent == ["1", "2"]
    assert [exchange.sent.index for exchange in exchanges] == [2, 3]
    assert b.sent[0].in_flight == 2


async def test_cancellation_leaves_those_in_flight_sent_and_not_done() -> None:
    async with bench(SimConfig(faults={"hang": 1.0})) as b:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(b.drive, [closed_loop(3, ids(6))], 3)
            while len(b.sent) < 3:
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        seen = await b.seen()
        while any(request.ending is None for request in seen.requests):
            seen = await b.seen()
    assert len(b.sent) == 3
    assert not b.done
    assert {request.ending for request in seen.requests} <= {"gone"}


async def test_exposure_counts_how_often_the_endpoint_was_sent_a_prompt() -> None:
    async with bench() as b:
        await b.drive(block("replicas", 2, 3), 3)
    assert sorted((sent.prompt, sent.exposure) for sent in b.sent) == [
        (f"p{prompt:06d}", exposure) for prompt in range(2) for exposure in range(3)
    ]
