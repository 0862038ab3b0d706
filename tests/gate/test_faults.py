"""The whole zoo at its stated rates, under the traffic that each fault needs: exit status, kind of finding, donor.

How surely each is found is measured with many more seeds (reports/power.md).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fuzzer.power.jobs import clean_jobs, fault_jobs
from fuzzer.power.measure import Bench, measure
from fuzzer.sim.faults import FAULTS

pytestmark = pytest.mark.anyio

SEEDS = (1001, 1002)
# Twice what brought a gate the most trouble; for more seeds of the rest there is no time in CI.
TWICE = ("page-reuse", "poisoned-prefix", "stale-answer", "stale-slot", "unconditioned")
RUNS = [(fault, seed) for seed in SEEDS for fault in FAULTS if seed == SEEDS[0] or fault in TWICE]


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """As elsewhere, but for the whole module, whose servers outlive a test."""
    return "asyncio"


@pytest.fixture(scope="module")
async def bench() -> AsyncIterator[Bench]:
    """A pair of servers that takes one configuration after another."""
    async with Bench() as pair:
        yield pair


@pytest.mark.parametrize(("fault", "seed"), RUNS)
async def test_a_fault_is_found(bench: Bench, tmp_path: Path, fault: str, seed: int) -> None:
    job = next(job for job in fault_jobs([fault], [seed]) if job.purpose == "find")
    row = await measure(job, bench, tmp_path)
    assert row is not None
    assert row.found, row
    assert row.kind_ok, row
    assert not row.donors.get("wrong"), row
    assert row.donors or not FAULTS[fault].donors, row


async def test_a_clean_pair_passes_the_default_gate(bench: Bench, tmp_path: Path) -> None:
    (job,) = clean_jobs(1, 0, 1001)
    row = await measure(job, bench, tmp_path)
    assert row is not None
    assert row.exit == 0, row
