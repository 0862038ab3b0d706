"""The report as a pull-request comment: the verdict first, then tables, the long parts folded away."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fuzzer.finding import Donor
from fuzzer.report import costs
from fuzzer.report.divergence import divergences
from fuzzer.report.matrix import matrix
from fuzzer.report.mdtext import code, line, prose
from fuzzer.report.redact import shareable
from fuzzer.report.rows import CellRow, rows
from fuzzer.report.sections import Section, cells, fitted, fold, listing, table
from fuzzer.report.sentences import (
    comparison,
    dropped,
    endpoint,
    exclusions,
    guards,
    marks,
    ranked,
    run_line,
    seen_at,
    undecided,
    verdict_line,
)
from fuzzer.report.words import percent, place_of, plural
from fuzzer.summary import FindingGroup, Summary

_SHORT: Final = 160  # characters of an example that need no folding
_RESULT: Final = "N|lm_head|candidate|schedule|failures|rate|bound|reference|p|status"
_BASIS: Final = "N|lm_head|candidate|schedule|differ|noise floor|at N|accepted|clusters|seconds"


def markdown(summary: Summary) -> str:
    """The whole report in under 60,000 characters of GitHub-flavoured Markdown, most important first."""
    summary = shareable(summary)
    return fitted(_sections(summary), "summary.json")


def _sections(summary: Summary) -> Iterable[Section]:
    yield Section(f"## specfuzz: {summary.verdict.upper()}\n\n**{prose(verdict_line(summary), 1000)}**\n", [])
    yield Section("", [_reason(summary, index) for index in range(len(summary.reasons))])
    found = rows(summary)
    yield from _bought(summary)
    if (heads := matrix(summary)) is not None:
        names = "|".join(("N", *map(prose, heads.columns)))
        yield table("### Failure rate by concurrency and lm_head precision", names, map(cells, heads.failures), _HEADS)
        yield table("### What it costs and buys", names, map(cells, heads.costs), _COSTS)
    if found:
        yield table("### Failures by concurrency and lm_head precision", _RESULT, map(_result, found), _key(summary))
    yield from listing("### Undecided cells", undecided(summary))
    yield from listing("### Candidates compared", map(comparison, summary.comparisons))
    groups = ranked(summary.findings)
    if groups:
        total = sum(group.count for group in groups)
        title = f"### Findings: {plural(total, 'finding')} in {plural(len(groups), 'group')}"
        yield Section(f"{title}\n\n", [_group(group, summary) for group in groups])
    yield from listing("### Waivers", (_waiver(summary, index) for index in range(len(summary.waivers))))
    yield from listing("### Vacuity guards", guards(summary))
    yield from listing(f"### Ruled out, at {percent(summary.confidence)} (one-sided)", exclusions(summary))
    yield Section(f"### Scope\n\n{line(summary.scope, 2000)}", [])
    yield from _folded(summary, found)


def _bought(summary: Summary) -> Iterable[Section]:
    """The decision table, and the sentence that it comes to."""
    if not any(cell.rate.n for cell in summary.cells):
        return
    yield from listing("### What it buys, what it costs", costs.answers(summary))
    lines = (cells(row.texts, strong=row.yours) for row in costs.decisions(summary))
    yield table("", "|".join(costs.DECISION), lines, prose(costs.DECISION_NOTE, 1000))


def _folded(summary: Summary, found: list[CellRow]) -> Iterable[Section]:
    if found:
        yield fold(table("", _BASIS, map(_basis, found), _BASIS_KEY), "What the numbers rest on")
        if said := divergences(summary):
            yield fold(Section("", [f"- {line(text, 1500)}" for text in said]), "Divergence and its noise floor")
        if timed := costs.latencies(summary):
            timings = table("", "|".join(costs.LATENCY), map(cells, timed), prose(costs.LATENCY_NOTE, 1000))
            yield fold(timings, "Latency and throughput")
        if told := costs.engines(summary):
            yield fold(Section("", [f"- {line(text, 1000)}" for text in told]), "What the engines tell")
        counts = [f"- {prose(row.place)}: {prose('; '.join(row.counts), 1000)}" for row in found]
        yield fold(Section("", counts), "What came back, cell by cell")
    if summary.calibration:
        kept = [f"- {line(dropped(family))}" for family in summary.calibration]
        yield fold(Section("", kept), "Calibration: a prompt is judged if the control gets it right")
    if summary.preflight and (said := [*summary.preflight.problems, *summary.preflight.warnings]):
        yield fold(Section("", [f"- {line(text)}" for text in said]), "Preflight")
    ends = [endpoint(end) for end in summary.endpoints]
    yield fold(Section("", [f"- {code(text, 500)}" for text in (*ends, run_line(summary))]), "Who was asked")


_BASIS_KEY: Final = (
    "differ: outputs unlike the reference's; noise floor: prompts that differ in calibration, candidate v reference "
    "against reference v itself, and the candidate's worst regret in nats where the reference scored it; at N: share "
    "of the time (or releases) at the full concurrency, candidate and reference; accepted: tokens per verify step; "
    "clusters: those that hold a failure; seconds: median, candidate and reference."
)


_HEADS: Final = "failures of judged answers (rate, two-sided 95 % Wilson interval) and how the cell was decided."
_COSTS: Final = (
    "output tokens per second of the candidate, times the reference's, median seconds of an answer, tokens accepted "
    "per verify step."
)


def _key(summary: Summary) -> str:
    return (
        "failures: answers graded wrong and candidate-only service failures, of those judged; bound: upper, one-sided "
        f"at {percent(summary.confidence)} (Clopper-Pearson); p: exact McNemar against the reference, or the control "
        "where there is none, one-sided, Holm-adjusted."
    )


def _result(row: CellRow) -> str:
    status = f"**{row.status}**" if row.status == "FAIL" else row.status
    figures = (row.failures, row.rate, row.bound, row.reference, row.p)
    return f"|{'|'.join(map(prose, (*_whose(row), *figures)))}|{status}|"


def _basis(row: CellRow) -> str:
    figures = (row.divergence, ", ".join(row.floor), " / ".join(row.achieved), row.acceptance, row.clusters, row.speed)
    return f"|{'|'.join(map(prose, (*_whose(row), *figures)))}|"


def _whose(row: CellRow) -> tuple[str, ...]:
    return (row.concurrency, row.lm_head, row.candidate, row.schedule)


def _reason(summary: Summary, index: int) -> str:
    reason = summary.reasons[index]
    at = f"{line(place_of(reason.cell, summary))}: " if reason.cell else ""
    return f"- {at}{prose(reason.message) if at else line(reason.message)} ({code(reason.code)})"


def _group(group: FindingGroup, summary: Summary) -> str:
    where = seen_at(group, summary)
    lines = [f"- {code(group.key, 200)}: {prose(marks(group))}{prose(f'; at {where}') if where else ''}"]
    if group.example.donor:
        lines.append(f"  - donor: {_donor(group.example.donor)}")
    if group.example.exchange:
        prompt, exchange = code(group.example.prompt or "-", 60), code(group.example.exchange, 100)
        lines.append(f"  - victim: prompt {prompt}, exchange {exchange}")
    lines.append(f"  - {_example(group.example.summary)}")
    return "\n".join(lines)


def _donor(found: Donor) -> str:
    prompt = f"prompt {code(found.prompt, 60)}" if found.prompt else "nobody's prompt"
    exchange = f"exchange {code(found.exchange, 100)}" if found.exchange else "exchange unknown"
    return f"{prompt}, {exchange}, channel {found.channel}, {found.when}; span {code(found.span, 120)}"


def _example(text: str) -> str:
    if len(text) <= _SHORT:
        return f"e.g. {code(text)}"
    return f"<details><summary>example</summary>\n\n    {code(text, 600)}\n\n    </details>"


def _waiver(summary: Summary, index: int) -> str:
    waiver = summary.waivers[index]
    return f"{waiver.key}: {waiver.reason} (waives {plural(waiver.used, 'finding')}, expires {waiver.expires})"
