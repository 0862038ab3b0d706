"""The command that shows a finding again: its bundle's replay, or the gate as the run had it at the finding's level."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from fuzzer.errors import HistoryError
from fuzzer.finding import Finding, unbundled
from fuzzer.manifest import read_manifest
from fuzzer.plan import Endpoint, Plan
from fuzzer.report.text import clean

BUNDLES: Final = "bundles"
AGAIN: Final = (
    "runs the gate again with this run's seed and schedules; a rare failure may not recur. The addresses are those of "
    "this run: replace them by yours"
)
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
                why = unbundled(finding)
                return command, f"{why}; {AGAIN}" if why else AGAIN
        return "", ""

    def measure(self, level: int) -> str:
        """The command that gates another concurrency as the first of the runs was gated; "" without a plan."""
        return gate(self._plans[0], self._plans[0].candidates, (1, level)) if self._plans else ""


def _bundles(folder: Path) -> Iterator[tuple[str, str]]:
    """Dedupe key and name of every bundle that can be read."""
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*/bundle.json")):
        with suppress(OSError, ValueError, KeyError, TypeError):
            if path.stat().st_size <= _LARGEST:
                yield str(json.loads(path.read_bytes())["bundle"]["finding"]["key"]), path.parent.name


def rerun(plan: Plan, finding: Finding) -> str | None:
    """The command line that gates the finding's level again, under all schedules of the run.

    What preflight or warm-up showed comes before any level: all of the run's are asked. None if the plan has no such
    cell.
    """
    level, owner = finding.cell.rpartition("/")[0], finding.cell.partition("/")[0]
    for cell in plan.cells():
        if cell.key.rpartition("/")[0] == level:
            levels = (1,) if cell.concurrency == 1 else (1, cell.concurrency)
            return gate(plan, (plan.endpoint("candidate", cell.candidate),), levels)
    if owner in {reference.name for reference in plan.references}:
        return gate(plan, plan.candidates, plan.concurrency)
    candidates = tuple(end for end in plan.candidates if end.name == owner)
    return gate(plan, candidates, plan.concurrency) if candidates and level == owner else None


def gate(plan: Plan, candidates: Sequence[Endpoint], levels: Sequence[int]) -> str:
    """The command line that gates these candidates at these levels, and is else the plan's own."""
    words = ["specfuzz", "gate"]
    references: dict[str, Endpoint] = {}
    for candidate in candidates:
        words += _end("candidate", candidate)
        if (reference := plan.reference_of(candidate.name)) is not None:
            references[reference.name] = reference
    for reference in references.values():
        words += _end("reference", reference)
    heads = [("", end) for end in candidates] + [("reference:", end) for end in references.values()]
    for role, end in heads:
        if end.lm_head is not None:
            words += ["--lm-head", f"{role}{end.name}={end.lm_head}"]
    words += ["--concurrency", ",".join(map(str, levels)), "--schedule", ",".join(plan.schedules)]
    return shlex.join([*words, "--seed", str(plan.seed), *_choices(plan)])


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
