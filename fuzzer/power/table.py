"""The measurements as tables: detection power by fault, what a closed loop misses, false alarms; each with its n."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from fuzzer.power.jobs import CLEAN, DEFAULT_GATE, PLAIN_REQUESTS, PLAIN_SEEDS, Row
from fuzzer.shapes import SHAPES
from fuzzer.sim.faults import FAULTS, Fault
from fuzzer.stats import clopper_pearson_lower, clopper_pearson_upper

CONFIDENCE = 0.95
ALLOWED = 2  # runs of a fault that may lack a right kind, or a right donor
_CERTAIN = "certain-finding: "


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

    ``power``: the exit status that the policy gives the fault. ``kind``: a finding of a right kind. ``others``: runs
    that failed on a certain finding of a kind that the fault is not declared to show. ``donor``: runs whose certain
    bleeds all name a right donor, of those with any. ``first``: the candidate's requests up to the first right finding.
    ``plain``: the same fault found by a closed loop, where it needs a schedule.
    """

    fault: str
    rate: float
    schedule: str
    concurrency: int
    power: Share
    kind: Share
    others: int
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
            "other_kinds": self.others,
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
        others=sum(_has_other_kinds(row, fault) for row in own),
        donor=at_least(not row.donors.get("wrong") for row in with_donors) if with_donors else None,
        first=(firsts[len(firsts) // 2], firsts[-1]) if firsts else None,
        plain=at_most(row.shown for row in plain) if plain and schedule == fault.schedule else None,
        cpu=median(row.cpu for row in own),
        exits=dict(sorted(Counter(row.exit for row in own).items())),
    )


def _has_other_kinds(row: Row, fault: Fault) -> bool:
    """Whether a certain finding that failed the gate is of none of the fault's kinds."""
    keys = [reason.removeprefix(_CERTAIN) for reason in row.reasons if reason.startswith(_CERTAIN)]
    return any(not _names(key) & set(fault.kinds) for key in keys)


def _names(key: str) -> set[str]:
    """The kind, and kind/sub-kind, of a group of findings as a reason names it: kind/sub-kind/...@arm: where."""
    kind, *sub_kinds = key.split("@")[0].split("/")
    return {kind, "/".join((kind, *sub_kinds[:1]))}


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


def shortfalls(rows: Sequence[Row]) -> list[str]:
    """What falls short of what is required of the measurement, by name; nothing if all is well.

    A fault that needs a schedule is required to be found under that one only.
    """
    told = []
    for line in fault_lines(rows):
        needs = FAULTS[line.fault].schedule
        name = f"{line.fault} under {line.schedule}"
        if needs in ("", line.schedule):
            if line.power.k < line.power.n:
                told.append(f"{name} is found in {line.power}")
            if _short(line.kind):
                told.append(f"{name} shows a declared kind in {line.kind}")
            if line.donor and _short(line.donor):
                told.append(f"{name} names the right donor in {line.donor}")
        if line.plain and line.plain.k:
            told.append(f"{line.fault}, which needs {needs}, is found by a plain closed loop in {line.plain}")
    for clean in clean_lines(rows):
        if clean.alarms.k:
            told.append(f"a clean pair fails under {clean.schedule} in {clean.alarms}")
        if clean.undecided.k > min(ALLOWED, clean.undecided.n - 1):
            told.append(f"a clean pair is left undecided under {clean.schedule} in {clean.undecided}")
    return told


def _short(share: Share) -> bool:
    """Whether it went wrong too often, or never went right."""
    return share.n - share.k > ALLOWED or share.k == 0


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """All of it for machines."""
    return {
        "confidence": CONFIDENCE,
        "programs": dict(_programs(rows)),
        "faults": [line.json() for line in fault_lines(rows)],
        "clean": [line.json() for line in clean_lines(rows)],
        "falls_short": shortfalls(rows),
    }


def _programs(rows: Iterable[Row]) -> list[tuple[str, int]]:
    """The states of the program that measured the rows, most rows first; "" is that of rows which have none."""
    return Counter(row.program for row in rows).most_common()


def markdown(rows: Sequence[Row], command: str) -> str:
    """The tables with what they mean, the command that makes them, and what falls short."""
    parts = ["# Detection power and false alarms, simulated engine", "", f"`{command}`", ""]
    counts = [
        f"{count:,} by `{program}`" if program else f"{count:,} earlier rows have none"
        for program, count in _programs(rows)
    ]
    parts += [f"Rows by program state, a digest of its sources: {', '.join(counts) or 'no rows'}.", "", _MEANING]
    faults, clean = fault_lines(rows), clean_lines(rows)
    if faults:
        parts += ["", "## Planted faults", "", *_fault_table(faults)]
    if clean:
        parts += ["", "## Clean runs", "", *_clean_table(clean)]
    parts += ["", "## Required", "", _REQUIRED, "", f"Falls short: {'; '.join(shortfalls(rows)) or 'nothing'}."]
    return "\n".join(parts) + "\n"


_MEANING = f"""Every run is a gate over HTTP between two simulated servers, of which the candidate has one fault at the
stated rate; each seed is another server, with other prompts. A run that is to find a fault has one schedule at one
concurrency (8 unless stated) and a control of 8 requests; it stops as the gate stops. Of these runs:

- *power*: in how many the gate's exit status was the fault's (1, or 3 for speculation that is off).
- *kind*: in how many, among the candidate's findings at any certainty and in any phase, one is of a kind that the fault
  is declared to show (for speculation that is off or poor, the gate's reason counts as a finding).
- *other kinds*: in how many a certain finding of an undeclared kind was among the gate's reasons; blank for none.
- *donor*: in how many all certain bleeds name the right donor. What counts are certain bleeds that name a donor which
  the engine also names, among runs with such bleeds.
- *first*: the candidate's requests, calibration included, up to the first right finding (median, most).
- *closed loop*: in how many runs the same fault was found without the schedule that it needs: in {PLAIN_REQUESTS}
  judged answers of a plain closed loop, the first {PLAIN_SEEDS} seeds, at the same concurrency, the gate failed or a
  finding was of a declared kind.

Bounds are one-sided, exact, {CONFIDENCE:.0%}: at least, for power, kind and donor; at most, for the closed loop and
alarms."""

_REQUIRED = f"""Every fault is found in all its runs, with a declared kind in all but {ALLOWED} and the right donor,
where one is named, in all but {ALLOWED} (and in one at least). A fault that needs a schedule is required under that
one, and is never found by a plain closed loop. No clean pair fails, and no more than {ALLOWED} of a kind of traffic
are left undecided (never all)."""


def _fault_table(lines: Sequence[FaultLine]) -> list[str]:
    head = ["fault", "rate", "schedule", "power", "≥", "kind", "other kinds", "donor", "first", "closed loop", "CPU s"]
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
                str(line.others or ""),
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
