"""The figures of a run that is going on, counted from its events: what the live screen and ``status.json`` show."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from fuzzer.decisions import wanted
from fuzzer.estimate import estimate
from fuzzer.events import (
    BlockJudged,
    CellDecided,
    Event,
    ExchangeDone,
    ExchangeSent,
    FindingSeen,
    LoadSeen,
    PreflightDone,
    RunFinished,
    RunStarted,
    StageDone,
    StageStarted,
)
from fuzzer.finding import CERTAINTIES, Finding
from fuzzer.oracles.health import acceptance
from fuzzer.plan import Cell
from fuzzer.summary import CellStatus, Summary

WINDOW: Final = 15.0  # seconds over which the rate is taken
_SLICES: Final = 60


@dataclass(slots=True)
class CellNow:
    """One cell as it stands; ``started`` and ``looked`` are the clock at its first stage and its last judged block."""

    cell: Cell
    wanted: int
    requests: int = 0
    judged: int = 0
    failures: int = 0
    started: float | None = None
    looked: float | None = None
    status: CellStatus | None = None

    @property
    def left(self) -> float:
        """The share of a clean cell that is still to be done, from 0 to 1."""
        return 0.0 if self.status is not None else max(1 - self.judged / max(self.wanted, 1), 0.0)

    def seconds_left(self, now: float) -> float | None:
        """Seconds until it is done if nothing fails, at the pace that it has kept so far; None while it has none."""
        if self.status is not None or self.started is None or self.looked is None:
            return None
        if not self.judged or self.judged >= self.wanted:
            return None
        whole = (self.looked - self.started) / self.judged * (self.wanted - self.judged)
        return max(whole - (now - self.looked), 0.0)


@dataclass(slots=True)
class Live:
    """Takes the events of one run; ``clock`` counts seconds. Findings are kept as they came: whoever shows them cleans.

    ``accepted`` is the candidate's tokens per verify step in its last stage, ``load`` what each server said last.
    """

    clock: Callable[[], float]
    run_id: str = ""
    directory: str = ""
    redacted: bool = False
    resumed: bool = False
    cells: dict[str, CellNow] = field(default_factory=dict)
    stage: StageStarted | None = None
    stage_done: int = 0
    exchanges: int = 0
    in_flight: int = 0
    service_failures: int = 0
    planned_seconds: float | None = None
    found: Counter[str] = field(default_factory=Counter)
    keys: set[str] = field(default_factory=set)
    latest: Finding | None = None
    accepted: float | None = None
    load: dict[str, LoadSeen] = field(default_factory=dict)
    summary: Summary | None = None
    _began: float = 0.0
    _marks: deque[tuple[float, int]] = field(default_factory=deque)

    def take(self, event: Event) -> None:
        """Count one event."""
        match event:
            case RunStarted():
                self._start(event)
            case PreflightDone(preflight, _):
                self.planned_seconds = preflight.planned_seconds
            case StageStarted():
                self._stage(event)
            case ExchangeSent():
                self.in_flight += 1
            case ExchangeDone():
                self._exchange(event)
            case LoadSeen(arm):
                self.load[arm] = event
            case StageDone():
                self._settle(event)
            case FindingSeen(finding):
                self._find(finding)
            case BlockJudged():
                self._block(event)
            case CellDecided(cell, status, _):
                if cell in self.cells:
                    self.cells[cell].status = status
            case RunFinished(summary):
                self.summary = summary

    @property
    def elapsed(self) -> float:
        """Seconds since the run began in this process."""
        return self.clock() - self._began

    @property
    def rate(self) -> float | None:
        """Exchanges ended a second, lately; None before the first."""
        if not self._marks:
            return None
        first, before = self._marks[0]
        seconds = self.clock() - first
        return (self.exchanges - before) / seconds if seconds > 0 else None

    @property
    def cells_done(self) -> int:
        """How many cells are decided."""
        return sum(cell.status is not None for cell in self.cells.values())

    @property
    def eta(self) -> float | None:
        """Seconds until the verdict if nothing more fails: what is left to send at the rate of the whole run so far."""
        if self.summary is not None:
            return 0.0
        if not self.exchanges or self.elapsed <= 0:
            return None
        return sum(cell.requests * cell.left for cell in self.cells.values()) * self.elapsed / self.exchanges

    def _start(self, event: RunStarted) -> None:
        plan = event.plan
        costs = estimate(plan).cells
        self._began = self.clock()
        self.run_id, self.directory, self.resumed = event.run_id, event.directory, event.resumed
        self.redacted = plan.redact_content
        self.cells = {cell.key: CellNow(cell, wanted(plan, cell), costs[cell.key][0]) for cell in plan.cells()}

    def _stage(self, event: StageStarted) -> None:
        self.stage, self.stage_done = event, 0
        cell = self.cells.get(event.cell)
        if cell is not None and cell.started is None:
            cell.started = self.clock()

    def _exchange(self, event: ExchangeDone) -> None:
        now = self.clock()
        if not self._marks or now - self._marks[-1][0] >= WINDOW / _SLICES:
            self._marks.append((now, self.exchanges))
        while len(self._marks) > 1 and now - self._marks[0][0] > WINDOW:
            self._marks.popleft()
        self.exchanges += 1
        self.in_flight = max(self.in_flight - 1, 0)
        self.stage_done += event.phase not in ("filler", "neighbour")
        self.service_failures += event.outcome not in ("ok", "cancelled")

    def _settle(self, event: StageDone) -> None:
        if event.stage.arm == "candidate":
            seen = acceptance(event.stage.before, event.stage.after)
            if seen is not None and seen.length is not None:
                self.accepted = seen.length

    def _find(self, finding: Finding) -> None:
        self.found[finding.certainty] += 1
        self.keys.add(finding.key)
        if self.latest is None or _weight(finding) <= _weight(self.latest):
            self.latest = finding

    def _block(self, event: BlockJudged) -> None:
        cell = self.cells.get(event.cell)
        if cell is not None:
            cell.judged, cell.failures, cell.wanted = event.judged, event.failures, event.wanted
            cell.looked = self.clock()


def _weight(finding: Finding) -> int:
    """A certain finding is not pushed off the screen by a possible one."""
    return CERTAINTIES.index(finding.certainty)
