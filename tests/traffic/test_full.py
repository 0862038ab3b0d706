"""A server that ends a request only while exactly N are in flight: what it sees is N, from the barrier to the end."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import pytest

from fuzzer.events import ExchangeDone
from fuzzer.history.schedule import Release
from fuzzer.plan import Endpoint, Sampling
from fuzzer.shapes import ScheduleName
from fuzzer.traffic.memo import Memo
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from tests.traffic.bench import Bench, block, request
from tests.wire.servers import delta, http, sse, usage

pytestmark = pytest.mark.anyio

FINE = sse(delta("the answer"), delta(None, finish="stop"), usage(2))


@dataclass
class Patient:
    """Holds its requests until it is told to end one; counts how many it holds at each of its steps."""

    held: list[asyncio.StreamWriter] = field(default_factory=list)
    steps: Counter[int] = field(default_factory=Counter)
    most: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        received = await request(reader)
        if received.startswith(b"GET") or not received:
            writer.write(http(status=404))
            writer.close()
            return
        self.held.append(writer)
        self.most = max(self.most, len(self.held))

    async def run(self, level: int, over: Callable[[], bool]) -> None:
        """End one request at a time, whenever ``level`` are held; all that is left once nothing more is to come."""
        rng = random.Random(level)
        while not over():
            if len(self.held) < level:
                await anyio.lowlevel.checkpoint()
                continue
            self.steps[len(self.held)] += 1
            self._end(rng.randrange(level))
        while self.held:
            self._end(0)

    def _end(self, place: int) -> None:
        writer = self.held.pop(place)
        writer.write(FINE)
        writer.close()


@pytest.mark.parametrize("level", [8, 32])
@pytest.mark.parametrize("name", ["closed-loop", "hot-neighbours"])
async def test_exactly_n_are_in_flight_until_the_last_measured_request_has_ended(
    name: ScheduleName, level: int
) -> None:
    patient = Patient()
    releases: tuple[Release, ...] = block(name, 2 * level, level)
    async with await asyncio.start_server(patient.serve, "127.0.0.1", 0) as server:
        endpoint = Endpoint(name="candidate", url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", model="m")
        async with Client(endpoint, dialect_for("vllm"), timeout=60) as client:
            b = Bench(endpoint.url, client, Memo(), Sampling(max_tokens=32), None)

            def over() -> bool:
                ended = [event for event in b.events if isinstance(event, ExchangeDone) and event.phase == "measure"]
                return len(ended) == 2 * level

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(patient.run, level, over)
                await b.drive(releases, level)
    assert patient.most == level
    assert patient.steps.keys() == {level}
    assert sum(patient.steps.values()) >= 2 * level
    assert b.stage.share_at_n >= 0.99
    assert (b.stage.min_in_flight, b.stage.max_in_flight) == (level, level)
