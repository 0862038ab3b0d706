"""The command beside a finding: its bundle's replay where there is one, else the gate of its cell as it was planned."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from fuzzer.finding import Finding
from fuzzer.manifest import new_manifest, write_manifest
from fuzzer.options import build_plan
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.report.page.replay import Replays, rerun

from . import factory

PLAN = Plan(
    candidates=(
        Endpoint(name="fp4", url="http://127.0.0.1:1", lm_head="nvfp4", api_key_env="KEY"),
        Endpoint(name="half", url="http://127.0.0.1:2", lm_head="bf16"),
    ),
    references=(Endpoint(name="reference", url="http://127.0.0.1:3", lm_head="nvfp4", model="m"),),
    concurrency=(1, 8, 16),
    families=("echo", "sort"),
    corpora=("traffic log.jsonl",),
    seed=7,
    sampling=Sampling(stream=False, max_tokens=99),
    policy=Policy(requests=48),
)


def seen(cell: str) -> Finding:
    return factory.bleed().model_copy(update={"cell": cell})


def options(command: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for word in shlex.split(command)[2:]:
        if word.startswith("--"):
            last = found.setdefault(word, [])
        else:
            last.append(word)
    return found


def test_the_command_gates_the_finding_s_cell_as_the_plan_had_it() -> None:
    given = options(rerun(PLAN, seen("fp4/nvfp4/c16/burst-solo")) or "")
    assert given["--candidate"] == ["fp4=http://127.0.0.1:1"]
    assert given["--corpus"] == ["traffic log.jsonl"]
    again = build_plan(
        {
            "candidate": given["--candidate"], "reference": given["--reference"], "lm_head": given["--lm-head"],
            "concurrency": given["--concurrency"][0], "schedule": given["--schedule"], "seed": given["--seed"][0],
            "family": given["--family"], "corpus": given["--corpus"], "max_tokens": given["--max-tokens"][0],
            "requests": given["--requests"][0], "api_key_env": given["--api-key-env"][0], "stream": False,
            "reference_model": given["--reference-model"][0],
        }
    )  # fmt: skip
    assert "--no-stream" in given
    assert [cell.key for cell in again.gated] == ["fp4/nvfp4/c16/closed-loop", "fp4/nvfp4/c16/burst-solo"]
    assert (again.seed, again.families, again.corpora, again.sampling) == (
        PLAN.seed, PLAN.families, PLAN.corpora, PLAN.sampling,
    )  # fmt: skip
    assert (again.candidates[0], again.references[0].url) == (PLAN.candidates[0], PLAN.references[0].url)


@pytest.mark.parametrize(
    ("cell", "levels", "candidates"),
    [
        ("half/bf16/c8/calibration", "1,8", 1),
        ("half/bf16/c1/closed-loop", "1", 1),
        ("half/preflight", "1,8,16", 1),
        ("reference/preflight", "1,8,16", 2),
    ],
)
def test_what_was_seen_outside_of_a_cell_is_asked_as_the_run_asked(cell: str, levels: str, candidates: int) -> None:
    given = options(rerun(PLAN, seen(cell)) or "")
    assert (given["--concurrency"], given["--schedule"]) == ([levels], ["closed-loop,burst-solo"])
    assert len(given["--candidate"]) == candidates


def test_a_gate_run_again_promises_no_more_than_it_can_keep(tmp_path: Path) -> None:
    write_manifest(tmp_path, new_manifest(PLAN, "r"))
    _, note = Replays([tmp_path]).command(seen("half/preflight"))
    assert "a rare failure may not recur" in note
    assert "replace them by yours" in note


def test_what_can_have_no_bundle_says_why(tmp_path: Path) -> None:
    write_manifest(tmp_path, new_manifest(PLAN, "r"))
    single = seen("fp4/nvfp4/c8/closed-loop").model_copy(update={"exchange": "x/0", "phase": "measure"})
    counted = single.model_copy(update={"exchange": None})
    penalised = single.model_copy(update={"phase": "neighbour"})
    notes = [Replays([tmp_path]).command(finding)[1] for finding in (single, counted, penalised)]
    assert "no bundle" not in notes[0]
    assert notes[1].startswith("no bundle: counts")
    assert notes[2].startswith("no bundle: it shows in a neighbour's request")


def test_another_level_is_measured_with_all_candidates(tmp_path: Path) -> None:
    write_manifest(tmp_path, new_manifest(PLAN, "r"))
    given = options(Replays([tmp_path]).measure(32))
    assert (len(given["--candidate"]), len(given["--reference"]), given["--concurrency"]) == (2, 1, ["1,32"])
    assert Replays([]).measure(32) == ""


def test_a_cell_of_another_plan_has_no_command() -> None:
    assert rerun(PLAN, seen("other/nvfp4/c8/rounds")) is None


def test_a_bundle_is_replayed_and_a_broken_one_is_passed_over(tmp_path: Path) -> None:
    write_manifest(tmp_path, new_manifest(PLAN, "r"))
    finding = seen("fp4/nvfp4/c8/closed-loop")
    assert Replays([tmp_path]).command(finding)[0].startswith("specfuzz gate ")
    for name, text in (("a broken one", "{"), ("b;rm -rf", json.dumps({"bundle": {"finding": {"key": finding.key}}}))):
        (tmp_path / "bundles" / name).mkdir(parents=True)
        (tmp_path / "bundles" / name / "bundle.json").write_text(text, encoding="utf-8")
    assert Replays([tmp_path]).command(finding)[0] == "specfuzz replay bundles/'b;rm -rf'"
    assert Replays([tmp_path / "nowhere"]).command(finding) == ("", "")
