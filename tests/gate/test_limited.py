"""A gateway that limits requests in mid-run: the run waits as it is told, sends nothing again and decides nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import httpx
import pytest
from anyio.abc import ByteStream

from fuzzer.events import Event, StageStarted
from fuzzer.history.journal import read_history
from fuzzer.history.records import Done, Sent
from fuzzer.manifest import HISTORY
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.run import gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving as simulated
from fuzzer.wire import patience
from tests.wire.servers import Request, http, serving

pytestmark = pytest.mark.anyio

PLAN = {
    "policy": Policy(requests=60, control_requests=6, max_wrong_rate=0.05),
    "schedules": ("closed-loop",),
    "concurrency": (1, 4),
    "families": ("echo",),
    "sampling": Sampling(stream=False),
}


class Gateway:
    """Hands everything on to an engine, but for the next ``refusing`` questions."""

    def __init__(self, upstream: httpx.AsyncClient) -> None:
        self.upstream = upstream
        self.refusing = 0
        self.asked: Counter[str] = Counter()

    async def __call__(self, request: Request, stream: ByteStream) -> None:
        chat = request.path.endswith("/chat/completions")
        self.asked[request.headers.get("x-request-id", "")] += chat
        if chat and self.refusing:
            self.refusing -= 1
            await stream.send(http(b'{"error": {"message": "slow down"}}', status=429, Retry_After="2"))
            return
        method = "POST" if request.body else "GET"
        reply = await self.upstream.request(method, request.path, json=request.body or None)
        await stream.send(http(reply.content, status=reply.status_code, kind=reply.headers.get("content-type", "")))


async def test_a_limit_in_mid_run_is_waited_out_and_its_cell_is_inconclusive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rested: list[float] = []

    async def rest(told: patience.Patience) -> None:
        rested.append(told.seconds)

    monkeypatch.setattr(patience.Patience, "rest", rest)
    async with (
        simulated(SimConfig(speculative=True, step_seconds=0.0)) as engine,
        simulated(SimConfig(step_seconds=0.0)) as other,
        httpx.AsyncClient(base_url=engine, timeout=60) as upstream,
    ):
        gateway = Gateway(upstream)

        def limit(event: Event) -> None:
            if isinstance(event, StageStarted) and (event.phase, event.arm) == ("measure", "candidate"):
                gateway.refusing = 3

        async with serving(gateway) as url:
            ends = {
                "candidates": (Endpoint(name="candidate", url=url),),
                "references": (Endpoint(name="reference", url=other),),
            }
            ended = await gate(Plan.model_validate({**PLAN, **ends}), out=tmp_path, listeners=[limit])
    assert ended.summary.exit_status == 3
    assert "rate-limited" in {reason.code for reason in ended.summary.reasons}
    cell = next(cell for cell in ended.summary.cells if cell.role == "gated")
    assert (cell.status, cell.blocks, cell.rate.k) == ("vacuous", 1, 0)
    assert cell.arms["candidate"].unjudged == {"rate-limited": 3}
    records = list(read_history(ended.directory / HISTORY))
    sent = Counter(record.key for record in records if isinstance(record, Sent) and record.arm == "candidate")
    assert set(sent.values()) == {1}
    assert {gateway.asked[key] for key in sent} == {1}
    refused = [record for record in records if isinstance(record, Done) and record.received.http_status == 429]
    assert len(refused) == 6  # three of the control, and three of the cell
    assert max(rested) > 0  # what came after the control was to wait
