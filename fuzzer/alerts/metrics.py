"""What a soak tells Prometheus: one table of metrics, and the listener that keeps them.

Labels are names that the plan or this package fixes, never text that came from a prompt or a server, so that the number
of series stays small however long a night is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Final, Literal, get_args

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from fuzzer.events import BlockJudged, Event, ExchangeDone, ExchangeSent, FindingSeen, RunFinished, RunStarted
from fuzzer.finding import Certainty, Kind
from fuzzer.history.records import Arm, Outcome
from fuzzer.night import CellCount, Leg, Purpose
from fuzzer.plan import Cell, ScheduleName
from fuzzer.report.text import clean
from fuzzer.summary import VerdictName

_CELL: Final = ("candidate", "lm_head", "concurrency", "schedule")
_OUTCOMES: Final = frozenset(get_args(Outcome))
_ARMS: Final[tuple[Arm, ...]] = get_args(Arm)
_ENDS: Final = 64  # a plan has fewer ends; should more names come, the rest are counted together
OTHER: Final = "other"
"""The label's value where a name is none that is known."""

_Labels = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Described:
    """One metric: its full name (with ``_total``, if a counter), its help line and the names of its labels."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...] = ()


METRICS: Final[Mapping[str, Described]] = {
    each.name: each
    for each in (
        Described(
            "specfuzz_exchanges_total",
            "counter",
            "Requests that have ended, calibration and filler included, by what became of them.",
            ("arm", "outcome"),
        ),
        Described("specfuzz_judged_answers_total", "counter", "Answers of the candidate that were judged.", _CELL),
        Described(
            "specfuzz_failed_answers_total",
            "counter",
            "Judged answers of the candidate that failed: wrong, or failed in service on the candidate only.",
            _CELL,
        ),
        Described(
            "specfuzz_findings_total",
            "counter",
            "Findings of the oracles, known and harmless ones included.",
            ("kind", "certainty", "arm"),
        ),
        Described("specfuzz_legs_total", "counter", "Legs that have ended, by their verdict.", ("outcome",)),
        Described("specfuzz_outages_total", "counter", "How often an end could not be measured for a while.", ("end",)),
        Described("specfuzz_outage_open", "gauge", "1 while this end cannot be measured, else 0.", ("end",)),
        Described("specfuzz_requests_in_flight", "gauge", "Requests that were sent and have not ended.", ("arm",)),
        Described(
            "specfuzz_acceptance_length_tokens",
            "gauge",
            "Tokens completed in one verify step of the candidate, in the last leg that measured this cell.",
            _CELL,
        ),
        Described(
            "specfuzz_output_tokens_per_second",
            "gauge",
            "Output tokens a second over the measured stages, in the last leg that measured this cell.",
            (*_CELL, "arm"),
        ),
        Described("specfuzz_leg_number", "gauge", "The number of the leg that is running or ran last, from 1."),
        Described(
            "specfuzz_leg_running",
            "gauge",
            "1 for the leg that is running; no series between legs.",
            ("purpose", "schedule", "concurrency"),
        ),
        Described(
            "specfuzz_boot_number", "gauge", "The number of the candidate's boot, from 1; it grows at a restart."
        ),
        Described("specfuzz_kept_bytes", "gauge", "Bytes on disk that the soak's directory holds."),
        Described(
            "specfuzz_last_progress_timestamp_seconds",
            "gauge",
            "When a request last ended or a leg last began or ended, in Unix time.",
        ),
        Described(
            "specfuzz_verdict",
            "gauge",
            "1 for the night's verdict; 0 for the others, and until it is in.",
            ("outcome",),
        ),
    )
}
"""Every metric by its name; the documentation and the examples are tested against it."""


@dataclass(slots=True, eq=False)
class NightMetrics:
    """Listens to the legs' runs, and is told by the soak what is not an event of a run.

    All of it runs on the event loop and only counts. ``registry`` is its own: nothing else is exposed. ``clock`` gives
    Unix time in seconds.
    """

    clock: Callable[[], float] = time.time
    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    _values: dict[str, dict[_Labels, float]] = field(default_factory=lambda: {name: {} for name in METRICS})
    _cells: dict[str, Cell] = field(default_factory=dict)
    _judged: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for arm in _ARMS:
            self._set("specfuzz_requests_in_flight", 0, arm)
        for name in ("specfuzz_leg_number", "specfuzz_boot_number", "specfuzz_kept_bytes"):
            self._set(name, 0)
        for outcome in get_args(VerdictName):
            self._set("specfuzz_verdict", 0, outcome)
        for found in product(get_args(Kind), get_args(Certainty), _ARMS):  # increase() does not see a series begin
            self._set("specfuzz_findings_total", 0, *found)
        self._progress()
        self.registry.register(self)

    def __call__(self, event: Event) -> None:
        """Take one event of a leg's run."""
        if isinstance(event, ExchangeSent):
            self._add("specfuzz_requests_in_flight", 1, event.arm)
        elif isinstance(event, ExchangeDone):
            self._done(event)
        elif isinstance(event, BlockJudged):
            if (cell := self._cells.get(event.cell)) is not None:
                self._count(cell, event.failures, event.judged)
        elif isinstance(event, FindingSeen):
            found = event.finding
            self._add("specfuzz_findings_total", 1, found.kind, found.certainty, found.arm)
        elif isinstance(event, RunStarted):
            self._cells = {cell.key: cell for cell in event.plan.cells()}
            for cell in self._cells.values():
                self._count(cell, 0, 0)
            self._nothing_in_flight()
        elif isinstance(event, RunFinished):
            self._nothing_in_flight()

    def leg_begun(self, number: int, purpose: Purpose, schedule: ScheduleName, concurrency: int) -> None:
        """A leg begins."""
        self._judged.clear()
        self._set("specfuzz_leg_number", number)
        self._values["specfuzz_leg_running"] = {(purpose, schedule, str(concurrency)): 1}
        self._progress()

    def leg_ended(self, leg: Leg) -> None:
        """A leg has ended: its counts are final, and its speed is known."""
        self._add("specfuzz_legs_total", 1, leg.verdict)
        self._values["specfuzz_leg_running"] = {}
        self._nothing_in_flight()
        for cell in leg.cells:
            self._count(cell, cell.k, cell.n)
            self._speed(cell)
        self._judged.clear()
        self._progress()

    def boot(self, number: int) -> None:
        """The candidate's boot is this one from now on."""
        self._set("specfuzz_boot_number", number)

    def outage(self, end: str, open_: bool) -> None:
        """An end cannot be measured any more (``open_``), or can again; saying so twice counts once."""
        known = self._values["specfuzz_outage_open"]
        label = clean(end, 100)
        label = label if (label,) in known or len(known) < _ENDS else OTHER
        if open_ and not known.get((label,)):
            self._add("specfuzz_outages_total", 1, label)
        self._set("specfuzz_outage_open", int(open_), label)

    def disk(self, bytes_: int) -> None:
        """So many bytes are kept on disk."""
        self._set("specfuzz_kept_bytes", bytes_)

    def verdict(self, name: VerdictName) -> None:
        """The night's verdict."""
        for outcome in get_args(VerdictName):
            self._set("specfuzz_verdict", int(outcome == name), outcome)

    def describe(self) -> Iterable[Metric]:
        """What will be collected, for the registry."""
        return [_family(each) for each in METRICS.values()]

    def collect(self) -> Iterator[Metric]:
        """All metrics at this moment, for the registry."""
        for name, described in METRICS.items():
            family = _family(described)
            for labels, value in list(self._values[name].items()):
                family.add_metric(labels, value)
            yield family

    def _done(self, event: ExchangeDone) -> None:
        arm = event.arm if event.arm in _ARMS else OTHER
        outcome = event.outcome if event.outcome in _OUTCOMES else OTHER
        self._add("specfuzz_exchanges_total", 1, arm, outcome)
        flight = self._values["specfuzz_requests_in_flight"]
        flight[(arm,)] = max(flight.get((arm,), 0) - 1, 0)
        self._progress()

    def _count(self, cell: Cell | CellCount, failures: int, judged: int) -> None:
        """Count up to these totals of this leg's cell; counters never go back."""
        failed, seen = self._judged.get(cell.key, (0, 0))
        labels = _labels(cell)
        self._add("specfuzz_judged_answers_total", max(judged - seen, 0), *labels)
        self._add("specfuzz_failed_answers_total", max(failures - failed, 0), *labels)
        self._judged[cell.key] = (max(failures, failed), max(judged, seen))

    def _speed(self, cell: CellCount) -> None:
        labels = _labels(cell)
        if cell.acceptance is not None:
            self._set("specfuzz_acceptance_length_tokens", cell.acceptance, *labels)
        speeds = (cell.tokens_per_second, cell.reference_tokens_per_second)
        for arm, speed in zip(_ARMS, speeds, strict=True):
            if speed is not None:
                self._set("specfuzz_output_tokens_per_second", speed, *labels, arm)

    def _nothing_in_flight(self) -> None:
        """Between runs nothing is: those that a run broke off never said that they ended."""
        for arm in _ARMS:
            self._set("specfuzz_requests_in_flight", 0, arm)

    def _progress(self) -> None:
        self._set("specfuzz_last_progress_timestamp_seconds", self.clock())

    def _set(self, name: str, value: float, *labels: str) -> None:
        self._values[name][labels] = value

    def _add(self, name: str, amount: float, *labels: str) -> None:
        values = self._values[name]
        values[labels] = values.get(labels, 0) + amount


def _labels(cell: Cell | CellCount) -> _Labels:
    head = clean(cell.lm_head, 100) if cell.lm_head else "unstated"
    return clean(cell.candidate, 100), head, str(cell.concurrency), cell.schedule


def _family(described: Described) -> CounterMetricFamily | GaugeMetricFamily:
    kind = CounterMetricFamily if described.kind == "counter" else GaugeMetricFamily
    return kind(described.name, described.help, labels=described.labels)
