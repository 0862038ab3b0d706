"""What a soak keeps of itself: ``soak.json`` says what was asked for, ``soak.jsonl`` what has happened.

The ledger is appended and never rewritten, and locked by its one writer. Every line bears a checksum: a line that is
damaged is left out and counted, and what it said is found anew in the leg's own directory.
"""

from __future__ import annotations

import importlib.metadata
import os
import secrets
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from fuzzer.errors import HistoryError
from fuzzer.history.appending import Appending, parsed
from fuzzer.history.records import Counters
from fuzzer.night import LEDGER, SOAK, Boot, Leg, NightReason, Outage, Purpose, Why
from fuzzer.plan import Plan, ScheduleName

DRAFT = f".{SOAK}.tmp"
LEDGER_VERSION = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Settings(_Record):
    """How long a soak lasts, and what it may use; all but the plan.

    It ends after ``seconds`` at work or ``requests`` judged answers, whichever comes first and is given. ``max_disk``
    is in bytes; ``stop_on_fail`` ends it with the first leg that makes the night a failure.
    """

    seconds: Annotated[float, Field(gt=0)] | None = None
    requests: Annotated[int, Field(ge=1)] | None = None
    anchor_seconds: Annotated[float, Field(gt=0)] = 900.0
    max_disk: Annotated[int, Field(ge=1)] | None = None
    stop_on_fail: bool = False


class SoakManifest(_Record):
    """``soak.json``: the plan that every leg is made from."""

    version: int = LEDGER_VERSION
    night_id: str
    started: str
    tool_version: str
    plan: Plan
    settings: Settings


class Process(_Record):
    """A process takes the soak up."""

    type: Literal["process"] = "process"
    at: str


class Choice(_Record):
    """What a leg asks, and why; ``requests`` judged answers in its gated cell."""

    purpose: Purpose
    why: Why
    schedule: ScheduleName
    concurrency: int
    families: tuple[str, ...]
    seed: int
    requests: int


class Began(Choice):
    """A leg's directory is about to be made; ``found`` if the directory was there, and the ledger did not know it."""

    type: Literal["began"] = "began"
    number: int
    run_id: str
    boot: int
    at: str
    active: float
    found: bool = False


class Ended(_Record):
    """A leg is over. ``counters`` are the candidates' last ones by endpoint, to know a restart before the next leg."""

    type: Literal["ended"] = "ended"
    leg: Leg
    counters: dict[str, Counters] = Field(default_factory=dict)


class Booted(_Record):
    """The candidate's process is another one than before."""

    type: Literal["booted"] = "booted"
    boot: Boot


class Away(_Record):
    """An end could not be measured for a time, which is over or still lasts."""

    type: Literal["away"] = "away"
    outage: Outage
    over: bool = False


class Silent(_Record):
    """So many requests of one end of a cell have timed out without a sign of life, in the leg that goes on."""

    type: Literal["silent"] = "silent"
    number: int
    cell: str
    arm: str
    requests: int


class Dropped(_Record):
    """A leg's bulk was removed to keep to the disk limit."""

    type: Literal["dropped"] = "dropped"
    number: int


class Lost(_Record):
    """A leg that cannot be read or resumed; what its findings were stands in ``findings.jsonl``."""

    type: Literal["lost"] = "lost"
    number: int
    why: str


class Void(_Record):
    """A leg that measured nothing, since an end could not be measured or no time was left."""

    type: Literal["void"] = "void"
    number: int


class Finished(_Record):
    """The soak has come to its end; ``stopped`` says what ended it, or was the matter at the end, if not its length."""

    type: Literal["finished"] = "finished"
    at: str
    active: float
    stopped: NightReason | None = None


AnyLine = Process | Began | Silent | Ended | Booted | Away | Dropped | Lost | Void | Finished
_LINES: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator="type")])


