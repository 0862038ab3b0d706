"""The page itself: everything that a run says, rendered once, with no network and nothing that a text could start."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from fuzzer.report.divergence import divergences, histogram
from fuzzer.report.matrix import matrix
from fuzzer.report.page import charts
from fuzzer.report.page.evidence import Case, Side, cases
from fuzzer.report.page.timeline import Drawing, draw
from fuzzer.report.redact import shareable
from fuzzer.report.rows import rows
from fuzzer.report.sentences import (
    calibrated,
    comparison,
    endpoint,
    exclusions,
    guards,
    marks,
    ranked,
    run_line,
    seen_at,
    tone,
    undecided,
    verdict_line,
)
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, ordered, percent, place_of, plural
from fuzzer.summary import CellSummary, FindingGroup, Summary

_STATES: Final = {"pass": "good", "fail": "bad", "informational": "calm"}
_DIFF: Final = 2_000  # characters that are compared; what comes after stands unmarked
_RESULT: Final = ("N", "lm_head", "candidate", "schedule", "failures", "rate", "bound", "reference", "p", "status")
_BASIS: Final = ("N", "lm_head", "candidate", "schedule", "differ", "noise floor", "at N", "accepted", "clusters")

_REGRET: Final = (
    "tokens of the calibration outputs by how far the reference, given the same beginning, puts them below its best, "
    "in nats; none: the reference's own choice, or as good"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of an answer; ``differs`` where the other side says something else."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Shown:
    """A case as the page lays it out."""

    case: Case
    said: tuple[Piece, ...]
    other: tuple[Piece, ...]
    timeline: Drawing | None
    strip: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be sorted, filtered and saved as CSV; ``states`` colours a row."""

    name: str
    title: str
    columns: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    states: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Heat:
    """One field of the heat map: numbers for the eye, and a shade from 0 (none failed) to 4."""

    count: str
    rate: str
    interval: str
    status: str
    shade: int


def html(summary: Summary, directory: Path | None = None) -> str:
    """The whole page; with the run's ``directory`` also the texts and timelines of its findings."""
    from jinja2 import Environment, StrictUndefined

    summary = shareable(summary)
    shown = cases(directory, summary) if directory is not None else {}
    home = files("fuzzer.report.page")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["clean"] = clean
    template = environment.from_string(home.joinpath("page.html.j2").read_text(encoding="utf-8"))
    return template.render(
        **_facts(summary, directory),
        groups=[_group(group, summary, shown.get(group.key, [])) for group in ranked(summary.findings)],
        style=home.joinpath("page.css").read_text(encoding="utf-8"),
        script=home.joinpath("page.js").read_text(encoding="utf-8"),
    )


def _facts(summary: Summary, directory: Path | None) -> dict[str, Any]:
    return {
        "summary": summary,
        "tone": tone(summary),
        "verdict": verdict_line(summary),
        "reasons": [
            (f"{place_of(reason.cell, summary)}: " if reason.cell else "") + clean(reason.message, 1000)
            for reason in summary.reasons
        ],
        "ruled_out": exclusions(summary),
        "heat": _heat(summary),
        "charts": [svg for svg in (charts.rates(summary), charts.speeds(summary), charts.acceptances(summary)) if svg],
        "decisions": _decisions(summary),
        "tables": _tables(summary),
        "comparisons": [comparison(pair) for pair in summary.comparisons],
        "divergences": divergences(summary),
        "undecided": undecided(summary),
        "guards": guards(summary),
        "calibration": calibrated(summary.calibration),
        "endpoints": [endpoint(end) for end in summary.endpoints],
        "run": run_line(summary),
        "where": clean(str(directory), 300) if directory is not None else "",
        "percent": percent,
        "plural": plural,
    }


