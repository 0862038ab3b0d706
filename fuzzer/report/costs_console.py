"""The decision table and the figures behind it on a terminal, 80 columns wide if need be."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.report import costs
from fuzzer.summary import Summary

_STATE: dict[str, str] = {"pass": "green", "fail": "bold red"}
_NARROW = 100  # columns under which what belongs together shares a field


def show_decisions(summary: Summary, screen: Screen) -> None:
    """What each concurrency buys and costs; nothing where no cell was measured."""
    found = costs.decisions(summary)
    if not any(cell.rate.n for cell in summary.cells):
        return
    screen.print(Text("\nWhat it buys, what it costs", "bold"))
    for line in costs.answers(summary):
        _paragraph(screen, f"{line[:1].upper()}{line[1:]}.", "bold")
    lines = [_folded(row.texts, screen) for row in found]
    names = _folded(costs.DECISION, screen)
    styles = [f"{_STATE.get(row.status, '')}{' reverse' if row.yours else ''}".strip() for row in found]
    _table(screen, names, lines, styles)
    _paragraph(screen, costs.DECISION_NOTE, "dim")


def show_figures(summary: Summary, screen: Screen) -> None:
    """Latencies of both arms, and what the engines tell of themselves."""
    lines = costs.latencies(summary)
    if lines:
        screen.print(Text("\nLatency and throughput", "bold"))
        _table(screen, _folded(costs.LATENCY, screen), [_folded(line, screen) for line in lines])
        _paragraph(screen, costs.LATENCY_NOTE, "dim")
    told = costs.engines(summary)
    if told:
        screen.print(Text("\nWhat the engines tell", "bold"))
        for line in told:
            _paragraph(screen, line, "", "- ")


def _folded(texts: tuple[str, ...], screen: Screen) -> tuple[str, ...]:
    """Where the screen is narrow, the three columns that say whose figures these are, under one another."""
    if screen.width >= _NARROW:
        return texts
    return (texts[0], "\n".join(texts[1:4]), *texts[4:])


def _table(
    screen: Screen, names: Sequence[str], lines: Sequence[tuple[str, ...]], styles: Sequence[str] | None = None
) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for line, style in zip(lines, styles or [""] * len(lines), strict=True):
        table.add_row(*map(Text, line), style=style)
    screen.print(table)


def _paragraph(screen: Screen, text: str, style: str, mark: str = "") -> None:
    from fuzzer.report.render import hang  # which shows this module's tables

    hang(screen, Text(text, style), f"  {mark}", " " * (2 + len(mark)))
