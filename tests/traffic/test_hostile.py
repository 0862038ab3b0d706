"""A server that drops, resets, dawdles or dies: the stage comes to its end, and every request is accounted for."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from fuzzer.plan import Endpoint, Sampling
from fuzzer.shapes import ScheduleName
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.traffic.memo import Memo
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from tests.traffic.bench import Bench, block, request
from tests.wire.servers import data, delta, http, sse, usage

pytestmark = pytest.mark.anyio

FINE = sse(delta("the answer"), delta(None, finish="stop"), usage(2))
HALF = http(data(delta("the ans")), kind="text/event-stream", content_length="5000")
WAYS = ("fine", "drop", "fine", "reset", "slow", "fine", "busy", "fine", "broken", "fine")


@dataclass
class Nasty:
    """Answers each request in the next of its ways, and after so many resets all connections at once."""

    reset_after: int
    served: int = 0
    most: int = 0
    ways: Iterator[str] = field(default_factory=lambda: itertools.cycle(WAYS))
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        received = await request(reader)
        if received.startswith(b"GET"):
            writer.write(http(status=404))
        elif received:
            await self._request(writer)
        writer.close()

    async def _request(self, writer: asyncio.StreamWriter) -> None:
        self.open.add(writer)
        self.most = max(self.most, len(self.open))
        self.served += 1
        if self.served == self.reset_after:
            for connection in self.open:
                connection.transport.abort()
        else:
            await self._answer(next(self.ways), writer)
        self.open.discard(writer)

    async def _answer(self, way: str, writer: asyncio.StreamWriter) -> None:
        replies = {
            "fine": (FINE,),
            "drop": (),
            "reset": (HALF,),
            "slow": (FINE[:60], FINE[60:140], FINE[140:]),
            "busy": (http(b'{"error": "overloaded"}', status=503),),
            "broken": (http(b"data: {not json\n\n", kind="text/event-stream"),),
        }
        for place, piece in enumerate(replies[way]):
            if place:
                await asyncio.sleep(0.02)
            writer.write(piece)


@asynccontextmanager
async def hostile(nasty: Nasty) -> AsyncIterator[str]:
    async with await asyncio.start_server(nasty.serve, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize("name", ["closed-loop", "rounds", "shared-prefix-cancel", "param-fuzz"])
async def test_every_request_is_accounted_for(name: ScheduleName) -> None:
    nasty = Nasty(reset_after=25)
    async with hostile(nasty) as url:
        endpoint = Endpoint(name="candidate", url=url, model="m")
        async with Client(endpoint, dialect_for("vllm"), timeout=5) as client:
            b = Bench(url, client, Memo(), Sampling(max_tokens=32), None)
            exchanges = await b.drive(block(name, 48, 4), 4)
        while nasty.open:
            await anyio.lowlevel.checkpoint()
    outcomes = {key: done.received.outcome for key, done in b.done.items()}
    assert set(outcomes) == {sent.key for sent in b.sent}
    assert len(outcomes) == len(b.sent)
    assert len(exchanges) == 48
    assert all(exchange.done is not None for exchange in exchanges)
    assert {"ok", "connect", "disconnect", "overloaded", "bad-json"} <= set(outcomes.values())
    # The server may not have noticed yet what was broken off: only the client knows how many it has in flight.
    assert max(sent.in_flight for sent in b.sent) <= 4
    assert all(sent.concurrency == 4 for sent in b.sent)


async def test_a_server_that_dies_in_mid_stage_fails_what_is_left() -> None:
    async with SimServer(SimConfig(step_seconds=0.01)) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        async with Client(endpoint, dialect_for("vllm"), timeout=5) as client:
            b = Bench(server.url, client, Memo(), Sampling(max_tokens=32), None)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(b.drive, block("closed-loop", 24, 4), 4)
                while len(b.done) < 6:
                    await anyio.lowlevel.checkpoint()
                await server.close()
    outcomes = [done.received.outcome for done in b.done.values()]
    assert len(outcomes) == len(b.sent) >= 24
    assert set(outcomes) >= {"ok", "connect"}
    assert b.stage.after is None