def _heat(summary: Summary) -> tuple[tuple[str, ...], list[tuple[str, list[Heat | None]]]]:
    """Concurrency by head; where there are several schedules, a row each."""
    owners = list(dict.fromkeys((cell.lm_head, cell.candidate) for cell in ordered(summary.cells)))
    many = len({cell.candidate for cell in summary.cells}) > 1
    columns = tuple(clean(f"{head or 'head unstated'}{f' ({who})' if many else ''}", 60) for head, who in owners)
    found = {(cell.concurrency, cell.schedule, cell.lm_head, cell.candidate): cell for cell in summary.cells}
    places = sorted({(cell.concurrency, cell.schedule) for cell in summary.cells})
    grid = [
        (f"{level}, {schedule}", [_field(found.get((level, schedule, *owner))) for owner in owners])
        for level, schedule in places
    ]
    return columns, grid


def _field(cell: CellSummary | None) -> Heat | None:
    if cell is None:
        return None
    if not cell.rate.n:
        return Heat("nothing judged", "", "", STATUS[cell.status], 0)
    share = cell.rate.k / cell.rate.n
    wilson = cell.rate.wilson
    spread = f"{percent(wilson.low)} to {percent(wilson.high)}" if wilson else ""
    shade = 0 if not cell.rate.k else 1 if share < 0.01 else 2 if share < 0.05 else 3 if share < 0.2 else 4
    return Heat(f"{cell.rate.k} of {cell.rate.n}", percent(share), spread, STATUS[cell.status], shade)


def _decisions(summary: Summary) -> Table:
    """The rollout question in one look: what each concurrency buys and what it costs in wrong answers."""
    lines, states = [], []
    for cell in ordered(summary.cells):
        ours, theirs = cell.speed.candidate_tokens_per_second, cell.speed.reference_tokens_per_second
        gain = f"x{ours / theirs:.2f}" if ours and theirs else "not measured"
        wrong = f"{100 * cell.rate.k / cell.rate.n:.2g} in 100 ({cell.rate.k}/{cell.rate.n})" if cell.rate.n else "-"
        bound = f"at most {percent(cell.bound.value)}" if cell.bound and cell.status == "pass" else "-"
        lines.append(
            (str(cell.concurrency), clean(cell.lm_head or "unstated", 40), clean(cell.candidate, 60), cell.schedule,
             gain, wrong, bound, STATUS[cell.status])
        )  # fmt: skip
        states.append(_STATES.get(cell.status, "unsure"))
    columns = ("N", "lm_head", "candidate", "schedule", "speed-up", "wrong answers", "ruled out", "may roll out?")
    verdicts = {"pass": "yes", "FAIL": "NO", "info only": "control"}
    told = tuple((*line[:-1], verdicts.get(line[-1], f"not known ({line[-1]})")) for line in lines)
    note = "speed-up: the candidate's output tokens per second over the reference's, in the same blocks"
    return Table("decision", "What it buys, what it costs", columns, told, tuple(states), note)


