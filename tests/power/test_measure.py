"""Real measurements, small: two faults on the same servers, and the command that goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzzer.power.jobs import Job
from fuzzer.power.measure import Bench, measure
from fuzzer.power.program import program_state
from tests.cli.conftest import specfuzz

pytestmark = pytest.mark.anyio


async def test_a_planted_swap_is_found_with_its_donor_and_the_servers_take_the_next_job(tmp_path: Path) -> None:
    async with Bench() as bench:
        row = await measure(Job("find", "last-message-swap", "rounds", 4, 3, 0.3), bench, tmp_path)
        off = await measure(Job("find", "spec-off", "closed-loop", 4, 3, 1.0), bench, tmp_path)
    assert row is not None
    assert off is not None
    assert (row.exit, row.found, row.kind_ok) == (1, True, True)
    assert row.donors.get("right", 0) > 0
    assert not row.donors.get("wrong")
    assert row.first is not None
    assert row.first <= row.exchanges
    assert row.cpu > 0
    assert row.program == program_state()
    assert (off.exit, off.found, off.kind_ok, off.struck) == (3, True, True, 0)


def test_the_command_keeps_its_results_and_goes_on(tmp_path: Path) -> None:
    arguments = [
        "power", "--faults", "spec-off", "--schedules", "rounds", "--seeds", "1", "--start", "5", "--json",
        "--out", str(tmp_path / "rows.jsonl"), "--markdown", str(tmp_path / "power.md"),
    ]  # fmt: skip
    first, second = specfuzz(*arguments), specfuzz(*arguments)
    assert "1 are to do" in first.err
    assert "0 are to do" in second.err
    assert (first.status, second.status) == (0, 0)
    assert first.out == second.out
    (line,) = json.loads(first.out)["faults"]
    assert (line["fault"], line["schedule"], line["power"]["k"]) == ("spec-off", "rounds", 1)
    assert "specfuzz power --faults spec-off" in (tmp_path / "power.md").read_text(encoding="utf-8")


def test_an_unknown_fault_is_a_mistake() -> None:
    result = specfuzz("power", "--faults", "gremlin")
    assert result.status == 2
    assert "gremlin" in result.err
