"""A night's files and its page in the terminal, with the nights before it."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

from rich.text import Text

from fuzzer.errors import HistoryError, SpecfuzzError
from fuzzer.inert import inert_json
from fuzzer.night import Night
from fuzzer.report.night.console import render_night
from fuzzer.report.night.earlier import TrendLine, TrendNote
from fuzzer.report.night.files import write_night
from fuzzer.report.night.sentences import verdict_line
from fuzzer.report.pipes import forgiving
from fuzzer.report.render import open_screen
from fuzzer.trend.reading import read_night
from fuzzer.trend.story import ToldNight, trend

NIGHTS_BEFORE = 7


def show_night(directory: Path, night: Night | None = None, *, as_json: bool = False, quiet: bool = False) -> int:
    """Write the reports of the night in ``directory``, print it, and return its exit status.

    ``night`` is read from ``night.json`` if it is None. Reports that cannot be written are told of: the verdict stands.
    Raises HistoryError for a directory without a verdict.
    """
    night = night or read_night(directory)
    note = _before(directory, night)
    try:
        write_night(directory, night, note)
    except HistoryError as error:
        with forgiving():
            print(f"specfuzz: {error}", file=sys.stderr, flush=True)
    with forgiving():
        if as_json:
            sys.stdout.write(inert_json(night.model_dump_json(indent=2)) + "\n")
        elif quiet:
            open_screen().print(Text(verdict_line(night)))
        else:
            render_night(night, open_screen(), directory, note)
    return night.exit_status


def _before(directory: Path, night: Night) -> TrendNote | None:
    """The last nights beside this one; None where the index cannot be kept: the night's own report stands alone."""
    try:
        told = trend(directory.parent)
    except (SpecfuzzError, OSError, sqlite3.Error):
        return None
    earlier = [one for one in told.nights if one.sort == "soak" and one.started < night.started]
    mine = next((one for one in told.nights if one.run_id == night.night_id), None)
    known = (
        frozenset((change.key, change.schedule) for change in mine.changes if change.state == "known") if mine else None
    )
    return TrendNote(lines=tuple(map(_line, reversed(earlier[-NIGHTS_BEFORE:]))), known=known if earlier else None)


def _line(one: ToldNight) -> TrendLine:
    return TrendLine(
        night_id=one.run_id,
        started=one.started,
        verdict=one.verdict,
        failed=one.k,
        judged=one.n,
        flagged=one.standing == "flagged",
        why=", ".join((*one.flagged, *(f"new: {alarm.key}" for alarm in one.alarms))),
    )
