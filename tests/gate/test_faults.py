"""Planted faults at their stated rates, under the traffic that they need: exit status, kind of finding, donor."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.power.jobs import clean_jobs, fault_jobs
from fuzzer.power.measure import Bench, measure
from fuzzer.sim.faults import FAULTS

pytestmark = pytest.mark.anyio

# Those whose detection is on record (reports/detection); the rest of the zoo joins when its table is measured.
RECORDED = (
    "acceptance-collapse", "collapse", "empty-200", "hang", "last-message-swap", "row-swap", "server-error", "spec-off",
    "stale-answer", "token-noise", "truncate", "verify-drift",
)  # fmt: skip


@pytest.mark.parametrize("seed", [1001, 1002])
@pytest.mark.parametrize("fault", RECORDED)
async def test_a_fault_is_found(tmp_path: Path, fault: str, seed: int) -> None:
    job = next(job for job in fault_jobs([fault], [seed]) if job.purpose == "find")
    async with Bench() as bench:
        row = await measure(job, bench, tmp_path)
    assert row is not None
    assert row.found, row
    assert row.kind_ok, row
    assert not row.donors.get("wrong"), row
    assert row.donors or not FAULTS[fault].donors, row


async def test_a_clean_pair_passes_the_default_gate(tmp_path: Path) -> None:
    (job,) = clean_jobs(1, 0, 1001)
    async with Bench() as bench:
        row = await measure(job, bench, tmp_path)
    assert row is not None
    assert row.exit == 0, row
