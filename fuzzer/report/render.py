"""The final report as a person reads it in a terminal or a build log: the verdict first, 80 columns are enough."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TextIO

from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.report.costs_console import show_decisions, show_figures
from fuzzer.report.divergence import divergences
from fuzzer.report.matrix import matrix
from fuzzer.report.redact import shareable
from fuzzer.report.rows import CellRow, rows
from fuzzer.report.sentences import (
    Tone,
    calibrated,
    comparison,
    donor,
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
from fuzzer.report.text import clean, literal
from fuzzer.report.words import percent, place_of, plural
from fuzzer.summary import FindingGroup, Summary, UsedWaiver

STYLE: Final[dict[Tone, str]] = {"good": "bold green", "bad": "bold red", "unsure": "bold yellow"}
_STATUS: Final = {"pass": "green", "FAIL": "bold red", "open": "yellow", "vacuous": "yellow", "not run": "yellow"}
_NARROW = 100  # columns under which failures and rate share one cell of the table
_GROUPS = 20  # finding groups in full; the rest is in the files


def open_screen(file: TextIO | None = None, width: int | None = None, *, stderr: bool = False) -> Screen:
    """A rich console that takes text as it is, and that no character can break where Unicode cannot be shown.

    Without ``file`` it writes to standard output, or to standard error with ``stderr``.
    """
    screen = Screen(file=file, width=width, stderr=stderr, highlight=False, markup=False, emoji=False)
    stream = screen.file
    if isinstance(stream, io.TextIOWrapper) and not screen.encoding.startswith("utf"):
        stream.reconfigure(errors="backslashreplace")
    return screen


def render(summary: Summary, screen: Screen, directory: Path | None = None) -> None:
    """Print the whole report; ``directory`` is where the run's files are, if they are anywhere."""
    summary = shareable(summary)
    hang(screen, Text(verdict_line(summary), STYLE[tone(summary)]), "", "")
    _reasons(summary, screen)
    show_decisions(summary, screen)
    _cells(summary, screen)
    show_figures(summary, screen)
    section(screen, "Undecided cells", undecided(summary))
    section(screen, "Candidates compared", map(comparison, summary.comparisons))
    section(screen, "Divergence", divergences(summary))
    section(screen, "What came back, where anything went wrong", _counts(summary))
    _findings(summary, screen)
    section(screen, "Waivers", map(_waiver, summary.waivers))
    section(screen, "Vacuity guards", guards(summary))
    section(screen, "Calibration (a prompt is judged if the control gets it right)", calibrated(summary.calibration))
    section(screen, "Preflight", _preflight(summary))
    section(screen, "Who was asked", [endpoint(end) for end in summary.endpoints] + [run_line(summary)])
    section(screen, f"Ruled out, at {percent(summary.confidence)} (one-sided)", exclusions(summary))
    section(screen, "Scope", [clean(summary.scope, 2000)])
    if directory is not None:
        _files(summary, screen, directory)


def render_verdict(summary: Summary, screen: Screen) -> None:
    """Print the verdict's line alone."""
    summary = shareable(summary)
    screen.print(Text(verdict_line(summary), STYLE[tone(summary)]), soft_wrap=True)


def section(screen: Screen, title: str, lines: Iterable[str]) -> None:
    """Print a titled list, or nothing where it is empty."""
    found = list(lines)
    if found:
        screen.print(Text(f"\n{title}", "bold"))
        bullets(screen, found)


def bullets(screen: Screen, lines: Iterable[str], indent: int = 2) -> None:
    """Print a list."""
    for line in lines:
        hang(screen, Text(line), f"{' ' * indent}- ", " " * (indent + 2))


def hang(screen: Screen, text: Text, first: str, rest: str) -> None:
    """Print a paragraph that begins with ``first`` and goes on under ``rest``, with no blanks at the line ends."""
    for index, line in enumerate(text.wrap(screen, max(screen.width - len(rest), 20), overflow="fold")):
        line.rstrip()
        screen.print(Text(rest if index else first) + line, soft_wrap=True)


def _reasons(summary: Summary, screen: Screen) -> None:
    at = ""
    for reason in summary.reasons:
        if reason.cell != at and reason.cell:
            hang(screen, Text(f"at {place_of(reason.cell, summary)}:"), "  ", "  ")
        at = reason.cell
        bullets(screen, [f"{clean(reason.message, 500)} [{reason.code}]"], indent=4 if at else 2)


def _cells(summary: Summary, screen: Screen) -> None:
    found = rows(summary)
    if not found:
        return
    narrow = screen.width < _NARROW
    _matrix(summary, screen)
    screen.print(Text("\nFailures by concurrency and lm_head precision", "bold"))
    screen.print(_result_table(found, narrow))
    _note(
        screen,
        "failures: answers graded wrong and candidate-only service failures, of those judged; bound: upper, one-sided "
        f"at {percent(summary.confidence)} (Clopper-Pearson); ref.: the reference's failures; p: exact McNemar against "
        "the reference, or the control where there is none, one-sided, Holm-adjusted",
    )
    screen.print(Text("\nWhat that rests on", "bold"))
    screen.print(_basis_table(found, narrow))
    _note(
        screen,
        "differ: outputs unlike the reference's; noise floor: prompts that differ in calibration, candidate v "
        "reference against reference v itself, and the candidate's worst regret in nats where the reference scored it; "
        "at N: share of the time (or releases) at the full concurrency, "
        "candidate and reference; accepted: tokens per verify step",
    )


