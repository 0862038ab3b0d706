"""Drives a simulated engine without HTTP, at a fixed concurrency."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from fuzzer.sim.answer import text_of
from fuzzer.sim.config import SimConfig
from fuzzer.sim.engine import Engine, Messages, Request
from fuzzer.sim.request import ChatRequest
from fuzzer.sim.sampling import GREEDY

WORDS = [
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "jade", "kelp", "larch", "maple",
    "north", "opal", "plume", "quartz", "reed", "slate", "tulip",
]  # fmt: skip


def engine(**settings: Any) -> Engine:
    """An engine whose steps take no time."""
    return Engine(SimConfig(**{"step_seconds": 0.0} | settings))


def texts(count: int, seed: int = 1, words: int = 6) -> list[str]:
    """Unknown prompts, which are said back word by word."""
    rng = random.Random(seed)
    return [" ".join(rng.sample(WORDS, words)) + f" q{place}" for place in range(count)]


async def ask(served: Engine, prompt: str | Messages, request_id: str = "", **chat: Any) -> Request:
    """One request (a whole chat, or its only message), until it is over."""
    messages = (("user", prompt),) if isinstance(prompt, str) else prompt
    request = served.submit(ChatRequest(messages, **{"sampling": GREEDY} | chat), request_id)
    while not (request.over or request.refused):
        await request.news.wait()
        request.news.clear()
    return request


async def drive(
    served: Engine, prompts: Sequence[str] | Sequence[Messages], concurrency: int, order: int = 0, **chat: Any
) -> list[Request]:
    """All prompts in a shuffled order, never more than ``concurrency`` in flight; results in the prompts' order."""
    places = list(range(len(prompts)))
    random.Random(order).shuffle(places)
    results: dict[int, Request] = {}
    queue = iter(places)

    async def worker() -> None:
        for place in queue:
            results[place] = await ask(served, prompts[place], str(place), **chat)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(concurrency):
            tasks.create_task(worker())
    return [results[place] for place in range(len(prompts))]


def answer(request: Request) -> str:
    """The delivered text."""
    return request.sequence.text


def right(request: Request) -> bool:
    """Whether the content of the answer is what the prompt asks for, whatever the wording around it."""
    said = "".join(emission.token for emission in request.sequence.emitted if emission.content)
    return said == text_of(slot for slot in request.reading.slots if slot.content)


def share(flags: Sequence[bool]) -> float:
    """The share of true ones."""
    return sum(flags) / len(flags)
