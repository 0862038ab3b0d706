"""What ``features`` calls tested on llama.cpp, shown on the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from fuzzer.demo import llama_model
from fuzzer.history.records import Message, Received
from fuzzer.plan import Endpoint
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import LLAMACPP
from fuzzer.wire.features import FEATURES
from fuzzer.wire.identify import identify
from fuzzer.wire.pace import Pace
from fuzzer.wire.pairing import render
from fuzzer.wire.params import Params

pytestmark = [pytest.mark.anyio, pytest.mark.real_engine]

ASKED = (Message(role="user", content="Repeat this line four times: red blue green red blue green red blue green"),)
ELSEWHERE = {"scoring"}  # in test_scoring_llamacpp.py
SHOWN = {
    "detection",
    "speculation proof",
    "token ids",
    "log-probabilities",
    "metrics",
    "cache control",
    "rendered prompt",
    "cancellation",
    "version",
    "KV budget",
}


def test_all_that_is_called_tested_is_shown_here_or_named_elsewhere() -> None:
    called = {name for name, feature in FEATURES["llamacpp"].items() if feature.standing == "tested"}
    assert called == SHOWN | ELSEWHERE


@asynccontextmanager
async def drafting() -> AsyncIterator[Client]:
    async with LlamaServer(LlamaConfig(model=llama_model(None), slots=2, ctx=2048, speculation="ngram")) as server:
        found = await identify(Endpoint(name="candidate", url=server.url))
        assert (found.engine, found.speculation, found.slots) == ("llamacpp", True, 2)
        assert (found.kv_tokens, found.context_length) == (2048, 1024)
        async with Client(found.pin(Endpoint(name="candidate", url=server.url)), LLAMACPP, timeout=120) as client:
            yield client


async def ask(client: Client, *, pace: Pace | None = None, **fields: object) -> Received:
    received = await client.ask(ASKED, Params(**{"max_tokens": 64, "stream": False, **fields}), pace=pace)  # type: ignore[arg-type]  # by name
    assert received.outcome in ("ok", "cancelled"), received.detail
    return received


async def test_an_engine_that_drafts_tells_all_that_is_used_of_it() -> None:
    async with drafting() as client:
        before = await client.counters()
        assert await client.version()
        first = await ask(client, logprobs=5)
        assert first.token_ids
        assert first.logprobs is not None
        assert any(len(token.top) == 5 for token in first.logprobs)
        warm, cold = await ask(client), await ask(client, cache="cold")
        assert warm.usage is not None
        assert cold.usage is not None
        assert (warm.usage.cached_tokens or 0) > (cold.usage.cached_tokens or 0)
        assert any(reply.draft and reply.draft.drafted for reply in (first, warm, cold))
        after = await client.counters()
        assert before is not None
        assert after is not None
        assert (after.generated_tokens or 0) > (before.generated_tokens or 0)
        rendered = await render(client, ASKED, "auto")
        assert isinstance(rendered, str)
        assert ASKED[0].content in rendered
        broken = await ask(client, stream=True, max_tokens=512, pace=Pace(cancel_tokens=2))
        assert broken.outcome == "cancelled"
        with anyio.fail_after(60):
            while (now := await client.counters()) is None or now.running:
                pass
