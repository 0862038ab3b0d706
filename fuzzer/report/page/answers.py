"""What somebody with one minute asks of the page, answered in a line each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from fuzzer.finding import Finding
from fuzzer.report import costs
from fuzzer.report.page.evidence import Evidence, First, accused
from fuzzer.report.page.replay import Replays
from fuzzer.report.sentences import exclusion, ranked
from fuzzer.report.text import clean
from fuzzer.report.words import duration, listed, ordered, percent, place_of
from fuzzer.summary import CellSummary, Summary

State = Literal["good", "bad", "unsure", "calm"]

_WORD: Final[dict[State, str]] = {"good": "yes", "bad": "NO", "unsure": "not known", "calm": "control"}


_PARTS: Final = {
    "user": "its last user message",
    "history": "its earlier messages",
    "system": "its system message",
    "answer": "its answer",
    "items": "names of it",
    "cohort": "what its cohort shares",
}
_WHENS: Final = {
    "concurrent": "in flight at the same time",
    "stale": "finished earlier",
    "unconditioned": "not in flight",
    "ambiguous": "one of several that it may have been",
}


@dataclass(frozen=True, slots=True)
class Level:
    """Whether to roll out at one concurrency: ``where`` names it, ``word`` is the answer, ``why`` the reason."""

    where: str
    word: str
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Answers:
    """The four answers; empty texts where there is nothing to say.

    ``costs`` says what it buys in speed and costs in wrong answers, ``first`` what failed first, ``donor`` whose
    content bled. ``anchor`` is the key of the finding they speak of, ``place`` the id of its case where that is shown.
    ``ask`` is the command, or where no plan is at hand the option, that measures another level, ``other``.
    """

    levels: tuple[Level, ...]
    costs: tuple[str, ...]
    other: int
    ask: str
    first: str
    donor: str
    anchor: str
    place: str
    command: str
    command_note: str


def answers(summary: Summary, evidence: Evidence, replays: Replays) -> Answers:
    """All of them; without a history, what failed first is not known and the worst finding is told in its place."""
    first = evidence.first or _worst(summary)
    command, note = replays.command(first.finding) if first is not None else ("", "")
    other = _other(summary)
    return Answers(
        levels=tuple(levels(summary)),
        costs=tuple(costs.answers(summary)),
        other=other,
        ask=replays.measure(other) or f"--concurrency 1,{other}",
        first=_first(first, summary) if first is not None else "",
        donor=_donor(first, evidence, summary),
        anchor=first.finding.key if first is not None else "",
        place="first-failure" if first is not None and _is_shown(first, evidence) else "",
        command=command,
        command_note=note,
    )


def _is_shown(first: First, evidence: Evidence) -> bool:
    return any(case.finding == first.finding for case in evidence.cases.get(first.finding.key, ()))


def levels(summary: Summary) -> Iterator[Level]:
    """An answer for each measured level of each candidate: yes only if each cell passed; like ones are told together.

    The control, whose bound is reported and not required, is no answer to the question and is told as what it is.
    """
    several = len({(cell.candidate, cell.lm_head) for cell in summary.cells}) > 1
    groups: dict[tuple[str | None, str, int], list[CellSummary]] = {}
    for cell in ordered(summary.cells):
        if cell.role == "gated" or cell.rate.n:
            groups.setdefault((cell.lm_head, cell.candidate, cell.concurrency), []).append(cell)
    alike: dict[tuple[str, State, str], list[str]] = {}
    for (head, candidate, level), cells in sorted(groups.items(), key=lambda group: (group[0][0] or "", *group[0][1:])):
        state, why = _decided(cells, summary)
        alike.setdefault((_owner(head, candidate) if several else "", state, why), []).append(str(level))
    for (owner, state, why), found in alike.items():
        yield Level(f"at concurrency {listed(found)}{f', {owner}' if owner else ''}", _WORD[state], state, why)


def _owner(head: str | None, candidate: str) -> str:
    stated = f"lm_head {clean(head or 'unstated', 40)}"
    return stated if candidate == head else f"{clean(candidate, 40)} ({stated})"


def _decided(cells: list[CellSummary], summary: Summary) -> tuple[State, str]:
    if all(cell.role == "control" and cell.status != "fail" for cell in cells):
        k, n = sum(cell.rate.k for cell in cells), sum(cell.rate.n for cell in cells)
        return "calm", f"alone: {f'{k} failed' if k else 'no failure'} in {n}, no bound required"
    failed = [cell for cell in cells if cell.status == "fail"]
    undecided = [cell for cell in cells if cell.status not in ("fail", "pass")]
    state: State = "bad" if failed else "unsure" if undecided else "good"
    doubt = _doubt(summary) if state == "good" else ""
    return ("unsure", doubt) if doubt else (state, _why(failed, undecided, cells, summary))


def _doubt(summary: Summary) -> str:
    """What stands against the whole run, whatever its cells say; empty if nothing does."""
    said = [reason.message for reason in summary.reasons if not reason.cell and reason.code != "passed"]
    return clean(said[0], 300) if said and summary.verdict != "pass" else ""


def _why(failed: list[CellSummary], undecided: list[CellSummary], cells: list[CellSummary], summary: Summary) -> str:
    if failed:
        return f"it fails under {listed([cell.schedule for cell in failed])}"
    if undecided:
        first = undecided[0]
        reason = f": {clean(first.reasons[0], 200)}" if first.reasons else ""
        return f"{listed([cell.schedule for cell in undecided])} undecided{reason}"
    ruled = [rate for cell in cells if (rate := exclusion(cell, summary)) is not None]
    shapes = listed([cell.schedule for cell in cells])
    bound = (
        f"a failure rate of {percent(max(ruled))} or more is ruled out under {shapes}" if ruled else f"under {shapes}"
    )
    return f"{bound}, at {percent(summary.confidence)} (one-sided)"


def _other(summary: Summary) -> int:
    """A higher level than any that was measured."""
    return 2 * max((cell.concurrency for cell in summary.cells), default=4)


def _worst(summary: Summary) -> First | None:
    groups = ranked(summary.findings)
    keys = accused(groups)
    return next((First(group.example) for group in groups if group.key in keys), None)


def _first(first: First, summary: Summary) -> str:
    found = first.finding
    when = f", {duration(first.seconds)} into the run" if first.seconds is not None else ""
    return f"{clean(found.summary, 300)}; {_stage(found, summary)}{when}"


def _stage(found: Finding, summary: Summary) -> str:
    if found.phase in ("preflight", "warmup"):
        return "in preflight, before the first cell"
    where = place_of(found.cell, summary).removesuffix(", calibration")
    return f"at {where}{' (in calibration)' if found.phase == 'calibration' else ''}"


def _donor(first: First | None, evidence: Evidence, summary: Summary) -> str:
    """The donor of what failed first; else that of the worst finding that names one."""
    others = [group.example for group in ranked(summary.findings)]
    shown = [case.finding for cases in evidence.cases.values() for case in cases]
    found = first.finding if first is not None and first.finding.donor else _with_donor([*others, *shown])
    if found is None or found.donor is None:
        return ""
    part, when = _PARTS.get(found.donor.channel, found.donor.channel), _WHENS[found.donor.when]
    exchange = f", exchange {clean(found.donor.exchange, 150)}" if found.donor.exchange else ""
    whose = (
        f"prompt {clean(found.donor.prompt, 60)}{exchange}" if found.donor.prompt else "nobody that this run asked for"
    )
    return f"{whose}, {when}: {part} ('{clean(found.donor.span, 80)}') stands in the answer to {_victim(found)}"


def _with_donor(findings: list[Finding]) -> Finding | None:
    return next((finding for finding in findings if finding.donor is not None), None)


def _victim(found: Finding) -> str:
    return f"prompt {clean(found.prompt, 60)}" if found.prompt else "the victim"