@dataclass(slots=True)
class State:
    """What the ledger says, put together.

    ``began`` are the legs that are open, ``silences`` theirs; ``found`` counts legs that only their directory told of.
    ``away`` is an outage that lasts. ``damaged`` lines were left out.
    """

    legs: dict[int, Leg] = field(default_factory=dict)
    began: dict[int, Began] = field(default_factory=dict)
    boots: list[Boot] = field(default_factory=list)
    silences: dict[int, dict[tuple[str, str], int]] = field(default_factory=dict)
    outages: dict[tuple[str, str], Outage] = field(default_factory=dict)
    away: Outage | None = None
    counters: dict[str, Counters] = field(default_factory=dict)
    dropped: set[int] = field(default_factory=set)
    lost: dict[int, str] = field(default_factory=dict)
    void: set[int] = field(default_factory=set)
    found: int = 0
    processes: int = 0
    finished: bool = False
    stopped: NightReason | None = None
    damaged: int = 0
    active: float = 0.0

    def add(self, line: AnyLine) -> None:
        """Take one line."""
        match line:
            case Process():
                self.processes += 1
                self.finished = False
            case Began():
                self.began[line.number] = line
                self.found += line.found
                self.active = max(self.active, line.active)
            case Ended():
                self.legs[line.leg.number] = line.leg
                self._forget(line.leg.number)
                self.away = None
                self.counters |= line.counters
                self.active = max(self.active, line.leg.active)
            case Booted():
                self.boots.append(line.boot)
            case Away():
                self.outages[line.outage.end, line.outage.since] = line.outage
                self.away = None if line.over else line.outage
            case Silent():
                self.silences.setdefault(line.number, {})[line.cell, line.arm] = line.requests
            case Dropped():
                self.dropped.add(line.number)
            case Lost():
                self.lost[line.number] = line.why
                self._forget(line.number)
            case Void():
                self.void.add(line.number)
                self._forget(line.number)
            case Finished():
                self.finished, self.stopped = True, line.stopped
                self.active = max(self.active, line.active)

    def _forget(self, number: int) -> None:
        """How a leg that is over had begun: a night has thousands, and all that matters stands in the leg."""
        self.began.pop(number, None)
        self.silences.pop(number, None)

    @property
    def ordered(self) -> list[Leg]:
        """The legs that have ended, in order."""
        return [self.legs[number] for number in sorted(self.legs)]

    @property
    def open(self) -> list[Began]:
        """Legs that began and neither ended nor were given up, in order."""
        return [self.began[number] for number in sorted(self.began)]

    @property
    def known(self) -> set[int]:
        """The numbers of all legs that are told of."""
        return {*self.began, *self.legs, *self.lost, *self.void}

    @property
    def boot(self) -> int:
        """The number of the candidate's present boot."""
        return len(self.boots)


class Ledger:
    """The ledger of a soak, open for writing; ``state`` is what it says. A second writer is refused."""

    def __init__(self, directory: Path) -> None:
        self._file = Appending(directory / LEDGER, "soak's ledger")
        try:
            self.state = read_ledger(directory)
        except BaseException:
            self._file.close()
            raise

    def write(self, line: AnyLine) -> None:
        """Keep a line; it is on the disk when this returns."""
        self._file.append(_encode(line))
        self._file.sync()
        self.state.add(line)

    def close(self) -> None:
        """Close the file and give up the lock."""
        self._file.close()


def read_ledger(directory: Path) -> State:
    """What the ledger says; damaged lines are left out and counted. Raises HistoryError where there is none."""
    path = directory / LEDGER
    state = State()
    try:
        with path.open("rb") as lines:
            for line in lines:
                record = _decode(line)
                if record is None:
                    state.damaged += 1
                else:
                    state.add(record)
    except OSError as error:
        raise HistoryError(f"{path}: cannot read the soak's ledger: {error.strerror}") from None
    return state


def _encode(line: AnyLine) -> bytes:
    body = line.model_dump_json().encode()
    return b'{"crc":"%08x",' % zlib.crc32(body) + body[1:]


def _decode(line: bytes) -> AnyLine | None:
    told = parsed(line)
    if not isinstance(told, dict) or not isinstance(told.get("crc"), str):
        return None
    body = b"{" + line.rstrip(b"\n").partition(b",")[2]
    if b"%08x" % zlib.crc32(body) != told.pop("crc").encode():
        return None
    try:
        return _LINES.validate_json(body)
    except ValidationError:
        return None


def new_soak(plan: Plan, settings: Settings, night_id: str | None) -> SoakManifest:
    """A soak that begins now; a fresh id if None."""
    now = datetime.now(UTC)
    return SoakManifest(
        night_id=night_id or f"soak-{now:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        started=now.isoformat(timespec="seconds"),
        tool_version=importlib.metadata.version("specfuzz"),
        plan=plan,
        settings=settings,
    )


def write_soak(directory: Path, soak: SoakManifest) -> None:
    """Write ``soak.json`` whole or not at all."""
    temporary = directory / DRAFT
    with temporary.open("w", encoding="utf-8") as file:
        file.write(soak.model_dump_json(indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(directory / SOAK)


def is_soak(directory: Path) -> bool:
    """Whether a directory holds a soak, finished or not."""
    return (directory / SOAK).is_file()


def read_soak(directory: Path) -> SoakManifest:
    """Read ``soak.json``; a directory that is no soak, or a damaged one, is a HistoryError."""
    path = directory / SOAK
    try:
        return SoakManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise HistoryError(
            f"{path}: no soak here ({error.strerror}); name a directory such as reports/SOAK-ID"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise HistoryError(f"{path}: not a soak of specfuzz: {where}: {first['msg']}") from None


def now() -> str:
    """This moment, as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def moment(seconds: float) -> str:
    """A moment of `time.time`, as it is written down."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def leg_name(number: int, schedule: str) -> str:
    """The name of a leg's directory."""
    return f"{number:05d}-{schedule}"
