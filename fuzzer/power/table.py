"""The measurements as tables: detection power by fault, what a closed loop misses, false alarms; each with its n."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from fuzzer.power.jobs import CLEAN, DEFAULT_GATE, Row
from fuzzer.shapes import SHAPES
from fuzzer.sim.faults import FAULTS
from fuzzer.stats import clopper_pearson_lower, clopper_pearson_upper

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """``k`` of ``n``, and a one-sided exact bound: a lower one on what should be high, an upper one on the rest."""

    k: int
    n: int
    bound: float

    def __str__(self) -> str:
        return f"{self.k}/{self.n}"

    def json(self) -> dict[str, float]:
        """For machines."""
        return {"k": self.k, "n": self.n, "bound": round(self.bound, 4)}


def at_least(flags: Iterable[bool]) -> Share:
    """How often something went right, and what that rules out from below."""
    told = list(flags)
    return Share(sum(told), len(told), clopper_pearson_lower(sum(told), len(told), CONFIDENCE))


def at_most(flags: Iterable[bool]) -> Share:
    """How often something went wrong, and what that rules out from above."""
    told = list(flags)
    return Share(sum(told), len(told), clopper_pearson_upper(sum(told), len(told), CONFIDENCE))


@dataclass(frozen=True, slots=True)
class FaultLine:
    """All runs of one fault under one schedule.

    ``power``: the exit status that the policy gives the fault. ``kind``: a finding of a right kind. ``donor``: runs
    whose certain bleeds all name a right donor, of those with any. ``first``: the candidate's requests up to the first
    right finding. ``plain``: the same fault found by a closed loop, where it needs a schedule.
    """

    fault: str
    rate: float
    schedule: str
    concurrency: int
    power: Share
    kind: Share
    donor: Share | None
    first: tuple[int, int] | None
    plain: Share | None
    cpu: float
    exits: dict[int, int]

    def json(self) -> dict[str, object]:
        """For machines."""
        return {
            "fault": self.fault,
            "rate": self.rate,
            "schedule": self.schedule,
            "concurrency": self.concurrency,
            "power": self.power.json(),
            "kind": self.kind.json(),
            "donor": self.donor.json() if self.donor else None,
            "requests_to_first_finding": {"median": self.first[0], "most": self.first[1]} if self.first else None,
            "found_by_closed_loop": self.plain.json() if self.plain else None,
            "cpu_seconds": round(self.cpu, 2),
            "exit_statuses": self.exits,
        }


@dataclass(frozen=True, slots=True)
class CleanLine:
    """All runs without a fault under one schedule, or of the default gate: ``alarms`` failed, ``undecided`` exit 3."""

    schedule: str
    alarms: Share
    undecided: Share
    findings: Share
    cpu: float

    def json(self) -> dict[str, object]:
        """For machines."""
        return {
            "schedule": self.schedule,
            "alarms": self.alarms.json(),
            "undecided": self.undecided.json(),
            "with_findings": self.findings.json(),
            "cpu_seconds": round(self.cpu, 2),
        }


def fault_lines(rows: Sequence[Row]) -> list[FaultLine]:
    """A line for each fault and schedule that was measured, in the order of the zoo."""
    schedules = {row.fault: dict[str, None]() for row in rows}
    for row in rows:
        if row.purpose == "find":
            schedules[row.fault][row.schedule] = None
    order = [name for name in FAULTS if name in schedules]
    return [_fault_line(rows, name, schedule) for name in order for schedule in schedules[name]]


def _fault_line(rows: Sequence[Row], name: str, schedule: str) -> FaultLine:
    own = [row for row in rows if row.purpose == "find" and row.fault == name and row.schedule == schedule]
    plain = [row for row in rows if row.purpose == "plain" and row.fault == name]
    fault = FAULTS[name]
    firsts = sorted(row.first for row in own if row.first is not None)
    with_donors = [row for row in own if row.donors] if fault.donors else []
    return FaultLine(
        fault=name,
        rate=own[0].rate,
        schedule=schedule,
        concurrency=own[0].concurrency,
        power=at_least(row.found for row in own),
        kind=at_least(row.kind_ok for row in own),
        donor=at_least(not row.donors.get("wrong") for row in with_donors) if with_donors else None,
        first=(firsts[len(firsts) // 2], firsts[-1]) if firsts else None,
        plain=at_most(row.found for row in plain) if plain and schedule == fault.schedule else None,
        cpu=median(row.cpu for row in own),
        exits=_counted(row.exit for row in own),
    )


def clean_lines(rows: Sequence[Row]) -> list[CleanLine]:
    """A line for the default gate and for each schedule that was run without a fault."""
    clean = [row for row in rows if row.purpose == "clean" and row.fault == CLEAN]
    lines = []
    for schedule in (DEFAULT_GATE, *SHAPES):
        own = [row for row in clean if row.schedule == schedule]
        if own:
            lines.append(
                CleanLine(
                    schedule,
                    alarms=at_most(row.exit == 1 for row in own),
                    undecided=at_most(row.exit not in (0, 1) for row in own),
                    findings=at_most(not row.kind_ok for row in own),
                    cpu=median(row.cpu for row in own),
                )
            )
    return lines


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """All of it for machines."""
    return {
        "confidence": CONFIDENCE,
        "faults": [line.json() for line in fault_lines(rows)],
        "clean": [line.json() for line in clean_lines(rows)],
    }


def markdown(rows: Sequence[Row], command: str) -> str:
    """The tables with what they mean and the command that makes them."""
    parts = ["# Detection power and false alarms, simulated engine", "", _MEANING.format(command=command)]
    faults, clean = fault_lines(rows), clean_lines(rows)
    if faults:
        parts += ["", "## Planted faults", "", *_fault_table(faults)]
    if clean:
        parts += ["", "## Clean runs", "", *_clean_table(clean)]
    return "\n".join(parts) + "\n"


_MEANING = """`{command}`

