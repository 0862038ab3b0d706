"""Presets on simulated servers: the traffic of each finds, and bundles, the kind of bug that it is for."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path

import anyio
import pytest

from fuzzer.manifest import read_manifest
from fuzzer.plan import Endpoint, Plan
from fuzzer.repro.bundle import Bundle
from fuzzer.repro.collect import collect
from fuzzer.repro.presets import PRESETS
from fuzzer.repro.sweep import plan_of
from fuzzer.run import Run, gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

SEED = 3


async def _gated(preset: str, fault: str, requests: int, out: Path) -> Run:
    """The preset's first part, at a pair of servers one of which has the fault."""
    faulty = SimConfig(speculative=True, seed=SEED, faults={fault: 1.0})
    async with SimServer(faulty) as candidate, SimServer(SimConfig(seed=SEED)) as reference:
        base = Plan(
            candidates=(Endpoint(name="candidate", url=candidate.url),),
            references=(Endpoint(name="reference", url=reference.url),),
            seed=SEED,
        )
        wanted = PRESETS[preset]
        plan = plan_of(base, dataclasses.replace(wanted, serial=2), wanted.legs[0], requests)
        return await gate(plan, out=out)


@pytest.mark.parametrize(
    ("preset", "fault", "requests", "schedule", "families"),
    [
        ("wrong-context", "conversation-swap", 8, "multi-turn", {"conversation", "tool-call"}),
        ("cancel-retry", "page-reuse", 24, "shared-prefix-cancel", set[str]()),
    ],
)
def test_a_preset_finds_what_it_is_for(
    tmp_path: Path, preset: str, fault: str, requests: int, schedule: str, families: set[str]
) -> None:
    run = anyio.run(partial(_gated, preset, fault, requests, tmp_path))
    assert run.summary.exit_status == 1
    bundles = collect(run.directory, read_manifest(run.directory), run.summary)
    found = [bundle for bundle in bundles if bundle.schedule == schedule]
    assert "bleed" in {bundle.finding.kind for bundle in found}
    if families:
        assert _families(found) <= families


def _families(bundles: list[Bundle]) -> set[str]:
    return {prompt.family for bundle in bundles for prompt in bundle.cohort.prompts}
