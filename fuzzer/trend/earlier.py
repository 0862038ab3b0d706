"""The nights before a soak, as its own report tells them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fuzzer.report.night.earlier import TrendLine, TrendNote
from fuzzer.trend import words
from fuzzer.trend.index import Index
from fuzzer.trend.story import ToldNight, Trend, told

LAST: Final = 7


def note(reports: Path, night_id: str, page: str = "") -> TrendNote:
    """The last nights before a soak, by the index of ``reports``, which is brought up to date first.

    ``page`` is the path of the trend's page from the soak's directory, if there is one. UsageError where ``reports`` is
    no folder of reports.
    """
    with Index(reports) as index:
        refreshed = index.refresh()
        nights = index.nights()
    ids = [night.run_id for night in nights]
    if night_id in ids:
        nights = nights[: ids.index(night_id)]
    before = [night for night in nights if night.sort == "soak"]
    trend = told(before, refreshed, LAST)
    known = {(found.key, found.schedule) for night in before for found in night.findings}
    return TrendNote(
        lines=tuple(_line(trend, night) for night in reversed(trend.nights)),
        page=page,
        known=frozenset(known) if before else None,
    )


def _line(trend: Trend, night: ToldNight) -> TrendLine:
    return TrendLine(
        night_id=night.run_id,
        started=night.started,
        verdict=night.verdict,
        failed=night.k,
        judged=night.n,
        flagged=night.standing == "flagged",
        why="; ".join(words.flags(trend, night)),
    )
