"""Speed at a temperature over 0: measured in blocks of its own, judged by nobody."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from fuzzer.history.journal import read_history
from fuzzer.history.records import Block, Sent, Stage
from fuzzer.manifest import HISTORY
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.run import gate, rejudge
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving

pytestmark = pytest.mark.anyio


async def test_sampled_blocks_are_timed_and_nothing_else(tmp_path: Path) -> None:
    async with (
        serving(SimConfig(speculative=True, step_seconds=0.0)) as ours,
        serving(SimConfig(step_seconds=0.0)) as theirs,
    ):
        plan = Plan.model_validate(
            {
                "candidates": (Endpoint(name="candidate", url=ours),),
                "references": (Endpoint(name="reference", url=theirs),),
                "policy": Policy(requests=24, control_requests=4, max_wrong_rate=0.12),
                "schedules": ("closed-loop",),
                "concurrency": (1, 4),
                "families": ("echo",),
                "speed_temperature": 0.8,
                "p50_concurrency": 4,
            }
        )
        ended = await gate(plan, out=tmp_path)
    assert ended.summary.verdict == "pass", ended.summary.reasons
    assert ended.summary.p50_concurrency == 4
    records = list(read_history(ended.directory / HISTORY))
    hot = [record for record in records if isinstance(record, Sent) and record.overrides.temperature == 0.8]
    assert {record.cell.rpartition("/")[2] for record in hot} == {"speed"}
    timed = Counter((record.concurrency, record.arm) for record in hot if record.phase == "speed")
    assert len(timed) == 4
    assert len(set(timed.values())) == 1
    stages = [record for record in records if isinstance(record, Stage) and record.phase == "speed"]
    assert [stage.arm for stage in stages[:4]] == ["candidate", "reference", "reference", "candidate"]
    assert all(not record.judged_prompts for record in records if isinstance(record, Block) and "speed" in record.cell)
    told = {sampled.concurrency: sampled for sampled in ended.summary.sampled}
    assert set(told) == {1, 4}
    assert told[4].temperature == 0.8
    assert told[4].speed.candidate is not None
    assert told[4].speed.speed_up is not None
    assert told[4].acceptance is not None
    assert told[4].acceptance.drafted > 0
    for cell in ended.summary.cells:
        assert cell.speed.candidate is not None
        assert cell.speed.candidate.end_to_end is not None
        assert cell.speed.candidate.end_to_end.n == cell.arms["candidate"].completed
    assert rejudge(ended.directory).sampled == ended.summary.sampled
