"""Two runs of one plan: a build that got worse is told, the same build is not, unlike runs are refused."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fuzzer.compare import compare
from fuzzer.errors import UsageError
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.report.compared import show
from fuzzer.report.render import open_screen
from fuzzer.run import gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

pytestmark = pytest.mark.anyio


async def run(out: Path, name: str, fault: str = "", **more: object) -> Path:
    faults = {fault: 0.5} if fault else {}
    async with SimServer(SimConfig(speculative=True, faults=faults)) as candidate, SimServer(SimConfig()) as reference:
        told = {
            "candidates": (Endpoint(name="candidate", url=candidate.url),),
            "references": (Endpoint(name="reference", url=reference.url),),
            "policy": Policy(requests=48, control_requests=8, max_wrong_rate=0.12),
            "schedules": ("closed-loop",),
            "concurrency": (1, 4),
            "families": ("code-word", "echo"),
        }
        return (await gate(Plan.model_validate(told | more), out=out, run_id=name)).directory


async def test_a_build_that_got_worse_is_told_and_the_same_build_is_not(tmp_path: Path) -> None:
    monday, tuesday = await run(tmp_path, "monday"), await run(tmp_path, "tuesday")
    same = compare(monday, tuesday)
    assert same.exit_status == 0
    assert {cell.outcome for cell in same.cells} == {"no difference shown"}
    assert all(cell.n >= 8 for cell in same.cells)

    wednesday = await run(tmp_path, "wednesday", "stale-answer")
    worse, better = compare(monday, wednesday), compare(wednesday, monday)
    assert worse.exit_status == 1
    assert any("new certain finding: bleed/" in text for text in worse.regressed)
    assert any(cell.outcome == "worse" for cell in worse.cells)
    assert better.exit_status == 0
    assert any(cell.outcome == "better" for cell in better.cells)
    assert {one.state for one in better.findings if one.certain} == {"gone"}
    out = io.StringIO()
    show(worse, open_screen(out, 120))
    assert out.getvalue().startswith("WORSE: ")

    other = await run(tmp_path, "other", seed=5)
    with pytest.raises(UsageError, match="seed is 0 in the one and 5 in the other"):
        compare(monday, other)
