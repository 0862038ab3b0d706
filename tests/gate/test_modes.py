"""The gate's ways of asking, on a healthy simulated pair: each comes to its verdict, and says what it did."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fuzzer.finding import Finding
from fuzzer.history.journal import read_history
from fuzzer.history.records import Prompt, Sent
from fuzzer.manifest import FINDINGS, FUZZ, HISTORY
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.prompts import fuzz
from fuzzer.run import Run, gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

pytestmark = pytest.mark.anyio

SMALL = Policy(requests=24, control_requests=8, max_wrong_rate=0.12)


@asynccontextmanager
async def ends(*, reference: bool = True) -> AsyncIterator[dict[str, tuple[Endpoint, ...]]]:
    async with SimServer(SimConfig(speculative=True)) as candidate, SimServer(SimConfig()) as other:
        yield {
            "candidates": (Endpoint(name="candidate", url=candidate.url),),
            "references": (Endpoint(name="reference", url=other.url),) if reference else (),
        }


async def run(folder: Path, more: Mapping[str, object] | None = None, *, reference: bool = True) -> Run:
    async with ends(reference=reference) as pair:
        plan = Plan.model_validate(
            {"policy": SMALL, "schedules": ("closed-loop",), "concurrency": (1, 4), **pair, **(more or {})}
        )
        return await gate(plan, out=folder)


@pytest.mark.parametrize(
    "more",
    [
        {"schedules": ("rounds",)},
        {"schedules": ("replicas",), "policy": Policy(requests=24, control_requests=8, max_wrong_rate=0.12)},
        {"schedules": ("shared-prefix-cancel", "hot-neighbours", "multi-turn")},
        {"schedules": ("mixed-lengths", "long-pairs", "warm-replay")},
        {"sampling": Sampling(stream=False)},
        {"sampling": Sampling(cache="cold")},
        {"concurrency": (1,)},
        {"concurrency": (3, 5)},
        {"corpora": ("gate",), "families": ("code-word",)},
    ],
    ids=lambda more: next(iter(more)) + "=" + str(next(iter(more.values())))[:24],
)
async def test_a_clean_pair_passes(tmp_path: Path, more: dict[str, object]) -> None:
    ended = await run(tmp_path, more)
    assert ended.summary.verdict == "pass", ended.summary.reasons
    assert all(cell.rate.n >= 8 for cell in ended.summary.cells)


async def test_without_a_reference_every_judged_prompt_is_also_asked_alone(tmp_path: Path) -> None:
    ended = await run(tmp_path, reference=False)
    assert ended.summary.verdict == "pass", ended.summary.reasons
    assert "no reference" in ended.summary.scope
    sent = [record for record in read_history(ended.directory / HISTORY) if isinstance(record, Sent)]
    measured = [record for record in sent if record.phase == "measure"]
    alone = {record.prompt for record in measured if record.concurrency == 1}
    assert {record.prompt for record in measured if record.concurrency == 4} <= alone
    assert {record.arm for record in sent} == {"candidate"}


async def test_the_same_seed_and_plan_send_the_same_prompts_in_the_same_schedule(tmp_path: Path) -> None:
    def told(ended: Run) -> tuple[list[tuple[str, str]], dict[str, str]]:
        records = list(read_history(ended.directory / HISTORY))
        sent = [record for record in records if isinstance(record, Sent) and record.phase != "filler"]
        prompts = {record.id: record.model_dump_json() for record in records if isinstance(record, Prompt)}
        wanted = {record.prompt for record in sent}
        return [(record.key, record.prompt) for record in sent], {key: prompts[key] for key in wanted}

    first, second = [told(await run(tmp_path / name)) for name in ("a", "b")]
    assert sorted(first[0]) == sorted(second[0])
    assert first[1] == second[1]


async def test_examples_at_the_edges_come_first_and_those_with_findings_are_kept(tmp_path: Path) -> None:
    ended = await run(tmp_path, {"fuzz": 30, "policy": Policy(requests=48, control_requests=8, max_wrong_rate=0.12)})
    assert ended.summary.exit_status in (0, 3), ended.summary.reasons  # some are too odd for the model: not judged
    drawn = fuzz.load(ended.directory / FUZZ)
    assert len(drawn) == 30
    asked = {record.id: record for record in read_history(ended.directory / HISTORY) if isinstance(record, Prompt)}
    assert asked["p000000"].messages == drawn[0].messages
    named = {Finding.model_validate_json(line).prompt for line in (ended.directory / FINDINGS).read_text().splitlines()}
    kept = fuzz.load(ended.directory / fuzz.EXAMPLES)
    assert {f"p{prompt.id[1:]}" for prompt in kept} == named & {f"p{prompt.id[1:]}" for prompt in drawn}


async def test_the_last_rows_of_a_corpus_are_measured_too_and_that_they_were_too_few_is_said(tmp_path: Path) -> None:
    rows = [
        {"messages": [{"role": "user", "content": f"What is {n} + 5?"}], "answer": str(n + 5), "check": "number"}
        for n in range(11, 31)
    ]
    corpus = tmp_path / "sums.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    ended = await run(tmp_path / "runs", {"corpora": (str(corpus),)})
    assert ended.summary.verdict == "inconclusive"
    cell = next(cell for cell in ended.summary.cells if cell.concurrency == 4)
    assert 15 <= cell.rate.n <= 20
    assert any("of its 20 prompts can be judged here" in reason.message for reason in ended.summary.reasons)
