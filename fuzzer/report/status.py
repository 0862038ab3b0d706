"""``status.json``: how a run stands, for machines, while it goes on.

The file is replaced as a whole, at most once a second, so that a reader never sees half of it. Fields are only ever
added. ``updated`` says when it was written: a run that was killed leaves its last word behind, one that ended without a
verdict says "stopped".
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from fuzzer.events import Event, RunFinished, RunStarted
from fuzzer.report.live import CellNow, Live
from fuzzer.report.redact import REDACTED
from fuzzer.report.text import clean
from fuzzer.summary import CellStatus, VerdictName

STATUS_FILE: Final = "status.json"
EVERY: Final = 1.0  # seconds

State = Literal["running", "finished", "stopped"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CellStanding(_Model):
    """A cell: ``status`` is its decision, or "to-come", or "running"; ``wanted`` judged answers make a clean one."""

    key: str
    status: CellStatus | Literal["to-come", "running"]
    judged: int
    failures: int
    wanted: int
    seconds_left: float | None


class Doing(_Model):
    """The stage that is running, and how many of its requests have ended."""

    cell: str
    arm: str
    phase: str
    block: int
    concurrency: int
    requests: int
    done: int


class LatestFinding(_Model):
    """The last finding of the strongest certainty seen so far."""

    key: str
    kind: str
    certainty: str
    cell: str
    prompt: str | None
    exchange: str | None
    summary: str


class FindingsSoFar(_Model):
    """Findings by certainty, and how many dedupe keys they have."""

    certain: int
    likely: int
    possible: int
    groups: int
    latest: LatestFinding | None


class Load(_Model):
    """What a server said of itself last; None where it does not tell."""

    running: float | None
    waiting: float | None
    pool_usage: float | None


class Status(_Model):
    """The whole of ``status.json``; times in seconds, ``rate`` in exchanges a second, ``updated`` in UTC."""

    schema_version: Literal[1] = 1
    run_id: str
    state: State
    updated: str
    elapsed_seconds: float
    eta_seconds: float | None
    planned_seconds: float | None
    cells_done: int
    cells_total: int
    in_flight: int
    rate: float | None
    exchanges: int
    service_failures: int
    acceptance_length: float | None
    stage: Doing | None
    cells: tuple[CellStanding, ...]
    findings: FindingsSoFar
    servers: dict[str, Load]
    verdict: VerdictName | None
    exit_status: int | None


class StatusFile:
    """Listens to a run and keeps its ``status.json`` up to date; a full disk or a lost directory stops no run."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._live = Live(clock)
        self._written: float | None = None

    def close(self) -> None:
        """The run is over, with or without a verdict."""
        if self._live.summary is None:
            self._write("stopped")

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self._live.take(event)
        now = self._clock()
        due = self._written is None or now - self._written >= EVERY or isinstance(event, RunStarted | RunFinished)
        if due:
            self._written = now
            self._write("running" if self._live.summary is None else "finished")

    def _write(self, state: State) -> None:
        if self._live.directory:
            with suppress(OSError):
                text = standing(self._live, state).model_dump_json(indent=1)
                _replace(Path(self._live.directory) / STATUS_FILE, text + "\n")


def standing(live: Live, state: State) -> Status:
    """The figures as ``status.json`` holds them."""
    now, stage, summary = live.clock(), live.stage, live.summary
    return Status(
        run_id=clean(live.run_id, 200),
        state=state,
        updated=datetime.now(UTC).isoformat(timespec="milliseconds"),
        elapsed_seconds=round(live.elapsed, 3),
        eta_seconds=_rounded(live.eta),
        planned_seconds=_rounded(live.planned_seconds),
        cells_done=live.cells_done,
        cells_total=len(live.cells),
        in_flight=live.in_flight,
        rate=_rounded(live.rate),
        exchanges=live.exchanges,
        service_failures=live.service_failures,
        acceptance_length=_rounded(live.accepted),
        stage=None
        if stage is None or state != "running"
        else Doing(
            cell=stage.cell, arm=stage.arm, phase=stage.phase, block=stage.block, concurrency=stage.concurrency,
            requests=stage.requests, done=live.stage_done,
        ),
        cells=tuple(_cell(cell, now) for cell in live.cells.values()),
        findings=FindingsSoFar(
            certain=live.found["certain"],
            likely=live.found["likely"],
            possible=live.found["possible"],
            groups=len(live.keys),
            latest=_latest(live),
        ),
        servers={
            arm: Load(running=seen.running, waiting=seen.waiting, pool_usage=seen.pool_usage)
            for arm, seen in sorted(live.load.items())
        },
        verdict=summary.verdict if summary else None,
        exit_status=summary.exit_status if summary else None,
    )  # fmt: skip


def _cell(cell: CellNow, now: float) -> CellStanding:
    return CellStanding(
        key=cell.cell.key,
        status=cell.status or ("to-come" if cell.started is None else "running"),
        judged=cell.judged,
        failures=cell.failures,
        wanted=cell.wanted,
        seconds_left=_rounded(cell.seconds_left(now)),
    )


def _latest(live: Live) -> LatestFinding | None:
    found = live.latest
    if found is None:
        return None
    return LatestFinding(
        key=clean(found.key, 300),
        kind=found.kind,
        certainty=found.certainty,
        cell=clean(found.cell, 300),
        prompt=found.prompt and clean(found.prompt, 200),
        exchange=found.exchange and clean(found.exchange, 300),
        summary=REDACTED if live.redacted else clean(found.summary, 400),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
