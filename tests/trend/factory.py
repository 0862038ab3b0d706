"""Nights as soaks and gates would leave them, small and made by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fuzzer.finding import Certainty
from fuzzer.manifest import HISTORY, MANIFEST, new_manifest, write_manifest
from fuzzer.night import NIGHT, Boot, Night, NightCell, NightFinding
from fuzzer.plan import ScheduleName
from fuzzer.report.files import SUMMARY, summary_json
from fuzzer.summary import Summary, VerdictName
from fuzzer.trend.nights import TrendCell, TrendNight
from tests.report import factory

FIRST = datetime(2026, 10, 1, 2, 0, tzinfo=UTC)
EXITS: dict[VerdictName, int] = {"pass": 0, "fail": 1, "inconclusive": 3, "unavailable": 4, "interrupted": 130}
BLEED = "bleed/concurrent/user@candidate"


@dataclass(frozen=True)
class Counts:
    """A cell of a night: what failed, of how many, and how fast it was."""

    k: int
    n: int
    schedule: ScheduleName = "closed-loop"
    candidate: str = "candidate"
    acceptance: float | None = 3.1
    speed: float | None = 900.0


def began(number: int) -> str:
    return (FIRST + timedelta(days=number)).isoformat(timespec="seconds")


def found(
    key: str = BLEED, count: int = 1, *, certainty: Certainty = "certain", schedule: str = "closed-loop",
    breaks: bool = True,
) -> NightFinding:  # fmt: skip
    return NightFinding(
        key=key, kind="bleed", certainty=certainty, schedule=schedule, count=count, legs=1, first=1, last=1,
        first_seen=began(0), last_seen=began(0), breaks=breaks,
    )  # fmt: skip


def soak(
    number: int, cells: Sequence[Counts], findings: Sequence[NightFinding] = (), boots: Sequence[Boot] = (),
    verdict: VerdictName = "pass",
) -> Night:  # fmt: skip
    return Night(
        tool_version="0.1.0", night_id=f"soak-{number:03}", started=began(number), ended=began(number), active=28_800.0,
        verdict=verdict, exit_status=EXITS[verdict], reasons=(), scope="", plan_hash="p", seed=number,
        max_wrong_rate=0.01, confidence=0.95, reference_used=True, findings=tuple(findings), boots=tuple(boots),
        cells=tuple(
            NightCell(
                key=f"{one.candidate}/bf16/c8/{one.schedule}", candidate=one.candidate, lm_head="bf16", concurrency=8,
                schedule=one.schedule, role="gated", legs=10, k=one.k, n=one.n, reference_k=0, reference_n=one.n,
                upper=1.0, lower=0.0, acceptance=one.acceptance, tokens_per_second=one.speed,
                reference_tokens_per_second=400.0,
            )
            for one in cells
        ),
    )  # fmt: skip


def write_soak(reports: Path, night: Night, *, journal: str = '{"crc":"0","type":"finished"}\n') -> Path:
    directory = reports / night.night_id
    leg = directory / "legs" / "0001-closed-loop"
    leg.mkdir(parents=True, exist_ok=True)
    write_gate(directory / "legs", factory.passing(), run_id=f"{night.night_id}-0001", name=leg.name)
    (directory / "soak.jsonl").write_text(journal, encoding="utf-8")
    (directory / NIGHT).write_text(night.model_dump_json(), encoding="utf-8")
    return directory


def write_gate(
    reports: Path, summary: Summary, *, run_id: str, started: str = "", name: str = "", interrupted: bool = False
) -> Path:
    directory = reports / (name or run_id)
    directory.mkdir(parents=True, exist_ok=True)
    manifest = new_manifest(factory.plan(), run_id)
    write_manifest(directory, manifest.model_copy(update={"interrupted": interrupted}))
    told = summary.model_copy(update={"run_id": run_id, "started": started or summary.started})
    (directory / SUMMARY).write_text(summary_json(told), encoding="utf-8")
    (directory / HISTORY).write_text("{}\n" * 100, encoding="utf-8")
    return directory


def write_unended(reports: Path, run_id: str) -> Path:
    directory = write_gate(reports, factory.passing(), run_id=run_id, interrupted=True)
    (directory / SUMMARY).unlink()
    return directory


def touch(directory: Path, at: datetime) -> None:
    """As if its files had last been written then."""
    for name in (MANIFEST, SUMMARY, HISTORY, NIGHT, "soak.jsonl"):
        if (directory / name).exists():
            os.utime(directory / name, (at.timestamp(), at.timestamp()))


def row(number: int, cells: Sequence[tuple[int, int]], *, looks: int = 1) -> TrendNight:
    """A night of the index, a cell a concurrency, each as (failed, judged)."""
    return TrendNight(
        run_id=f"n{number:03}", sort="soak", directory="", started=began(number), verdict="pass", exit_status=0,
        setup="", seed=number, tool_version="0.1.0",
        cells=tuple(
            TrendCell(
                candidate="candidate", lm_head=None, concurrency=level, schedule="closed-loop", counted=n > 0,
                looks=looks, k=k, n=n, reference_k=0, reference_n=0, acceptance=None, tokens_per_second=None,
                reference_tokens_per_second=None,
            )
            for level, (k, n) in enumerate(cells, start=1)
        ),
    )  # fmt: skip
