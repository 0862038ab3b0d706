"""Runs of different days in one table: paired between heads where they agree, refused with the reason where not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.merge import merge
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.run import Run, gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from tests.cli.conftest import specfuzz

pytestmark = pytest.mark.anyio

POLICY = Policy(requests=48, control_requests=8, max_wrong_rate=0.12)


async def run(out: Path, head: str, *, model: str = "sim-model", **more: object) -> Run:
    faulty = SimConfig(speculative=True, lm_head=head, model=model, faults={"verify-drift": 1.0})
    async with SimServer(faulty) as candidate, SimServer(SimConfig(lm_head=head, model=model)) as reference:
        told = {
            "candidates": (Endpoint(name=head, url=candidate.url, lm_head=head),),
            "references": (Endpoint(name="reference", url=reference.url, lm_head=head),),
            "policy": POLICY,
            "schedules": ("closed-loop",),
            "concurrency": (1, 8),
            "families": ("code-word", "keyed-json"),
        }
        return await gate(Plan.model_validate(told | more), out=out, run_id=head)


async def test_two_days_become_one_table_and_unlike_ones_are_refused(tmp_path: Path) -> None:
    monday, tuesday = await run(tmp_path, "nvfp4"), await run(tmp_path, "bf16")
    merged = merge([monday.directory, tuesday.directory])
    assert merged.merged == ("nvfp4", "bf16")
    assert {cell.lm_head for cell in merged.cells} == {"nvfp4", "bf16"}
    assert len(merged.cells) == len(monday.summary.cells) + len(tuesday.summary.cells)
    at_8 = next(row for row in merged.comparisons if row.concurrency == 8)
    assert at_8.left_rate.n >= 24
    assert at_8.b >= at_8.c
    told = specfuzz("report", str(monday.directory), str(tuesday.directory), "--quiet", "--out", str(tmp_path / "both"))
    assert (told.status, told.out.count("\n")) == (0, 1)
    (folder,) = (tmp_path / "both").iterdir()
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f'<th scope="col">{head}</th>' in page for head in ("nvfp4", "bf16"))
    assert "the victim&#39;s prompt" in page
    assert merged.exit_status == max(monday.summary.exit_status, tuesday.summary.exit_status, key=(0, 3, 1).index)

    other_seed = await run(tmp_path / "seed", "fp8", seed=1)
    other_model = await run(tmp_path / "model", "fp8", model="another-model")
    for directory, why in (
        (other_seed.directory, "seed is 0 in the one and 1 in the other"),
        (other_model.directory, "the reference of the second"),
        (monday.directory, "both hold the cell nvfp4/nvfp4/c1"),
    ):
        with pytest.raises(UsageError, match=why):
            merge([monday.directory, directory])
    with pytest.raises(UsageError, match="two runs or more"):
        merge([monday.directory])
