"""What the trend keeps of a night: counts alone. A night is a soak or a gate; a row is made from its own files.

Rates are shares from 0 to 1, moments are ISO 8601 in UTC.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Literal

from fuzzer.figures import Figures
from fuzzer.finding import Certainty
from fuzzer.manifest import Manifest
from fuzzer.night import Night
from fuzzer.plan import Plan
from fuzzer.recorded import ASKED
from fuzzer.summary import CellSummary, FindingGroup, Summary, VerdictName

Sort = Literal["soak", "gate"]
NEVER_FILLED = ("vacuous", "not-run")


class TrendCell(Figures):
    """One cell of one night: the candidate failed ``k`` of ``n`` judged answers, the reference its own share.

    ``looks`` is how often the gate looked before it stopped: 1 where the size was fixed. A cell that is not
    ``counted`` measured nothing that can be compared. ``acceptance`` is in tokens a verify step.
    """

    candidate: str
    lm_head: str | None
    concurrency: int
    schedule: str
    counted: bool
    looks: int
    k: int
    n: int
    reference_k: int
    reference_n: int
    acceptance: float | None
    tokens_per_second: float | None
    reference_tokens_per_second: float | None


class TrendFinding(Figures):
    """How often one dedupe key was found under one schedule; ``breaks`` if the night failed for it."""

    key: str
    schedule: str
    kind: str
    certainty: Certainty
    count: int
    breaks: bool


class TrendBoot(Figures):
    """One life of the candidate's process in a soak: ``k`` of ``n`` judged answers failed in it."""

    number: int
    k: int
    n: int
    bad: bool


class TrendNight(Figures):
    """One soak or gate; ``directory`` is relative to the folder of reports, and empty once it is no longer there.

    ``setup`` tells nights apart that asked other things, or another model; it is empty where that is not known.
    """

    run_id: str
    sort: Sort
    directory: str
    started: str
    verdict: VerdictName
    exit_status: int
    setup: str
    seed: int
    tool_version: str
    cells: tuple[TrendCell, ...] = ()
    findings: tuple[TrendFinding, ...] = ()
    boots: tuple[TrendBoot, ...] = ()

    @property
    def failed(self) -> tuple[int, int]:
        """(failed, judged) of the candidates over all cells that count."""
        counted = [cell for cell in self.cells if cell.counted]
        return sum(cell.k for cell in counted), sum(cell.n for cell in counted)


def of_soak(night: Night, plan: Plan | None, directory: str) -> TrendNight:
    """A soak's row, from its ``night.json`` and the plan that its legs were made from, where it is known."""
    return TrendNight(
        run_id=night.night_id,
        sort="soak",
        directory=directory,
        started=night.started,
        verdict=night.verdict,
        exit_status=night.exit_status,
        setup=setup_of(plan, (end.model for end in plan.candidates), reference=night.reference_used) if plan else "",
        seed=night.seed,
        tool_version=night.tool_version,
        cells=tuple(
            TrendCell(
                candidate=cell.candidate,
                lm_head=cell.lm_head,
                concurrency=cell.concurrency,
                schedule=cell.schedule,
                counted=cell.n > 0,
                looks=1,
                k=cell.k,
                n=cell.n,
                reference_k=cell.reference_k,
                reference_n=cell.reference_n,
                acceptance=cell.acceptance,
                tokens_per_second=cell.tokens_per_second,
                reference_tokens_per_second=cell.reference_tokens_per_second,
            )
            for cell in night.cells
        ),
        findings=tuple(
            TrendFinding(
                key=found.key,
                schedule=found.schedule,
                kind=found.kind,
                certainty=found.certainty,
                count=found.count,
                breaks=found.breaks,
            )
            for found in night.findings
        ),
        boots=tuple(TrendBoot(number=boot.number, k=boot.k, n=boot.n, bad=boot.bad) for boot in night.boots),
    )


def of_gate(summary: Summary, manifest: Manifest, directory: str) -> TrendNight:
    """A gate's row, from its ``summary.json`` and ``run.json``."""
    return TrendNight(
        run_id=summary.run_id,
        sort="gate",
        directory=directory,
        started=summary.started,
        verdict=summary.verdict,
        exit_status=summary.exit_status,
        setup=setup_of(
            manifest.plan,
            (end.model for end in summary.endpoints if end.role == "candidate"),
            reference=summary.reference_used,
        ),
        seed=summary.seed,
        tool_version=summary.tool_version,
        cells=tuple(map(_cell, summary.cells)),
        findings=tuple(found for group in summary.findings for found in _findings(group, summary)),
    )


def _cell(cell: CellSummary) -> TrendCell:
    return TrendCell(
        candidate=cell.candidate,
        lm_head=cell.lm_head,
        concurrency=cell.concurrency,
        schedule=cell.schedule,
        counted=cell.status not in NEVER_FILLED and cell.rate.n > 0,
        looks=max(cell.blocks, 1) if cell.sequential else 1,
        k=cell.rate.k,
        n=cell.rate.n,
        reference_k=cell.reference_rate.k if cell.reference_rate else 0,
        reference_n=cell.reference_rate.n if cell.reference_rate else 0,
        acceptance=cell.acceptance.length if cell.acceptance else None,
        tokens_per_second=cell.speed.candidate_tokens_per_second,
        reference_tokens_per_second=cell.speed.reference_tokens_per_second,
    )


def _findings(group: FindingGroup, summary: Summary) -> list[TrendFinding]:
    """A group's findings by schedule; those of calibration and preflight stand under these names."""
    schedules: dict[str, str] = {cell.key: cell.schedule for cell in summary.cells}
    counts: Counter[str] = Counter()
    for cell, count in (group.counts or {group.example.cell: group.count}).items():
        counts[schedules.get(cell, cell.rpartition("/")[2])] += count
    return [
        TrendFinding(
            key=group.key,
            schedule=schedule,
            kind=group.kind,
            certainty=group.certainty,
            count=count,
            breaks=group.breaks_gate and not group.waived,
        )
        for schedule, count in counts.items()
    ]


def setup_of(plan: Plan, models: Iterable[str | None], *, reference: bool) -> str:
    """A short hash of what was asked, and of which model; without the seed, which changes by the night."""
    asked = plan.model_dump(mode="json", include=set(ASKED) - {"seed"})
    text = json.dumps([sorted(model or "" for model in models), reference, asked], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
