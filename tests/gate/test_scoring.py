"""A gate whose reference scores: regrets are told, judged again from the history alone, and asked for once."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import to_thread

from fuzzer.history.journal import read_history
from fuzzer.history.records import Done, Stage
from fuzzer.history.scores import Scored
from fuzzer.manifest import HISTORY
from fuzzer.noise import NoiseFloor
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.run import Run, gate, rejudge, resume
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.summary import Summary

pytestmark = pytest.mark.anyio
SMALL = Policy(requests=48, control_requests=4, max_wrong_rate=0.12)
LEAST = Policy(requests=24, control_requests=4, max_wrong_rate=0.12)


@asynccontextmanager
async def planned(
    faults: dict[str, float] | None = None, policy: Policy = SMALL, **reference: str
) -> AsyncIterator[Plan]:
    drafting = SimConfig(speculative=True, faults=faults or {}, step_seconds=0)
    async with SimServer(drafting) as candidate, SimServer(SimConfig(step_seconds=0)) as other:
        yield Plan(
            candidates=(Endpoint(name="candidate", url=candidate.url, lm_head="bf16"),),
            references=(Endpoint.model_validate({"name": "reference", "url": other.url, **reference}),),
            schedules=("closed-loop",),
            policy=policy,
        )


async def run(folder: Path, faults: dict[str, float] | None = None, policy: Policy = SMALL, **reference: str) -> Run:
    async with planned(faults, policy, **reference) as plan:
        return await gate(plan, out=folder)


def floor(summary: Summary) -> NoiseFloor:
    found = next(cell.noise_floor for cell in summary.cells if cell.role == "gated")
    assert found is not None
    return found


async def test_outputs_that_part_are_scored_and_a_healthy_pair_has_small_regrets(tmp_path: Path) -> None:
    ended = await run(tmp_path)
    assert ended.summary.verdict == "pass", ended.summary.reasons
    regret = floor(ended.summary).regret
    assert regret is not None
    assert regret.used
    assert regret.scored > 0
    assert regret.tokens == sum(regret.bins) > 1000
    assert regret.worst < regret.band_material
    assert floor(ended.summary).b == 0
    assert floor(ended.summary).tie_tokens > 1000
    against = {(row.arm, row.against) for row in floor(ended.summary).strays}
    assert against == {(arm, other) for arm in ("candidate", "reference") for other in ("itself", "alone")}
    history = list(read_history(ended.directory / HISTORY))
    stages = [record.key for record in history if isinstance(record, Stage)]
    scored = [record for record in history if isinstance(record, Scored)]
    assert {record.endpoint for record in scored} == {"reference"}
    done = {record.key for record in history if isinstance(record, Done)}
    assert {record.key for record in scored} <= done
    assert len({record.key for record in scored}) == len(scored)
    assert len(stages) == len(set(stages))
    assert rejudge(ended.directory) == ended.summary


async def test_a_foreign_token_has_a_large_regret(tmp_path: Path) -> None:
    ended = await run(tmp_path, {"row-swap": 0.3})
    regret = floor(ended.summary).regret
    assert regret is not None
    assert regret.used
    assert regret.worst > 2
    assert floor(ended.summary).b > 6
    material = next(group for group in ended.summary.findings if group.sub_kind == "material")
    assert "regret" in material.example.evidence


async def test_an_engine_that_cannot_score_is_judged_by_margins(tmp_path: Path) -> None:
    ended = await run(tmp_path, policy=LEAST, engine="openai", model="sim-model")
    assert ended.summary.verdict == "pass", ended.summary.reasons
    regret = floor(ended.summary).regret
    assert regret is not None
    assert not regret.used
    assert "openai gives no log-probabilities" in regret.note


async def test_a_run_that_died_while_it_scored_goes_on_with_the_next_question(tmp_path: Path) -> None:
    async with planned(policy=LEAST) as plan:
        ended = await gate(plan, out=tmp_path)
        path = ended.directory / HISTORY
        lines = path.read_bytes().splitlines(keepends=True)
        scored = [place for place, line in enumerate(lines) if b'"type":"scored"' in line[:20]]
        path.write_bytes(b"".join(lines[: scored[len(scored) // 2] + 1]))
        again = await to_thread.run_sync(resume, ended.directory)
    records = list(read_history(path))
    keys = Counter(record.key for record in records if isinstance(record, Scored))
    assert set(keys.values()) == {1}
    assert len(keys) > len(scored) // 2 + 1
    assert again.summary.verdict == "pass", again.summary.reasons
    assert again.summary.resumed == 1
    assert floor(again.summary).regret == floor(rejudge(ended.directory)).regret
