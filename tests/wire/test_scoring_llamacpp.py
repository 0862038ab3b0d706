"""Scoring on the real engine: llama.cpp, one place at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.history.records import Message
from fuzzer.oracles.regret import regrets
from fuzzer.plan import Endpoint
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params
from fuzzer.wire.scoring import Scorer


@pytest.mark.real_engine
@pytest.mark.anyio
async def test_a_continuation_is_scored_one_place_at_a_time(model: Path) -> None:
    params = Params(max_tokens=16, stream=False, logprobs=5)
    asked = [Message(role="user", content="The code word is AMBER-301. What is the code word?")]
    async with LlamaServer(LlamaConfig(model, slots=1, ctx=1024)) as server:
        endpoint, dialect = Endpoint(name="reference", url=server.url), dialect_for("llamacpp")
        async with (
            Client(endpoint, dialect, timeout=240) as client,
            Scorer(endpoint, dialect, params=params, timeout=240) as scorer,
        ):
            answer = await client.ask(asked, params)
            ids = answer.token_ids or ()
            own = await scorer.score(asked, ids, places=len(ids))
            swapped = await scorer.score(asked, [*ids[:1], 4000, *ids[2:]], start=1, places=1)
    assert len(ids) > 3
    assert [score.rank for score in own.tokens] == [1] * len(ids)
    assert regrets(own.tokens).worst == 0
    assert (swapped.start, regrets(swapped.tokens, 1).place) == (1, 1)
    assert regrets(swapped.tokens).worst > 2
