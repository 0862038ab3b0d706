"""Preflight as a part of a run: recorded like all else, counted nowhere, and not asked again when the run goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from fuzzer.history.journal import read_history
from fuzzer.history.records import Prompt, Sent
from fuzzer.manifest import HISTORY
from fuzzer.plan import Policy
from fuzzer.prompts.questions import OPEN
from fuzzer.run import Run, gate, resume
from fuzzer.sim.config import SimConfig

from .pairs import DRAFTS, PLAIN, pair, plan

pytestmark = pytest.mark.anyio

SMALL: dict[str, Any] = {
    "policy": Policy(requests=12, control_requests=4, max_wrong_rate=0.3),
    "schedules": ("closed-loop",),
    "concurrency": (1, 3),
    "families": ("echo",),
}


async def run(folder: Path, candidate: SimConfig) -> Run:
    async with pair(candidate, SimConfig(**PLAIN)) as (ours, theirs):
        return await gate(plan(ours, theirs, **SMALL), out=folder)


async def test_its_questions_are_recorded_and_in_no_rate(tmp_path: Path) -> None:
    ended = await run(tmp_path, SimConfig(**DRAFTS))
    assert ended.summary.verdict == "pass", ended.summary.reasons
    records = list(read_history(ended.directory / HISTORY))
    questions = {question.id for question in OPEN}
    asked = [record for record in records if isinstance(record, Sent) and record.prompt in questions]
    assert {record.phase for record in asked} == {"preflight"}
    assert {record.arm for record in asked} == {"candidate", "reference"}
    assert all(record.in_flight == 1 for record in asked)
    assert len(asked) <= 2 * 13
    assert all(record.cell.endswith("/speed") for record in asked if record.overrides.temperature)
    assert questions <= {record.id for record in records if isinstance(record, Prompt)}
    for cell in ended.summary.cells:
        assert cell.arms["candidate"].sent == cell.rate.n
    assert "preflight" not in {row.family for row in ended.summary.calibration}
    assert ended.summary.findings == ()


async def test_what_it_refuses_ends_the_run_with_status_3_and_is_in_the_summary(tmp_path: Path) -> None:
    ended = await run(tmp_path, SimConfig(**DRAFTS, ignores=("temperature",)))
    assert ended.summary.exit_status == 3
    assert [reason.code for reason in ended.summary.reasons] == ["not-comparable"]
    preflight = ended.summary.preflight
    assert preflight is not None
    assert [(check.code, check.severity) for check in preflight.checks] == [("temperature-ignored", "blocking")]
    told = json.loads(ended.summary.model_dump_json())["preflight"]["checks"][0]
    assert told["change"]
    sent = [record for record in read_history(ended.directory / HISTORY) if isinstance(record, Sent)]
    assert {record.phase for record in sent} <= {"preflight", "warmup"}


async def test_a_run_that_goes_on_does_not_ask_again(tmp_path: Path) -> None:
    async with pair(SimConfig(**DRAFTS), SimConfig(**PLAIN)) as (ours, theirs):
        ended = await gate(plan(ours, theirs, **SMALL), out=tmp_path)
        path = ended.directory / HISTORY
        lines = path.read_bytes().splitlines(keepends=True)
        first = next(place for place, line in enumerate(lines) if b'"phase":"measure"' in line)
        path.write_bytes(b"".join(lines[: first + 1]))
        await anyio.to_thread.run_sync(resume, ended.directory)
    asked = [record for record in read_history(path) if isinstance(record, Sent) and record.phase == "preflight"]
    assert {record.block for record in asked} == {0}
