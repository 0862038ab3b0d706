"""What is going on: the typed events a run emits; consoles and files subscribe, so the conductor knows no reporter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.finding import Finding
from fuzzer.plan import Plan
from fuzzer.summary import CellStatus, Preflight, Summary


@dataclass(frozen=True, slots=True)
class RunStarted:
    """The run directory exists; nothing has been sent."""

    run_id: str
    directory: str
    plan: Plan
    resumed: bool


@dataclass(frozen=True, slots=True)
class PreflightDone:
    """Both ends were looked at; ``planned`` says in one line what will be sent and how long it should take."""

    preflight: Preflight
    planned: str


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A drive phase begins: ``requests`` measured exchanges on one endpoint."""

    cell: str
    arm: str
    phase: str
    block: int
    requests: int
    concurrency: int


@dataclass(frozen=True, slots=True)
class ExchangeDone:
    """One exchange has ended."""

    arm: str
    phase: str
    outcome: str


@dataclass(frozen=True, slots=True)
class FindingSeen:
    """An oracle has spoken."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class BlockJudged:
    """A block of a cell is judged: ``failures`` of ``judged`` so far in this cell, ``wanted`` for a clean cell."""

    cell: str
    block: int
    failures: int
    judged: int
    wanted: int


@dataclass(frozen=True, slots=True)
class CellDecided:
    """A cell is over."""

    cell: str
    status: CellStatus
    message: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The verdict is in."""

    summary: Summary


Event = RunStarted | PreflightDone | StageStarted | ExchangeDone | FindingSeen | BlockJudged | CellDecided | RunFinished
Listener = Callable[[Event], None]
