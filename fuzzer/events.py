"""What is going on: the typed events a run emits; consoles and files subscribe, so the conductor knows no reporter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Stage
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
class ExchangeSent:
    """One request is about to leave; an `ExchangeDone` follows unless the run is broken off."""

    arm: Arm
    phase: str


@dataclass(frozen=True, slots=True)
class ExchangeDone:
    """One exchange has ended."""

    arm: str
    phase: str
    outcome: str


@dataclass(frozen=True, slots=True)
class LoadSeen:
    """What a server says of its load: requests running and waiting, share of its KV pool in use (None: not told)."""

    arm: Arm
    running: float | None
    waiting: float | None
    pool_usage: float | None


@dataclass(frozen=True, slots=True)
class StageDone:
    """A drive phase is over: what concurrency it achieved, and the engine's counters around it."""

    stage: Stage


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


Event = (
    RunStarted
    | PreflightDone
    | StageStarted
    | ExchangeSent
    | ExchangeDone
    | LoadSeen
    | StageDone
    | FindingSeen
    | BlockJudged
    | CellDecided
    | RunFinished
)
Listener = Callable[[Event], None]
