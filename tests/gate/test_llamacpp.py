"""The real engine: llama.cpp, SmolLM2, concurrency 8, n-gram candidate against a reference."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fuzzer.demo import NONE, boot_llama, llama_model
from fuzzer.run import gate
from tests.cli.conftest import specfuzz

pytestmark = pytest.mark.real_engine


def test_a_swapped_last_message_fails_and_names_donor_and_channel(tmp_path: Path) -> None:
    result = specfuzz(
        "demo", "--engine", "llamacpp", "--fault", "last-message-swap", "--requests", "24", folder=tmp_path
    )
    assert result.status == 1, result.out
    assert "REAL" in result.err
    findings = [json.loads(line) for line in (result.directory / "findings.jsonl").read_text().splitlines()]
    bleeds = [item for item in findings if item["kind"] == "bleed" and item["certainty"] == "certain"]
    assert bleeds
    assert {item["donor"]["channel"] for item in bleeds} == {"user"}
    assert all(item["donor"]["prompt"] != item["prompt"] and item["donor"]["when"] == "concurrent" for item in bleeds)
    assert bleeds[0]["donor"]["prompt"] in result.out


@pytest.mark.anyio
async def test_a_clean_pair_passes(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        plan = await boot_llama(stack, llama_model(None), NONE, seed=0)
        fewer = plan.policy.model_copy(update={"requests": 36, "max_wrong_rate": 0.08, "control_requests": 16})
        run = await gate(plan.model_copy(update={"policy": fewer}), out=tmp_path)
    assert run.summary.exit_status == 0, run.summary.reasons
    (measured,) = (cell for cell in run.summary.cells if cell.role == "gated")
    assert measured.concurrency == 8
    assert (measured.rate.k, measured.rate.n) == (0, 36)
    assert measured.acceptance is not None
    assert measured.acceptance.drafted > 0
    assert measured.achieved["candidate"].share_at_n >= 0.99


@pytest.mark.anyio
async def test_a_candidate_without_speculation_is_inconclusive(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        plan = await boot_llama(stack, llama_model(None), NONE, seed=0, speculation=False)
        run = await gate(plan, out=tmp_path)
    assert run.summary.exit_status == 3
    assert [reason.code for reason in run.summary.reasons] == ["no-speculation"]
