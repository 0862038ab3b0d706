"""The page's tables and its heat map: the bulk of a run as aggregates, each to be saved as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fuzzer.report import costs
from fuzzer.report.divergence import histogram
from fuzzer.report.matrix import matrix
from fuzzer.report.page import values
from fuzzer.report.page.layout import Table
from fuzzer.report.rows import rows
from fuzzer.report.sentences import FAILING
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, ordered, percent
from fuzzer.summary import CellSummary, Summary

_STATES: Final = {"pass": "good", "fail": "bad", "informational": "calm"}
_CODES: Final = {
    "wrong-rate": "too high a failure rate",
    "worse-than-reference": "worse than the reference",
    "service-failures": "service failures of its own",
    "material-divergence": "material divergence",
    "acceptance-collapse": "acceptance collapsed",
    "stale-drafts": "drafts outlive their requests",
}
_RESULT: Final = ("N", "lm_head", "candidate", "schedule", "failures", "rate", "bound", "reference", "p", "status")
_BASIS: Final = ("N", "lm_head", "candidate", "schedule", "differ", "noise floor", "at N", "accepted", "clusters")

_REGRET: Final = (
    "tokens of the calibration outputs by how far the reference, given the same beginning, puts them below its best, "
    "in nats; none: the reference's own choice, or as good"
)


@dataclass(frozen=True, slots=True)
class Heat:
    """One field of the heat map: numbers for the eye, the verdict, why it failed, and its colour: by the verdict.

    ``shade``, from 0 to 4, says how many failed; ``values`` are those of the CSV.
    """

    count: str
    rate: str
    interval: str
    status: str
    why: str
    state: str
    shade: int
    values: tuple[str, ...]


def heat(summary: Summary) -> tuple[tuple[str, ...], list[tuple[str, list[Heat | None]]]]:
    """Concurrency by head; where there are several schedules, a row each."""
    owners = list(dict.fromkeys((cell.lm_head, cell.candidate) for cell in ordered(summary.cells)))
    heads = [head for head, _ in owners]
    shared = len(owners) > 1 and (None in heads or len(set(heads)) < len(heads))
    columns = tuple(clean(f"{head or 'head unstated'}{f' ({who})' if shared else ''}", 60) for head, who in owners)
    found = {(cell.concurrency, cell.schedule, cell.lm_head, cell.candidate): cell for cell in summary.cells}
    places = sorted({(cell.concurrency, cell.schedule) for cell in summary.cells})
    grid = [
        (f"{level}, {schedule}", [_field(found.get((level, schedule, *owner)), summary) for owner in owners])
        for level, schedule in places
    ]
    return columns, grid


def _field(cell: CellSummary | None, summary: Summary) -> Heat | None:
    if cell is None:
        return None
    rate, wilson, state = cell.rate, cell.rate.wilson, _STATES.get(cell.status, "unsure")
    share = rate.k / rate.n if rate.n else 0.0
    shade = 0 if not rate.k else 1 if share < 0.01 else 2 if share < 0.05 else 3 if share < 0.2 else 4
    return Heat(
        count=f"{rate.k} of {rate.n}" if rate.n else "nothing judged",
        rate=percent(share) if rate.n else "",
        interval=f"{percent(wilson.low)} to {percent(wilson.high)}" if wilson and rate.n else "",
        status=STATUS[cell.status],
        why=_why(cell, summary) if cell.status == "fail" else "",
        state=state,
        shade=shade,
        values=values.results(summary.model_copy(update={"cells": (cell,)}))[1][0],
    )


def _why(cell: CellSummary, summary: Summary) -> str:
    """What failed the cell, in a few words."""
    said = []
    for reason in summary.reasons:
        if reason.cell == cell.key and reason.code in FAILING:
            told = reason.message if reason.code == "certain-finding" else _CODES.get(reason.code, reason.code)
            said.append(clean(told.replace("@candidate:", ":"), 120))
    return "; ".join(dict.fromkeys(said))


def decisions(summary: Summary) -> Table:
    """The rollout question in one look: what each concurrency buys and what it costs in wrong answers."""
    found = costs.decisions(summary)
    states = tuple(_STATES.get(row.status, "unsure") for row in found)
    lines = tuple(_verdict_second(row.texts) for row in found)
    names, told = values.decisions(summary)
    return Table(
        "decision", "What it buys, what it costs", _verdict_second(costs.DECISION), lines, states, costs.DECISION_NOTE,
        names, tuple(told),
    )  # fmt: skip


def _verdict_second(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The last field moved behind the first: a phone shows no more than two."""
    return (texts[0], texts[-1], *texts[1:-1])


def _csv(found: values.Values) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    names, lines = found
    return names, tuple(lines)


def tables(summary: Summary) -> list[Table]:
    """All that lie below the findings."""
    found = rows(summary)
    whose = [(row.concurrency, row.lm_head, row.candidate, row.schedule) for row in found]
    states = tuple(_STATES.get(cell.status, "unsure") for cell in ordered(summary.cells))
    result = tuple(
        _verdict_second((*who, row.failures, row.rate, row.bound, row.reference, row.p, row.status))
        for who, row in zip(whose, found, strict=True)
    )
    basis = tuple(
        (*who, row.divergence, ", ".join(row.floor), " / ".join(row.achieved), row.acceptance, row.clusters)
        for who, row in zip(whose, found, strict=True)
    )
    counted = tuple((row.place, "; ".join(row.counts)) for row in found)
    families = tuple(
        (f.family, f.level, str(f.tried), str(f.kept), str(f.wrong_alone), str(f.wrong_at_n_only), f.left_out or "-")
        for f in summary.calibration
    )
    told = tuple((line,) for line in costs.engines(summary))
    heads = matrix(summary)
    names, lines = histogram(summary)
    return [
        *([Table("heads", "By lm_head precision", ("N", *heads.columns), heads.failures)] if heads else []),
        Table("cells", "Failures, cell by cell", _verdict_second(_RESULT), result, states,
              "failures: answers graded wrong and candidate-only service failures, of those judged; bound: upper, "
              f"one-sided at {percent(summary.confidence)} (Clopper-Pearson 1934); p: exact McNemar (1947) against "
              "the reference, or the control where there is none, one-sided, adjusted by Holm (1979)",
              *_csv(values.results(summary))),
        Table("basis", "What that rests on", _BASIS, basis, (),
              "differ: outputs unlike the reference's; noise floor: prompts that differ in calibration, candidate v "
              "reference against reference v itself, and the candidate's worst regret in nats where the reference "
              "scored it; at N: share of the time at the full concurrency, candidate / reference; accepted: tokens per "
              "verify step; clusters: those that hold a failure",
              *_csv(values.basis(summary))),
        *([Table("regret", "Regret of the candidate's tokens", names, tuple(lines), (), _REGRET)] if lines else []),
        Table("speed", "Latency and throughput", costs.LATENCY, tuple(costs.latencies(summary)), (),
              costs.LATENCY_NOTE, *_csv(values.speeds(summary))),
        *([Table("engines", "What the engines tell", ("of memory, drafts, caches and preemptions",), told)]
          if told else []),
        Table("counts", "What came back", ("cell", "counts"), counted, (), "", *_csv(values.counts(summary))),
        Table("calibration", "Calibration: what was kept, and what was dropped", ("family", "form", "tried", "kept",
              "wrong alone", "wrong at N only", "asked no more because"), families),
    ]  # fmt: skip
