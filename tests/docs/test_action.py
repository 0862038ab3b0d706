"""The GitHub action: its shape, and its gate step run as a runner would, against simulated servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import serve

__all__ = ["serve"]

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
GATE = next(step for step in STEPS if step.get("id") == "gate")
SHORT = "--requests=8\n--control-requests=4\n--concurrency=2\n--schedule=closed-loop\n--family=code-word\n"


def test_it_is_a_composite_action_with_a_shell_for_every_script() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all(("run" in step) != ("uses" in step) for step in STEPS)
    assert all(step["shell"] == "bash" for step in STEPS if "run" in step)
    assert {name for name, given in ACTION["inputs"].items() if given.get("required")} == {"candidate"}


def test_inputs_reach_scripts_as_variables_and_never_as_code() -> None:
    scripts = [step["run"] for step in STEPS if "run" in step]
    assert scripts
    assert not any("${{" in script for script in scripts)


def test_every_input_is_used_and_every_output_is_set() -> None:
    used = json.dumps([{key: step.get(key) for key in ("env", "with", "if")} for step in STEPS])
    assert all(f"inputs.{name}" in used for name in ACTION["inputs"])
    assert all(f'echo "{name}=' in GATE["run"] for name in ACTION["outputs"])


def test_the_run_directory_is_kept_when_the_gate_fails() -> None:
    upload = next(step for step in STEPS if step.get("uses", "").startswith("actions/upload-artifact@"))
    assert "always()" in upload["if"]
    assert STEPS.index(upload) > STEPS.index(GATE)


class Runner:
    """What a runner gives the step, and what the step leaves."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary, self.output = folder / "summary.md", folder / "output"
        tool = folder / "temp" / "specfuzz" / "bin"
        tool.mkdir(parents=True)
        for name, module in (("specfuzz", "-m fuzzer"), ("python", "")):
            shim = tool / name
            shim.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n', encoding="utf-8")
            shim.chmod(0o755)

    def gate(self, candidate: str, reference: str, arguments: str) -> int:
        """Run the step; its exit status."""
        script = self.folder / "step.sh"
        script.write_text(GATE["run"], encoding="utf-8")
        given = {"CANDIDATE": candidate, "REFERENCE": reference, "ARGUMENTS": arguments, "OUT": "reports here"}
        files = {"GITHUB_STEP_SUMMARY": str(self.summary), "GITHUB_OUTPUT": str(self.output)}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "RUNNER_TEMP": str(self.folder / "temp"), **given, **files},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return done.returncode

    @property
    def told(self) -> dict[str, str]:
        """The step's outputs."""
        lines = self.output.read_text(encoding="utf-8").splitlines()
        return dict(line.split("=", 1) for line in lines)


def test_a_faulty_candidate_fails_the_step_and_the_summary_says_why(tmp_path: Path, serve: Any) -> None:
    reference = serve("serve-sim")
    candidate = serve("serve-sim", "--speculative", "--fault", "token-noise", "--rate", "1")
    runner = Runner(tmp_path)
    assert runner.gate(f"fp8={candidate}\n", f"{reference}\n", SHORT) == 1
    assert "FAIL" in runner.summary.read_text(encoding="utf-8")
    assert (runner.told["exit-status"], runner.told["verdict"]) == ("1", "fail")
    directory = tmp_path / runner.told["directory"]
    summary = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert summary["endpoints"][0]["name"] == "fp8"
    assert (directory / "history.jsonl").is_file()


def test_a_step_without_a_run_says_so_and_keeps_the_status(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    assert runner.gate("http://127.0.0.1:9\n", "", "--requests=none\n") == 2
    assert "no report" in runner.summary.read_text(encoding="utf-8")
    assert runner.told == {"exit-status": "2", "verdict": "", "directory": ""}


@pytest.mark.parametrize("text", ["$(touch hit)", "`touch hit`", "; touch hit"])
def test_an_argument_is_never_run_as_a_command(tmp_path: Path, text: str) -> None:
    runner = Runner(tmp_path)
    assert runner.gate(text, text, text) == 2
    assert not (tmp_path / "hit").exists()
