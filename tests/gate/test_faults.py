"""Every planted fault at its stated rate, at the gate's default size: exit status, kind of finding, donor."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.detection import EXPECTED, measure

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", [1001, 1002])
@pytest.mark.parametrize("fault", EXPECTED)
async def test_a_fault_is_found_and_a_clean_pair_passes(tmp_path: Path, fault: str, seed: int) -> None:
    row = await measure(fault, seed, tmp_path)
    assert row["exit"] == EXPECTED[fault][0], row
    assert row["kind_ok"], row
    assert row["donor_ok"], row
