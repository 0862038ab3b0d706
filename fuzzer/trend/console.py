"""The trend on a screen: the last night first, 60 columns are enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.report.render import STYLE, hang
from fuzzer.report.sentences import Tone
from fuzzer.trend import words
from fuzzer.trend.story import Standing, Trend

TONES: Final[dict[Standing, Tone]] = {"flagged": "bad", "not flagged": "good", "too little": "unsure"}
_WIDE: Final = 150  # columns from which on a table shows all its columns
_NARROW_NIGHT: Final = ("night", "standing", "failed", "rate", "findings")
_NARROW_CELL: Final = ("cell", "standing", "failed", "before", "p")


def show(trend: Trend, screen: Screen) -> None:
    """Print it."""
    hang(screen, Text(words.verdict(trend), STYLE[TONES[trend.standing]]), "", "")
    night = trend.last
    if night is not None:
        _list(screen, words.flags(trend, night))
        rows = [words.cell_row(series, point) for series, point in trend.points(night.run_id)]
        _table(screen, "The last night, cell by cell", words.CELL_COLUMNS, _NARROW_CELL, rows)
        _section(screen, "Its findings against earlier nights", words.findings(night))
        _section(screen, "Its boots", words.boots(night))
        _section(screen, f"Acceptance and speed that moved ({words.PACE})", words.pace(night))
        _section(screen, "Nights that vary by more than chance", words.uneven(trend))
        nights = [words.night_row(trend, one) for one in trend.nights]
        _table(screen, "Night by night", words.NIGHT_COLUMNS, _NARROW_NIGHT, nights)
        _section(screen, "Earlier flags", _earlier(trend))
    _section(screen, "Left out", words.left_out(trend))
    screen.print()
    for note in (words.RULE, words.SPREAD):
        hang(screen, Text(note, "dim"), "  ", "  ")


def _earlier(trend: Trend) -> list[str]:
    return [f"{words.day(night)}: {why}" for night in trend.nights[:-1] for why in words.flags(trend, night)]


def _table(
    screen: Screen, title: str, columns: Sequence[str], narrow: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    shown = columns if screen.width >= _WIDE else narrow
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in shown:
        table.add_column(name, overflow="fold")
    for row in rows:
        told = dict(zip(columns, row, strict=True))
        if shown is narrow and "cell" in told:
            told["cell"] = words.folded(told["cell"])
        style = "bold red" if told["standing"] == "flagged" else ""
        table.add_row(*(Text(told[name], style if name == "standing" else "") for name in shown))
    screen.print(Text(f"\n{title}", "bold"))
    screen.print(table)


def _section(screen: Screen, title: str, lines: Sequence[str]) -> None:
    if lines:
        hang(screen, Text(title, "bold"), "\n", "")
        _list(screen, lines)


def _list(screen: Screen, lines: Iterable[str]) -> None:
    for line in lines:
        hang(screen, Text(line), "  - ", "    ")
