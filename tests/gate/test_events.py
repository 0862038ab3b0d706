"""What a listener hears while a run goes on: findings as they are seen, and each cell's standing as it ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.events import CellDecided, Event, ExchangeDone, ExchangeSent, FindingSeen, RunFinished
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.report.status import STATUS_FILE, Status, StatusFile
from fuzzer.run import gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

pytestmark = pytest.mark.anyio


async def test_findings_and_cells_are_told_before_the_verdict(tmp_path: Path) -> None:
    heard: list[Event] = []
    faulty = SimConfig(speculative=True, faults={"last-message-swap": 0.3})
    async with SimServer(faulty) as candidate, SimServer(SimConfig()) as reference:
        plan = Plan(
            candidates=(Endpoint(name="candidate", url=candidate.url),),
            references=(Endpoint(name="reference", url=reference.url),),
            policy=Policy(control_requests=8),
            schedules=("closed-loop",),
            concurrency=(1, 4),
        )
        ended = await gate(plan, out=tmp_path, listeners=(heard.append, StatusFile()))
    assert isinstance(heard[-1], RunFinished)
    told = [event.finding for event in heard if isinstance(event, FindingSeen)]
    assert {finding.key for finding in told} == {group.key for group in ended.summary.findings}
    decided = {event.cell: event.status for event in heard if isinstance(event, CellDecided)}
    assert decided == {cell.key: cell.status for cell in ended.summary.cells}
    assert "fail" in decided.values()
    sent, done = (sum(isinstance(event, kind) for event in heard) for kind in (ExchangeSent, ExchangeDone))
    assert sent == done > 0
    status = Status.model_validate_json((ended.directory / STATUS_FILE).read_text(encoding="utf-8"))
    assert (status.state, status.in_flight, status.exchanges) == ("finished", 0, done)
    assert status.findings.certain + status.findings.likely + status.findings.possible == len(told)
    assert status.acceptance_length is not None
    assert status.acceptance_length > 1
