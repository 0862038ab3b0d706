"""The command that shows a finding again: its bundle's replay, or the gate of the one cell where it was seen."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from fuzzer.errors import HistoryError
from fuzzer.finding import Finding
from fuzzer.manifest import read_manifest
from fuzzer.plan import Endpoint, Plan
from fuzzer.report.text import clean

BUNDLES: Final = "bundles"
_LARGEST: Final = 32 * 2**20  # bytes of a bundle that is looked into


class Replays:
    """Commands for the findings of runs that are read from these directories."""

    def __init__(self, directories: Iterable[Path]) -> None:
        self._bundles: dict[str, str] = {}
        self._plans: list[Plan] = []
        for directory in directories:
            for key, name in _bundles(directory / BUNDLES):
                self._bundles.setdefault(key, name)
            with suppress(HistoryError):
                self._plans.append(read_manifest(directory).plan)

    def command(self, finding: Finding) -> tuple[str, str]:
        """The command, and what it does; both empty where neither a bundle nor the plan is at hand."""
        if (name := self._bundles.get(finding.key)) is not None:
            return (
                f"specfuzz replay {BUNDLES}/{shlex.quote(name)}",
                "from the run's directory: replays the recorded cohort",
            )
        for plan in self._plans:
            if (command := rerun(plan, finding)) is not None:
                return command, "asks the same prompts of the same cell again: same seed, concurrency and schedule"
        return "", ""


def _bundles(folder: Path) -> Iterator[tuple[str, str]]:
    """Dedupe key and name of every bundle that can be read."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*/bundle.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if path.stat().st_size <= _LARGEST:
                yield str(json.loads(path.read_bytes())["bundle"]["finding"]["key"]), path.parent.name


def rerun(plan: Plan, finding: Finding) -> str | None:
    """The command line that gates the finding's cell alone; None if the cell is none of the plan's."""
    found = _cell(plan, finding)
    if found is None:
        return None
    candidate, level, schedule = found
    words = ["specfuzz", "gate", *_end("candidate", candidate)]
    reference = plan.reference_of(candidate.name)
    words += _end("reference", reference) if reference is not None else []
    for role, end in (("", candidate), ("reference:", reference)):
        if end is not None and end.lm_head is not None:
            words += ["--lm-head", f"{role}{end.name}={end.lm_head}"]
    words += ["--concurrency", "1" if level == 1 else f"1,{level}", "--schedule", schedule, "--seed", str(plan.seed)]
    return shlex.join([*words, *_choices(plan)])


def _cell(plan: Plan, finding: Finding) -> tuple[Endpoint, int, str] | None:
    """Candidate, level and schedule.

    A finding of calibration belongs to the first cell of its level, one of preflight to its candidate's first gated.
    """
    level, owner = finding.cell.rpartition("/")[0], finding.cell.partition("/")[0]
    alike = [cell for cell in plan.cells() if cell.key == finding.cell]
    alike = alike or [cell for cell in plan.cells() if cell.key.rpartition("/")[0] == level]
    shared = owner in {reference.name for reference in plan.references}
    alike = alike or [cell for cell in plan.gated if shared or cell.candidate == owner]
    if not alike:
        return None
    return plan.endpoint("candidate", alike[0].candidate), alike[0].concurrency, alike[0].schedule


def _end(role: str, end: Endpoint) -> list[str]:
    prefix = "" if role == "candidate" else "reference-"
    words = [f"--{role}", end.url if end.name == role else f"{end.name}={end.url}"]
    words += [f"--{prefix}model", end.model] if end.model else []
    words += [f"--{prefix}api-key-env", end.api_key_env] if end.api_key_env else []
    return words


def _choices(plan: Plan) -> Iterator[str]:
    """Whatever else of the plan decides what is sent, where it is not the default."""
    sampling, policy = plan.sampling, plan.policy
    listed = {"--family": ",".join(plan.families), "--pad": plan.pad, "--fuzz": plan.fuzz}
    listed |= {"--max-tokens": sampling.max_tokens, "--requests": policy.requests}
    listed |= {"--thinking": sampling.thinking} if sampling.thinking != "auto" else {}
    listed |= {"--cache": sampling.cache} if sampling.cache != "warm" else {}
    listed |= {"--timeout": f"{sampling.timeout:g}"} if sampling.timeout != 120.0 else {}
    listed |= {"--max-wrong-rate": f"{policy.max_wrong_rate:g}"} if policy.max_wrong_rate != 0.01 else {}
    for corpus in plan.corpora:
        yield from ("--corpus", corpus)
    yield from () if plan.weave else ("--no-weave",)
    yield from () if sampling.stream else ("--no-stream",)
    yield from () if policy.require_speculation else ("--no-require-speculation",)
    for name, value in listed.items():
        if value:
            yield from (name, clean(str(value), 500))
