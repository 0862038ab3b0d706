"""A server that somebody else uses too: nothing certain is said of what runs there, and nothing passes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest

from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.run import gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

pytestmark = pytest.mark.anyio

LONG = {
    "model": "sim-model",
    "messages": [{"role": "user", "content": "Count as far as you can."}],
    "max_tokens": 4000,
    "ignore_eos": True,
}


@asynccontextmanager
async def stranger(url: str) -> AsyncIterator[None]:
    """Somebody who always has one long request running."""

    async def ask() -> None:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=60) as http:
            while True:
                await http.post("/v1/chat/completions", json=LONG)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        yield
        tasks.cancel_scope.cancel()


async def test_a_stranger_on_the_candidate_makes_a_clean_run_inconclusive_and_no_more(tmp_path: Path) -> None:
    async with SimServer(SimConfig(speculative=True)) as candidate, SimServer(SimConfig()) as reference:
        plan = Plan(
            candidates=(Endpoint(name="candidate", url=candidate.url, lm_head="bf16"),),
            references=(Endpoint(name="reference", url=reference.url, lm_head="bf16"),),
            concurrency=(4,),
            schedules=("closed-loop",),
            policy=Policy(control_requests=8, requests=16),
        )
        async with stranger(candidate.url):
            summary = (await gate(plan, out=tmp_path)).summary
    assert summary.verdict == "inconclusive"
    assert not [group for group in summary.findings if group.breaks_gate]
    assert "other-traffic" in {reason.code for reason in summary.reasons}
