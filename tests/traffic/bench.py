"""A driver on a simulated server in another process, and what each of the two saw."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, NamedTuple

import httpx

from fuzzer.events import Event
from fuzzer.history.records import AnyRecord, Done, Exchange, Message, Prompt, Sent, Stage
from fuzzer.history.schedule import Release, Scheduled
from fuzzer.plan import Endpoint, Sampling
from fuzzer.prompts import PromptPool
from fuzzer.shapes import ScheduleName
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.traffic.driver import Driver, Line, Prompts, StageSpec
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.schedules import releases
from fuzzer.traffic.setting import NEIGHBOURS, Setting, Traits
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for


class Seen(NamedTuple):
    """One request as the server saw it (monotonic nanoseconds)."""

    id: str
    began_ns: int
    ended_ns: int
    ending: Literal["whole", "gone", "broken"] | None


@dataclass(frozen=True)
class Traffic:
    """What the server saw: seconds at each number in flight, the largest number, and every request."""

    seconds: dict[int, float]
    most: int
    requests: list[Seen]


async def request(reader: asyncio.StreamReader) -> bytes:
    """A request as far as it tells what it is: a GET, or one with messages; empty if the client has gone."""
    received = b""
    while b'"messages"' not in received and not received.startswith(b"GET"):
        received += (piece := await reader.read(65536))
        if not piece:
            break
    return received


def prompt(prompt_id: str, earlier: int = 0) -> Prompt:
    """A question with a known answer, after so many earlier turns."""
    turns = []
    for number in range(earlier):
        turns.append(Message(role="user", content=f"What is the code word? The code word is OLD{number}-{prompt_id}."))
        turns.append(Message(role="assistant", content=f"OLD{number}-{prompt_id}"))
    text = f"What is the code word? The code word is {prompt_id.upper()}."
    last = Message(role="user", content=text)
    return Prompt(id=prompt_id, family="code-word", level="easy", messages=(*turns, last), answer=prompt_id.upper())


def ids(count: int) -> list[str]:
    """The ids of the first victims."""
    return [f"p{index:06d}" for index in range(count)]


def setting(concurrency: int, *, seed: int = 0, earlier: int = 0, before: int = 0, **traits: object) -> Setting:
    """A schedule's setting with neighbours of their own."""
    numbers = iter(range(NEIGHBOURS, NEIGHBOURS + 100_000))
    return Setting(
        concurrency=concurrency,
        rng=random.Random(seed),
        neighbour=lambda: prompt(f"f{next(numbers):06d}"),
        prompt=lambda prompt_id: prompt(prompt_id, earlier),
        traits=Traits(**traits),  # type: ignore[arg-type]  # the tests name real traits
        before=before,
    )


def block(name: ScheduleName, count: int, concurrency: int, **more: object) -> tuple[Release, ...]:
    """A block of a schedule for the first victims."""
    return releases(name, ids(count), setting(concurrency, **more))  # type: ignore[arg-type]  # as above


class Bench:
    """A driver on one endpoint, and all that it recorded."""

    def __init__(self, url: str, client: Client, memo: Memo, sampling: Sampling, pool: PromptPool | None) -> None:
        self.url = url
        self.records: list[AnyRecord] = []
        self.events: list[Event] = []
        self.line = Line("candidate", client)
        find = prompt if pool is None else pool.find
        self.driver = Driver(
            record=self.records.append,
            emit=self.events.append,
            memo=memo,
            prompts=Prompts(find, lambda index: find(f"f{index:06d}"), memo),
            sampling=sampling,
        )

    async def drive(self, releases: Sequence[Release], concurrency: int) -> list[Exchange]:
        """Drive a measured stage."""
        spec = StageSpec("cell", "candidate", "measure", 0, concurrency, tuple(releases))
        return await self.driver.drive(spec, self.line)

    async def seen(self) -> Traffic:
        """What the server saw so far."""
        async with httpx.AsyncClient(trust_env=False) as client:
            told = (await client.get(f"{self.url}/sim/traffic")).json()
        seconds = {int(count): value for count, value in told["seconds"].items()}
        return Traffic(seconds, told["most"], [Seen(*row) for row in told["requests"]])

    @property
    def sent(self) -> list[Sent]:
        return [record for record in self.records if isinstance(record, Sent)]

    @property
    def done(self) -> dict[str, Done]:
        return {record.key: record for record in self.records if isinstance(record, Done)}

    @property
    def stage(self) -> Stage:
        return next(record for record in self.records if isinstance(record, Stage))

    @property
    def scheduled(self) -> Scheduled:
        return next(record for record in self.records if isinstance(record, Scheduled))

    def role(self, phase: str) -> list[Sent]:
        """The requests of one phase."""
        return [sent for sent in self.sent if sent.phase == phase]


@asynccontextmanager
async def bench(
    config: SimConfig | None = None,
    memo: Memo | None = None,
    *,
    max_tokens: int = 32,
    pool: PromptPool | None = None,
    give_up: float = 30,
    stream: bool = True,
) -> AsyncIterator[Bench]:
    """A server and a driver on it."""
    async with SimServer(config or SimConfig()) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        async with Client(endpoint, dialect_for("vllm"), timeout=give_up) as client:
            yield Bench(server.url, client, memo or Memo(), Sampling(max_tokens=max_tokens, stream=stream), pool)
