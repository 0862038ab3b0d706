"""The real engine: llama.cpp, SmolLM2, concurrency 8, n-gram candidate against a reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import specfuzz

pytestmark = pytest.mark.real_engine


def test_a_clean_pair_passes(tmp_path: Path) -> None:
    result = specfuzz("demo", "--engine", "llamacpp", folder=tmp_path)
    assert result.status == 0, result.out
    assert "REAL" in result.err
    measured = next(cell for cell in result.summary()["cells"] if cell["role"] == "gated")
    assert measured["concurrency"] == 8
    assert measured["rate"] == {"k": 0, "n": 60, "wilson": measured["rate"]["wilson"]}
    assert measured["acceptance"]["drafted"] > 0
    assert measured["achieved"]["candidate"]["share_at_n"] >= 0.99


def test_a_swapped_last_message_fails_and_names_donor_and_channel(tmp_path: Path) -> None:
    result = specfuzz(
        "demo", "--engine", "llamacpp", "--fault", "last-message-swap", "--requests", "24", folder=tmp_path
    )
    assert result.status == 1, result.out
    findings = [json.loads(line) for line in (result.directory / "findings.jsonl").read_text().splitlines()]
    bleeds = [item for item in findings if item["kind"] == "bleed" and item["certainty"] == "certain"]
    assert bleeds
    assert {item["donor"]["channel"] for item in bleeds} == {"user"}
    assert all(item["donor"]["prompt"] != item["prompt"] and item["donor"]["when"] == "concurrent" for item in bleeds)
    assert bleeds[0]["donor"]["prompt"] in result.out


async def _without_speculation(folder: Path) -> tuple[int, list[str]]:
    from contextlib import AsyncExitStack

    from fuzzer.demo import boot_llama, llama_model
    from fuzzer.run import gate

    async with AsyncExitStack() as stack:
        plan = await boot_llama(stack, llama_model(None), "none", seed=0, speculation=False)
        run = await gate(plan, out=folder)
    return run.summary.exit_status, [reason.code for reason in run.summary.reasons]


@pytest.mark.anyio
async def test_a_candidate_without_speculation_is_inconclusive(tmp_path: Path) -> None:
    assert await _without_speculation(tmp_path) == (3, ["no-speculation"])
