"""The trend as a page: one file, no network."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzzer.errors import HistoryError
from fuzzer.report.files import write_whole
from fuzzer.report.page.layout import Table, environment, furniture
from fuzzer.report.words import plural
from fuzzer.trend import words
from fuzzer.trend.chart import Series
from fuzzer.trend.console import TONES
from fuzzer.trend.plot import nights
from fuzzer.trend.story import Trend

_STATES: Final = {"flagged": "bad", "as before": "good", "not flagged": "good"}
_PLOTS: Final = 24  # more would make the page slow to draw; the table holds all


def write_trend(path: Path, trend: Trend) -> None:
    """Write the page; raises HistoryError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, trend_page(trend))
    except OSError as error:
        raise HistoryError(f"--html: cannot write {path}: {error.strerror or error}") from error


def trend_page(trend: Trend) -> str:
    """The whole page."""
    night = trend.last
    drawn = sorted((one for one in trend.series if any(point.n for point in one.points)), key=_worst)
    left = len(drawn) - _PLOTS
    return (
        environment()
        .get_template("trend.html.j2")
        .render(
            **furniture(),
            title=words.verdict(trend),
            tone=TONES[trend.standing],
            flags=list(words.flags(trend, night)) if night else [],
            rule=words.RULE,
            charts=[(_name(one, trend), nights(one.points)) for one in drawn[:_PLOTS]],
            unplotted=f"{plural(left, 'more cell')} not drawn: the tables hold the last night's." if left > 0 else "",
            tables=_tables(trend),
            lists=[
                ("Its boots", words.boots(night) if night else []),
                (f"Acceptance and speed that moved ({words.PACE})", words.pace(night) if night else []),
                ("Nights that vary by more than chance", words.uneven(trend)),
                ("Left out", words.left_out(trend)),
            ],
        )
    )


def _worst(series: Series) -> tuple[bool, bool, str]:
    """Cells that were flagged come first, those of the last night before others."""
    states = [point.state for point in series.points]
    return states[-1] != "flagged", "flagged" not in states, words.cell(series)


def _name(series: Series, trend: Trend) -> str:
    """A cell's name, with what tells it from another series of the same cell."""
    alike = [one for one in trend.series if one.key.cell == series.key.cell]
    setup = f", set-up {series.key.setup}" if series.key.setup else ""
    return words.cell(series) + (f" ({series.key.sort}{setup})" if len(alike) > 1 else "")


def _tables(trend: Trend) -> list[Table]:
    night = trend.last
    if night is None:
        return []
    points = trend.points(night.run_id)
    cells = Table(
        "cells",
        "The last night, cell by cell",
        words.CELL_COLUMNS,
        tuple(words.cell_row(series, point) for series, point in points),
        tuple(_STATES.get(point.state, "unsure") for _, point in points),
        f"before: the earlier nights that this one is compared with; {words.SPREAD}",
    )
    told = Table(
        "nights",
        "Night by night",
        words.NIGHT_COLUMNS,
        tuple(words.night_row(trend, one) for one in reversed(trend.nights)),
        tuple(_STATES.get(one.standing, "unsure") for one in reversed(trend.nights)),
        "failed: of all judged answers of the night's cells; findings: by dedupe key and schedule",
    )
    flags = Table(
        "flags",
        "All flags",
        ("night", "why"),
        tuple((words.day(one), why) for one in reversed(trend.nights) for why in words.flags(trend, one)),
    )
    found = Table(
        "findings",
        "Its findings against earlier nights",
        ("finding", "state", "certainty", "times", "seen before in"),
        tuple(
            (words.found(one), one.state, one.certainty, str(one.count), f"{one.seen} of {plural(one.before, 'night')}")
            for one in night.changes
        ),
        tuple("bad" if one.alarm else "calm" for one in night.changes),
        "new: in none of the earlier nights that ran this schedule; first: there is no such night; gone: in a recent "
        "one, and not in this",
    )
    return [cells, *(table for table in (found, flags) if table.lines), told]
