"""The real engine: llama.cpp, SmolLM2, concurrency 8, n-gram candidate against a reference."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from fuzzer.demo import NONE, boot_llama, llama_model
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Stage
from fuzzer.manifest import HISTORY
from fuzzer.run import gate
from fuzzer.summary import CellSummary
from tests.cli.conftest import specfuzz

pytestmark = pytest.mark.real_engine


def test_a_swapped_last_message_fails_and_names_donor_and_channel(tmp_path: Path) -> None:
    result = specfuzz(
        "demo", "--engine", "llamacpp", "--fault", "last-message-swap", "--requests", "16", folder=tmp_path
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
    _figures_agree_with_the_engines_own(run.directory, measured)


def _figures_agree_with_the_engines_own(directory: Path, cell: CellSummary) -> None:
    """The report's figures against the counters, and against the ``timings`` and ``usage`` of all replies."""
    records = list(read_history(directory / HISTORY))
    for arm, speed in (("candidate", cell.speed.candidate), ("reference", cell.speed.reference)):
        own = [one for one in exchanges(records) if (one.sent.cell, one.sent.arm) == (cell.key, arm)]
        received = [one.received for one in own if one.received is not None and one.ok]
        stages = [one for one in records if isinstance(one, Stage) and (one.cell, one.arm) == (cell.key, arm)]
        counted = sum(
            (one.after.generated_tokens or 0) - (one.before.generated_tokens or 0)
            for one in stages
            if one.before is not None and one.after is not None
        )
        told = sum(reply.usage.completion_tokens or 0 for reply in received if reply.usage is not None)
        seconds = sum(one.seconds for one in stages)
        assert speed is not None
        assert speed.tokens_per_second == pytest.approx(counted / seconds, rel=0.02)
        assert speed.tokens_per_second == pytest.approx(told / seconds, rel=0.02)
        if arm == "candidate":
            drafts = [reply.draft for reply in received if reply.draft is not None]
            assert cell.acceptance is not None
            assert cell.acceptance.drafted == pytest.approx(sum(draft.drafted for draft in drafts), rel=0.02)
            assert cell.acceptance.accepted == pytest.approx(sum(draft.accepted for draft in drafts), rel=0.02)


@pytest.mark.anyio
async def test_a_candidate_without_speculation_is_inconclusive(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        plan = await boot_llama(stack, llama_model(None), NONE, seed=0, requests=8, speculation=False)
        run = await gate(plan, out=tmp_path)
    assert run.summary.exit_status == 3
    assert [reason.code for reason in run.summary.reasons] == ["no-speculation"]
