"""The fault that llama.cpp has itself: an n-gram cache that outlives the requests of its slot, told by acceptance."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.history.journal import exchanges
from fuzzer.judge.residue import Residue, stale
from fuzzer.plan import Endpoint, Sampling
from fuzzer.prompts import PromptPool
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer
from fuzzer.traffic.memo import Memo
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from tests.traffic.bench import Bench, block

SLOTS = 8
CONTEXT = 512  # tokens a slot


@pytest.mark.real_engine
@pytest.mark.anyio
async def test_long_pairs_show_a_cache_that_outlives_requests(model: Path) -> None:
    """https://github.com/ggml-org/llama.cpp/issues/27852; the text stays right."""
    residue = Residue()
    async with LlamaServer(LlamaConfig(model, SLOTS, SLOTS * CONTEXT, speculation="ngram-cache")) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model=model.stem)
        async with Client(endpoint, dialect_for("llamacpp"), timeout=240) as client:
            bench = Bench(server.url, client, Memo(), Sampling(max_tokens=24), PromptPool(1, ("echo",)))
            await bench.drive(block("long-pairs", SLOTS, SLOTS, pins=True, context=CONTEXT), SLOTS)
    for exchange in exchanges(bench.records):
        residue.add(exchange)
    assert [len(slot.after) for slot in residue.slots.values()] == [3] * SLOTS
    assert "outlives its requests" in stale(residue.summary()), residue.slots
