"""The night as a person reads it in a terminal or a build log: the verdict first, 80 columns are enough."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.night import Night, NightCell
from fuzzer.report.night.earlier import TrendLine, TrendNote
from fuzzer.report.night.rows import CELLS_NOTE, cell_row, ranked, trend_row
from fuzzer.report.night.sentences import (
    amounts,
    boots_line,
    drift_line,
    exclusions,
    ordered,
    outage_line,
    reasons,
    replay,
    tone,
    verdict_line,
)
from fuzzer.report.render import STYLE, bullets, hang, section
from fuzzer.report.text import clean, literal
from fuzzer.report.words import percent, plural

_NARROW: Final = 120  # columns under which a cell takes two lines
_REASONS: Final = 12
_GROUPS: Final = 12  # findings in full; the rest is in the files
_STATUS: Final = {"pass": "green", "FAIL": "bold red", "open": "yellow"}
_WIDE: Final = ("N", "status", "lm_head", "schedule", "failures", "rate", "bound", "reference", "p")
_SLIM: Final = ("N", "status", "lm_head\nschedule\ncandidate", "failures\nrate", "bound\nreference", "p\nlegs")


def render_night(night: Night, screen: Screen, directory: Path | None = None, trend: TrendNote | None = None) -> None:
    """Print the whole report; ``directory`` is where the night's files are, if they are anywhere."""
    hang(screen, Text(verdict_line(night), STYLE[tone(night)]), "", "")
    said = reasons(night)
    more = [f"... and {plural(len(said) - _REASONS, 'more reason')}: see night.json"] * (len(said) > _REASONS)
    bullets(screen, [*said[:_REASONS], *more])
    _cells(night, screen)
    section(screen, f"Ruled out, at {percent(night.confidence)} (one-sided)", exclusions(night))
    section(screen, "Over the night", [*map(drift_line, night.drifts), boots_line(night)])
    section(screen, "Outages", map(outage_line, night.outages))
    _findings(night, screen, directory, trend)
    if trend is not None:
        section(screen, "The nights before", map(_earlier, trend.lines))
    section(screen, "How much was done", amounts(night))
    section(screen, "Scope", [clean(night.scope, 2000)])
    if directory is not None:
        screen.print(Text("\nFiles", "bold"))
        screen.print(literal(f"  {directory}", 1000), soft_wrap=True)
        hang(screen, Text("night.html (for people), night.md, junit.xml, night.json, legs/"), "  ", "  ")


def _cells(night: Night, screen: Screen) -> None:
    if not night.cells:
        return
    narrow = screen.width < _NARROW
    screen.print(Text("\nFailures by cell, all legs together", "bold"))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in _SLIM if narrow else (*_WIDE, "legs", "candidate"):
        table.add_column(Text(name), overflow="fold")
    for cell in ordered(night.cells):
        number, status, *rest = _slim(cell) if narrow else (*cell_row(cell)[: len(_WIDE)], *cell_row(cell)[-2:])
        table.add_row(Text(number), Text(status, _STATUS.get(status, "")), *map(Text, rest))
    screen.print(table)
    hang(screen, Text(CELLS_NOTE.partition("; material")[0], "dim"), "  ", "  ")


def _slim(cell: NightCell) -> tuple[str, ...]:
    number, status, head, schedule, failures, rate, bound, reference, p, *_, legs, who = cell_row(cell)
    return number, status, f"{head}\n{schedule}\n{who}", f"{failures}\n{rate}", f"{bound}\n{reference}", f"{p}\n{legs}"


def _findings(night: Night, screen: Screen, directory: Path | None, trend: TrendNote | None) -> None:
    found = ranked(night, trend)
    if not found:
        return
    total = sum(one.count for one, _ in found)
    screen.print(Text(f"\nFindings: {plural(total, 'finding')} in {plural(len(found), 'group')}", "bold"))
    for one, state in found[:_GROUPS]:
        hang(screen, literal(one.key, 200, "bold red" if one.breaks else "bold"), "  ", "  ")
        where = f"{one.count:,} in {plural(one.legs, 'leg')} (leg {one.first} to {one.last}), {clean(one.schedule, 40)}"
        lines = [f"{state}; {one.certainty}; {where}", f"e.g. {clean(one.example, 300)}"]
        if one.bundle and directory is not None:
            lines.append(replay(one, str(directory)))
        for line in lines:
            hang(screen, Text(line), "    ", "      ")
    if len(found) > _GROUPS:
        screen.print(Text(f"  ... and {plural(len(found) - _GROUPS, 'more group')}: see night.json"))


def _earlier(line: TrendLine) -> str:
    night, verdict, started, failures, rate, flagged, why = trend_row(line)
    said = f"; FLAGGED: {why}" if flagged == "yes" else ""
    return f"{night} ({started}): {verdict}, {failures} failed, {rate}{said}"