Every run is a gate over HTTP between two simulated servers, of which the candidate has one fault at the stated rate;
each seed is another server, with other prompts. A run that is to find a fault has one schedule at one concurrency (8
unless stated) and a control of 8 requests; it stops as the gate stops. *power*: runs with the exit status that the
policy gives the fault (1, or 3 for speculation that is off). *kind*: runs with a finding of a kind that the fault must
show. *donor*: of the runs with certain bleeds, those whose every one names the donor that the engine says. *first*: the
candidate's requests, calibration included, up to the first right finding (median, most). *closed loop*: the same fault
and seeds under a closed loop of 96 judged answers at the same concurrency; a fault that needs its schedule is not found
there. Bounds are one-sided, exact, 95 %: at least, for power, kind and donor; at most, for the closed loop and alarms.
"""


def _fault_table(lines: Sequence[FaultLine]) -> list[str]:
    head = ["fault", "rate", "schedule", "power", "≥", "kind", "donor", "first", "closed loop", "CPU s"]
    return _table(
        head,
        [
            [
                line.fault,
                f"{line.rate:.0%}",
                f"{line.schedule}" + (f" at {line.concurrency}" if line.concurrency != 8 else ""),
                str(line.power),
                f"{line.power.bound:.1%}",
                str(line.kind),
                str(line.donor) if line.donor else "",
                f"{line.first[0]}, {line.first[1]}" if line.first else "",
                f"{line.plain} (≤ {line.plain.bound:.1%})" if line.plain else "",
                f"{line.cpu:.1f}",
            ]
            for line in lines
        ],
    )


def _clean_table(lines: Sequence[CleanLine]) -> list[str]:
    head = ["traffic", "failed", "≤", "undecided", "with any finding", "CPU s"]
    return _table(
        head,
        [
            [
                line.schedule,
                str(line.alarms),
                f"{line.alarms.bound:.1%}",
                str(line.undecided),
                str(line.findings),
                f"{line.cpu:.1f}",
            ]
            for line in lines
        ],
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def _counted(values: Iterable[int]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return dict(sorted(counts.items()))
