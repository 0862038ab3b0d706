"""Hand-made traffic against a simulated server, over real HTTP: bursts, loops, cancels, conversations."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving

from .driving import WORDS

CHAT = "/v1/chat/completions"
STEP = 0.01  # seconds; slow enough for a busy test machine to keep a batch full
TRIES = 40  # at traffic that only meets its trigger where the requests arrive together
_numbers = itertools.count()


def question(words: int = 6) -> str:
    """A message that no other is like, whose words the engine says back: each holds the message's number."""
    number = next(_numbers)
    return " ".join(f"{WORDS[(number + place) % len(WORDS)]}{number}" for place in range(words))


class Talk:
    """A client of one simulated server."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def ask(self, messages: str | Sequence[dict[str, str]], **fields: Any) -> dict[str, Any]:
        """The reply to a message (or to a whole chat), asked greedily unless told otherwise."""
        chat = [{"role": "user", "content": messages}] if isinstance(messages, str) else list(messages)
        response = await self.http.post(CHAT, json={"messages": chat, "temperature": 0} | fields)
        response.raise_for_status()
        body: dict[str, Any] = response.json()
        return body

    async def say(self, messages: str | Sequence[dict[str, str]], **fields: Any) -> str:
        """Only the text of the reply."""
        text: str = (await self.ask(messages, **fields))["choices"][0]["message"]["content"]
        return text

    async def right(self, message: str, **fields: Any) -> bool:
        """Whether the message was said back."""
        return is_right(message, await self.say(message, **fields))

    async def burst(self, messages: Sequence[str], **fields: Any) -> list[bool]:
        """All at once; which were answered right."""
        return list(await asyncio.gather(*(self.right(message, **fields) for message in messages)))

    async def loop(self, messages: Sequence[str], width: int, **fields: Any) -> list[bool]:
        """So many in flight until all were asked; which were answered right."""
        places, results = iter(range(len(messages))), [False] * len(messages)

        async def work() -> None:
            for place in places:
                results[place] = await self.right(messages[place], **fields)

        await asyncio.gather(*(work() for _ in range(width)))
        return results

    async def leave(self, message: str, **fields: Any) -> None:
        """Ask for a stream and break off at the first piece of it."""
        asked = {"messages": [{"role": "user", "content": message}], "temperature": 0, "stream": True} | fields
        async with self.http.stream("POST", CHAT, json=asked) as response:
            async for piece in response.aiter_text():
                if '"content": "Y' in piece:
                    return

    async def events(self, message: str, **fields: Any) -> str:
        """The text of a streamed reply."""
        import json

        asked = {"messages": [{"role": "user", "content": message}], "temperature": 0, "stream": True} | fields
        text = (await self.http.post(CHAT, json=asked)).text
        chunks = [json.loads(line[6:]) for line in text.split("\n\n") if line and "[DONE]" not in line]
        return "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks if chunk["choices"])

    async def gauge(self, name: str) -> float:
        """One figure of ``/metrics``."""
        page = (await self.http.get("/metrics")).text
        samples = (sample for family in text_string_to_metric_families(page) for sample in family.samples)
        return next(sample.value for sample in samples if sample.name == name)


def is_right(message: str, said: str) -> bool:
    """Whether a reply says the message back, whatever its wording around that."""
    return message in said


async def shown(attempt: Callable[[], Awaitable[int]], wanted: int) -> bool:
    """Whether so much harm comes of traffic that is sent again and again: a busy machine may spread a burst."""
    seen = 0
    for _ in range(TRIES):
        seen += await attempt()
        if seen >= wanted:
            return True
    return False


@asynccontextmanager
async def talking(faults: dict[str, float] | None = None, **settings: Any) -> AsyncIterator[Talk]:
    """A client of a speculating server of its own, with these faults."""
    given: dict[str, Any] = {"speculative": True, "step_seconds": STEP, "faults": faults or {}} | settings
    config = SimConfig(**given)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with serving(config) as url, httpx.AsyncClient(base_url=url, timeout=30, limits=limits) as http:
        yield Talk(http)
