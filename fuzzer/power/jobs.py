"""What is to be measured: one gate a job, and the row that says what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from fuzzer.errors import UsageError
from fuzzer.shapes import SHAPES, ScheduleName
from fuzzer.sim.faults import FAULTS, Fault

CLEAN = "none"
PLAIN: ScheduleName = "closed-loop"
DEFAULT_GATE = "default-gate"
PLAIN_SEEDS = 20  # a fault that a closed loop finds one time in seven shows in so many runs, 95 times in 100
PLAIN_REQUESTS = 96  # judged answers of a closed loop that must not find a fault

Purpose = Literal["find", "plain", "clean"]


class Job(NamedTuple):
    """One gate.

    ``find``: a fault under the schedule that should find it. ``plain``: a fault that needs a schedule, under a closed
    loop, which must not find it. ``clean``: no fault. ``schedule`` is a schedule's name or the default gate.
    """

    purpose: Purpose
    fault: str
    schedule: str
    concurrency: int
    seed: int
    rate: float


class Row(BaseModel):
    """What came of a job.

    ``exit`` and ``kinds`` (kind, and kind/sub-kind) are the gate's; ``found`` is a right exit status, ``kind_ok`` a
    finding of a kind that the fault must show. ``struck`` counts the requests that the engine says it harmed,
    ``donors`` the certain bleeds whose named donor is, or is not, the one that the engine says. ``first`` is how many
    requests the candidate had got when the first with a right finding came. ``cpu`` is in seconds, servers included.
    ``program`` is the state of the program that measured it, "" in rows from before it was noted.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    purpose: Purpose
    fault: str
    schedule: str
    concurrency: int
    seed: int
    rate: float
    exit: int
    found: bool
    kind_ok: bool
    kinds: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    donors: dict[str, int] = Field(default_factory=dict)
    struck: int = 0
    first: int | None = None
    judged: int = 0
    failed: int = 0
    exchanges: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    program: str = ""

    @property
    def job(self) -> Job:
        """What was measured."""
        return Job(self.purpose, self.fault, self.schedule, self.concurrency, self.seed, self.rate)

    @property
    def shown(self) -> bool:
        """Whether a plain closed loop showed the fault: it failed, or a finding of a right kind is among its own.

        Its few answers may not be enough for the gate to fail on what it found.
        """
        return self.found or self.kind_ok


def chosen(names: str) -> list[str]:
    """Faults by name: ``all``, ``none`` or a list with commas. UsageError for an unknown one."""
    if names.lower() == "all":
        return list(FAULTS)
    wanted = [name.strip() for name in names.split(",") if name.strip() not in ("", CLEAN)]
    for name in wanted:
        if name not in FAULTS:
            raise UsageError(f"--faults: unknown fault {name!r}; known are {', '.join(FAULTS)}")
    return wanted


def named_schedules(names: str | None) -> list[str]:
    """Schedules by name; empty means each fault's own."""
    wanted = [name.strip() for name in (names or "").split(",") if name.strip()]
    if wanted == ["all"]:
        return list(SHAPES)
    for name in wanted:
        if name not in SHAPES:
            raise UsageError(f"--schedules: unknown schedule {name!r}; known are {', '.join(SHAPES)}")
    return wanted


def fault_jobs(faults: Sequence[str], seeds: Iterable[int], schedules: Sequence[str] = ()) -> Iterator[Job]:
    """Each fault under its own schedule and, if it needs one, under a closed loop; or under the schedules given.

    The closed loop gets the first ``PLAIN_SEEDS`` of the seeds.
    """
    for place, seed in enumerate(seeds):
        for name in faults:
            fault = FAULTS[name]
            for schedule in schedules or (fault.schedule or PLAIN,):
                yield _job("find", name, fault, schedule, seed)
            if fault.schedule and not schedules and place < PLAIN_SEEDS:
                yield _job("plain", name, fault, PLAIN, seed)


def clean_jobs(gates: int, each: int, start: int = 0) -> Iterator[Job]:
    """Runs without a fault: so many default gates, and so many of each schedule."""
    for seed in range(start, start + max(gates, each)):
        if seed < start + gates:
            yield Job("clean", CLEAN, DEFAULT_GATE, 8, seed, 0.0)
        for schedule in SHAPES if seed < start + each else ():
            yield Job("clean", CLEAN, schedule, 8, seed, 0.0)


def _job(purpose: Purpose, name: str, fault: Fault, schedule: str, seed: int) -> Job:
    return Job(purpose, name, schedule, fault.concurrency, seed, fault.default_rate)


def missing(jobs: Iterable[Job], rows: Iterable[Row]) -> list[Job]:
    """The jobs that no row answers yet."""
    done = {row.job for row in rows}
    return [job for job in dict.fromkeys(jobs) if job not in done]