def _tables(summary: Summary) -> list[Table]:
    found = rows(summary)
    whose = [(row.concurrency, row.lm_head, row.candidate, row.schedule) for row in found]
    states = tuple(_STATES.get(cell.status, "unsure") for cell in ordered(summary.cells))
    result = tuple(
        (*who, row.failures, row.rate, row.bound, row.reference, row.p, row.status)
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
    speeds = tuple((*who, *_times(cell)) for who, cell in zip(whose, ordered(summary.cells), strict=True))
    heads = matrix(summary)
    names, lines = histogram(summary)
    return [
        *([Table("heads", "By lm_head precision", ("N", *heads.columns), heads.failures)] if heads else []),
        Table("cells", "Failures, cell by cell", _RESULT, result, states,
              "failures: answers graded wrong and candidate-only service failures, of those judged; bound: upper, "
              f"one-sided at {percent(summary.confidence)} (Clopper-Pearson 1934); p: exact McNemar (1947) against "
              "the reference, or the control where there is none, one-sided, adjusted by Holm (1979)"),
        Table("basis", "What that rests on", _BASIS, basis, (),
              "differ: outputs unlike the reference's; noise floor: prompts that differ in calibration, candidate v "
              "reference against reference v itself, and the candidate's worst regret in nats where the reference "
              "scored it; at N: share of the time at the full concurrency, candidate / reference; accepted: tokens per "
              "verify step; clusters: those that hold a failure"),
        *([Table("regret", "Regret of the candidate's tokens", names, tuple(lines), (), _REGRET)] if lines else []),
        Table("speed", "Latency and throughput", ("N", "lm_head", "candidate", "schedule", "median s", "reference",
              "first token s", "reference", "tokens/s", "reference"), speeds),
        Table("counts", "What came back", ("cell", "counts"), counted),
        Table("calibration", "Calibration: what was kept, and what was dropped", ("family", "form", "tried", "kept",
              "wrong alone", "wrong at N only", "asked no more because"), families),
    ]  # fmt: skip


def _times(cell: CellSummary) -> tuple[str, ...]:
    speed = cell.speed
    values = (
        speed.candidate_seconds, speed.reference_seconds, speed.candidate_first_token, speed.reference_first_token,
        speed.candidate_tokens_per_second, speed.reference_tokens_per_second,
    )  # fmt: skip
    return tuple("-" if value is None else f"{value:.3g}" for value in values)


def _group(group: FindingGroup, summary: Summary, found: Sequence[Case]) -> dict[str, Any]:
    return {
        "group": group,
        "lead": found[0].finding if found else group.example,
        "marks": marks(group),
        "places": seen_at(group, summary),
        "state": "bad" if group.breaks_gate and not group.waived else "calm" if group.waived else "unsure",
        "cases": [_shown(case) for case in found],
        "judge": f"specfuzz judge {summary.run_id}",
    }


def _shown(case: Case) -> Shown:
    said, other = _compared(case.said, case.other)
    donor = case.finding.donor.exchange if case.finding.donor else None
    return Shown(case, said, other, draw(case.bars, case.finding.exchange or "", donor), tuple(_strip(case)))


def _compared(said: Side | None, other: Side | None) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Both answers in pieces, word by word where they differ."""
    ours, theirs = (side.text if side else "" for side in (said, other))
    if said is None or other is None or not ours or not theirs:
        return (Piece(ours, False),), (Piece(theirs, False),)
    left, right = _words(ours[:_DIFF]), _words(theirs[:_DIFF])
    matcher = difflib.SequenceMatcher(a=left, b=right, autojunk=False)
    mine: list[Piece] = []
    yours: list[Piece] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        mine.append(Piece("".join(left[a:b]), tag != "equal"))
        yours.append(Piece("".join(right[c:d]), tag != "equal"))
    mine.append(Piece(ours[_DIFF:], False))
    yours.append(Piece(theirs[_DIFF:], False))
    return tuple(piece for piece in mine if piece.text), tuple(piece for piece in yours if piece.text)


def _words(text: str) -> list[str]:
    words: list[str] = []
    for char in text:
        if words and (char.isalnum() == words[-1][-1:].isalnum()) and char.isalnum():
            words[-1] += char
        else:
            words.append(char)
    return words


def _regret(token: str, regret: float | None) -> tuple[str, str, str]:
    if regret is None:
        return token, "none", "not scored"
    shade = "wide" if regret <= 0 else "some" if regret < 0.1 else "narrow" if regret < 0.5 else "thin"
    return token, shade, f"{regret:.2f} nats below the reference's best" if regret > 0 else "the reference's best"


def _strip(case: Case) -> Iterable[tuple[str, str, str]]:
    """Token, shade and hint: its regret where the reference scored the answer, else how thin the margin was there."""
    if case.said is not None and case.said.regrets:
        yield from (_regret(token, regret) for token, regret in case.said.regrets)
        return
    for token, margin in case.said.margins if case.said else ():
        if margin is None:
            yield token, "none", "no margin told"
        else:
            shade = "thin" if margin < 0.1 else "narrow" if margin < 0.5 else "some" if margin < 2 else "wide"
            yield token, shade, f"{margin:.2f} nats above the next"
