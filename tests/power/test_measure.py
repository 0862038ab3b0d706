"""Real measurements, small: two faults on the same servers, and the command that goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzzer.finding import Donor
from fuzzer.power.jobs import Job
from fuzzer.power.measure import Bench, donors_of, measure
from fuzzer.power.program import program_state
from tests.cli.conftest import specfuzz
from tests.oracles.factory import exchange
from tests.report.factory import finding

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


def test_an_answer_may_be_that_of_several_in_turn_and_a_donor_may_have_one_itself() -> None:
    history = [exchange(name, index=place) for place, name in enumerate(("p000000", "p000001", "p000002", "p000003"))]
    victim, first, second, third = (item.key for item in history)
    planted = {victim: {first, second}, second: {third}, third: set[str]()}
    for prompt, told in (("p000001", "right"), ("p000002", "right"), ("p000003", "right"), ("p000009", "wrong")):
        donor = Donor(prompt=prompt, channel="user", span="x", when="concurrent")
        found = finding("bleed", "concurrent", "certain").model_copy(update={"exchange": victim, "donor": donor})
        assert donors_of([found], planted, history) == {told: 1}
    assert donors_of([found.model_copy(update={"exchange": third})], planted, history) == {}


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