def _matrix(summary: Summary, screen: Screen) -> None:
    heads = matrix(summary)
    if heads is None:
        return
    titles = ("Failure rate by concurrency and lm_head precision", "What it costs and buys")
    for title, lines in zip(titles, (heads.failures, heads.costs), strict=True):
        screen.print(Text(f"\n{title}", "bold"))
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for name in ("N", *heads.columns):
            table.add_column(Text(name), overflow="fold")
        for line in lines:
            table.add_row(*map(Text, line))
        screen.print(table)
    _note(
        screen,
        "rates with their two-sided 95 % Wilson intervals; x1.5: the candidate gives one and a half times the "
        "reference's output tokens per second",
    )


def _note(screen: Screen, text: str) -> None:
    hang(screen, Text(text, "dim"), "  ", "  ")


def _result_table(found: list[CellRow], narrow: bool) -> Table:
    table = _table(narrow)
    for heading in ("failures", *(() if narrow else ("rate",)), "bound", "ref.", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("status", no_wrap=True)
    for row in found:
        failed = ("\n".join((*row.failures.split(" "), row.rate)),) if narrow else (row.failures, row.rate)
        cells = (*_whose(row, narrow), *failed, row.bound, row.reference, row.p)
        table.add_row(*map(Text, cells), Text(row.status, _STATUS.get(row.status, "")))
    return table


def _basis_table(found: list[CellRow], narrow: bool) -> Table:
    table = _table(narrow)
    table.add_column("differ", justify="right", no_wrap=True)
    table.add_column("noise floor", overflow="fold")
    table.add_column("at N", no_wrap=True)
    table.add_column("accepted", overflow="fold")
    for row in found:
        floor, achieved = ("\n" if narrow else ", ").join(row.floor), ("\n" if narrow else " / ").join(row.achieved)
        table.add_row(*map(Text, (*_whose(row, narrow), row.divergence, floor, achieved, row.acceptance)))
    return table


def _table(narrow: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("N", justify="right", no_wrap=True)
    for heading in ("lm_head", *(("candidate\nschedule",) if narrow else ("candidate", "schedule"))):
        table.add_column(heading, overflow="fold")
    return table


def _whose(row: CellRow, narrow: bool) -> tuple[str, ...]:
    if narrow:
        return (row.concurrency, row.lm_head, f"{row.candidate}\n{row.schedule}")
    return (row.concurrency, row.lm_head, row.candidate, row.schedule)


def _counts(summary: Summary) -> list[str]:
    lines = []
    for row in rows(summary):
        if row.troubled:
            held = f"; failures in {row.clusters}" if row.clusters != "-" else ""
            lines.append(f"{row.place}: {'; '.join(row.counts)}{held}")
    return lines


def _findings(summary: Summary, screen: Screen) -> None:
    groups = ranked(summary.findings)
    if not groups:
        return
    total = sum(group.count for group in groups)
    screen.print(Text(f"\nFindings: {plural(total, 'finding')} in {plural(len(groups), 'group')}", "bold"))
    for group in groups[:_GROUPS]:
        _group(group, summary, screen)
    if len(groups) > _GROUPS:
        screen.print(Text(f"  ... and {plural(len(groups) - _GROUPS, 'more group')}: see summary.json"))


def _group(group: FindingGroup, summary: Summary, screen: Screen) -> None:
    style = "bold red" if group.breaks_gate and not group.waived else "bold"
    hang(screen, literal(group.key, 200, style), "  ", "  ")
    where = seen_at(group, summary)
    lines = [f"{marks(group)}{f'; at {where}' if where else ''}", f"e.g. {clean(group.example.summary, 300)}"]
    if group.example.donor:
        lines.append(f"donor: {donor(group.example.donor)}; span '{clean(group.example.donor.span, 120)}'")
    if group.example.exchange:
        prompt = clean(group.example.prompt or "-", 60)
        lines.append(f"victim: prompt {prompt}, exchange {clean(group.example.exchange, 100)}")
    for line in lines:
        hang(screen, Text(line), "    ", "      ")


def _waiver(waiver: UsedWaiver) -> str:
    used = plural(waiver.used, "finding")
    return f"{clean(waiver.key)}: {clean(waiver.reason, 300)} (waives {used}, expires {clean(waiver.expires, 40)})"


def _preflight(summary: Summary) -> list[str]:
    found = summary.preflight
    return [clean(line, 400) for line in (*found.problems, *found.warnings)] if found else []


def _files(summary: Summary, screen: Screen, directory: Path) -> None:
    screen.print(Text("\nFiles", "bold"))
    screen.print(literal(f"  {directory}", 1000), soft_wrap=True)
    hang(
        screen,
        Text("report.html (for people), report.md (for a pull request), junit.xml, summary.json, history.jsonl"),
        "  ",
        "  ",
    )
    if summary.verdict == "interrupted":
        screen.print(literal(f"  to go on: specfuzz resume {directory}", 1000), soft_wrap=True)
