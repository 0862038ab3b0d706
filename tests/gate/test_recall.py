"""The second gate of the day recalls what the control said in the first; a server that has changed is asked anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.history.journal import read_history
from fuzzer.history.records import Recalled, Sent
from fuzzer.manifest import HISTORY
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.recall import FILE
from fuzzer.run import Run, gate, rejudge
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

pytestmark = pytest.mark.anyio

POLICY = Policy(requests=24, control_requests=8, max_wrong_rate=0.12)


async def run(out: Path, candidate: str, reference: str, **more: object) -> Run:
    plan = {
        "candidates": (Endpoint(name="candidate", url=candidate),),
        "references": (Endpoint(name="reference", url=reference),),
        "policy": POLICY,
        "schedules": ("closed-loop",),
        "concurrency": (1, 4),
        **more,
    }
    return await gate(Plan.model_validate(plan), out=out)


def recalled(ended: Run) -> int:
    return sum(isinstance(record, Recalled) for record in read_history(ended.directory / HISTORY))


def asked_alone(ended: Run) -> int:
    return sum(
        isinstance(record, Sent) and record.phase == "calibration" and record.concurrency == 1
        for record in read_history(ended.directory / HISTORY)
    )


async def test_the_second_gate_recalls_what_the_first_was_told_and_comes_to_the_same_verdict(tmp_path: Path) -> None:
    async with SimServer(SimConfig(speculative=True)) as candidate, SimServer(SimConfig()) as reference:
        first = await run(tmp_path, candidate.url, reference.url)
        second = await run(tmp_path, candidate.url, reference.url)
    assert (tmp_path / FILE).exists()
    assert recalled(first) == 0
    assert recalled(second) > 0
    assert asked_alone(second) < asked_alone(first)
    assert first.summary.verdict == second.summary.verdict == "pass"
    assert sum(row.recalled for row in second.summary.calibration) == recalled(second)
    assert rejudge(second.directory).cells == second.summary.cells


async def test_another_build_at_the_same_address_is_asked_anew(tmp_path: Path) -> None:
    async with SimServer(SimConfig(speculative=True)) as candidate:
        async with SimServer(SimConfig()) as reference:
            await run(tmp_path, candidate.url, reference.url)
            port = int(reference.url.rsplit(":", 1)[1])
        # Same address, same name, same version by its own word; but it answers otherwise.
        async with SimServer(SimConfig(port=port, faults={"token-noise": 1.0})) as other:
            second = await run(tmp_path, candidate.url, other.url)
    assert recalled(second) == 0


async def test_nothing_is_remembered_where_texts_are_to_stay_out_of_files(tmp_path: Path) -> None:
    async with SimServer(SimConfig(speculative=True)) as candidate, SimServer(SimConfig()) as reference:
        await run(tmp_path, candidate.url, reference.url, redact_content=True)
    assert not (tmp_path / FILE).exists()


async def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is no database, and never was" * 100)
    async with SimServer(SimConfig(speculative=True)) as candidate, SimServer(SimConfig()) as reference:
        assert (await run(tmp_path, candidate.url, reference.url)).summary.verdict == "pass"
