"""The night as Markdown, for a job's summary or a chat: the verdict first, the long parts folded away."""

from __future__ import annotations

from collections.abc import Iterable

from fuzzer.night import Night, NightFinding
from fuzzer.report.mdtext import code, line, prose
from fuzzer.report.night import rows
from fuzzer.report.night.anchors import anchor_rows
from fuzzer.report.night.earlier import TrendNote
from fuzzer.report.night.method import METHOD
from fuzzer.report.night.sentences import (
    amounts,
    boots_line,
    drift_line,
    exclusions,
    ordered,
    reasons,
    verdict_line,
)
from fuzzer.report.sections import Section, cells, fitted, fold, listing, table
from fuzzer.report.words import percent, plural


def markdown(night: Night, trend: TrendNote | None = None) -> str:
    """The whole report in under 60,000 characters of GitHub-flavoured Markdown, most important first."""
    return fitted(_sections(night, trend), "night.json")


def _sections(night: Night, trend: TrendNote | None) -> Iterable[Section]:
    yield Section(f"## specfuzz, night: {night.verdict.upper()}\n\n**{prose(verdict_line(night), 1000)}**\n", [])
    yield Section("", [f"- {line(text, 700)}" for text in reasons(night)])
    if night.cells:
        lines = map(cells, map(rows.cell_row, ordered(night.cells)))
        yield table(
            "### Failures by cell, all legs together", "|".join(rows.CELLS), lines, prose(rows.CELLS_NOTE, 1000)
        )
    yield from listing(f"### Ruled out, at {percent(night.confidence)} (one-sided)", exclusions(night))
    if found := rows.ranked(night, trend):
        total = sum(each.count for each in night.findings)
        title = f"### Findings: {plural(total, 'finding')} in {plural(len(found), 'group')}"
        yield Section(f"{title}\n\n", [_finding(each, state) for each, state in found])
    told = [*map(drift_line, night.drifts), boots_line(night)]
    yield from listing("### Over the night", told)
    if trend is not None and trend.lines:
        yield table("### The nights before", "|".join(rows.TREND), map(cells, map(rows.trend_row, trend.lines)), "")
    yield from listing("### How much was done", amounts(night))
    yield Section(f"### Scope\n\n{line(night.scope, 2000)}", [])
    yield from _folded(night)


def _folded(night: Night) -> Iterable[Section]:
    for title, columns, found in (
        ("Boots", rows.BOOTS, [rows.boot_row(boot) for boot in night.boots]),
        ("Outages", rows.OUTAGES, rows.outage_rows(night)),
        ("The anchor set, leg by leg", rows.ANCHORS, anchor_rows(night)),
        ("Legs", rows.LEGS, [rows.leg_row(leg, night.dropped) for leg in night.legs]),
    ):
        if found:
            yield fold(table("", "|".join(columns), map(cells, found), ""), title)
    yield fold(Section("", [f"- {line(text, 1500)}" for text in METHOD]), "How this was decided")


def _finding(found: NightFinding, state: str) -> str:
    legs = plural(found.legs, "leg")
    where = f"{found.count:,} in {legs}, leg {found.first} to {found.last}, under {found.schedule}"
    said = f"- {code(found.key, 200)}: {prose(f'{state}; {found.certainty}; {where}', 500)}"
    bundle = [f"  - bundle: {code(found.bundle, 300)}"] if found.bundle else []
    return "\n".join([said, *bundle, f"  - e.g. {code(found.example, 300)}"])
