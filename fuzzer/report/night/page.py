"""``night.html``: the whole night in one file, with no network and nothing that a text could start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fuzzer.night import Night, NightCell, NightFinding
from fuzzer.report.night import rows
from fuzzer.report.night.anchors import anchor_rows, passing
from fuzzer.report.night.charts import rates
from fuzzer.report.night.earlier import TrendNote
from fuzzer.report.night.method import METHOD, WORDS
from fuzzer.report.night.sentences import (
    amounts,
    boots_line,
    broken,
    drift_line,
    exclusions,
    hours,
    ordered,
    outcome,
    reasons,
    replay,
    tone,
    verdict_line,
)
from fuzzer.report.night.timeline import draw
from fuzzer.report.page.layout import Table, environment, furniture
from fuzzer.report.text import clean
from fuzzer.report.words import listed, percent, plural

_STATES: Final = {"pass": "good", "fail": "bad", "open": "unsure"}
_OUTCOMES: Final = {"clean": "good", "FAIL": "bad", "failures": "unsure", "not judged": "calm"}
_VERDICTS: Final = {"pass": "good", "fail": "bad"}
_SHOWN: Final = 60  # findings told in full; the table holds all
_ABOUT_LEGS: Final = (
    "outcome: clean (nothing failed), failures (some did, which a leg alone cannot judge), FAIL (a finding or a count "
    "that breaks a gate), not judged; hours: of work before it; request: how many the boot had got from us by then; "
    "failures: of the judged answers of its gated cells"
)


@dataclass(frozen=True, slots=True)
class Level:
    """What one concurrency came to."""

    where: str
    word: str
    state: str
    why: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding ready for the page."""

    finding: NightFinding
    state: str
    tone: str
    where: str
    command: str


def html(night: Night, trend: TrendNote | None = None, directory: Path | None = None) -> str:
    """The whole page; ``directory`` is where the night's files lie, for the commands that read them."""
    where = str(directory) if directory is not None else "DIR"
    found = rows.ranked(night, trend)
    return (
        environment(WORDS)
        .get_template("night.html.j2")
        .render(
            **furniture("night.css"),
            **_tables(night, trend),
            night=night,
            tone=tone(night),
            verdict=verdict_line(night),
            reasons=reasons(night),
            levels=_levels(night),
            first=_first(night),
            over=[*map(drift_line, night.drifts), boots_line(night)],
            before=_before(trend),
            command=next((replay(one, where) for one, _ in found if one.bundle and one.breaks), ""),
            ruled_out=exclusions(night),
            amounts=amounts(night),
            findings=[_shown(one, state, where) for one, state in found[:_SHOWN]],
            more=len(found) - _SHOWN,
            rates=rates(night),
            passing=[svg for svg in (passing(night, "hours"), passing(night, "requests")) if svg],
            anchored=any(leg.purpose == "anchor" for leg in night.legs),
            timeline=draw(night),
            trend_page=_link(trend.page) if trend is not None else "",
            method=METHOD,
            words_of=WORDS,
            percent=percent,
            plural=plural,
        )
    )


def _tables(night: Night, trend: TrendNote | None) -> dict[str, Any]:
    cells, found = ordered(night.cells), rows.ranked(night, trend)
    lines = trend.lines if trend is not None else ()
    return {
        "cells": Table(
            "cells", "Failures by cell, all legs together", rows.CELLS, tuple(map(rows.cell_row, cells)),
            tuple("calm" if cell.role == "control" else _STATES[cell.status] for cell in cells), rows.CELLS_NOTE,
            rows.VALUES, tuple(map(rows.cell_values, cells)),
        ),
        "boots": Table(
            "boots", "Boots of the candidate", rows.BOOTS, tuple(map(rows.boot_row, night.boots)),
            tuple("bad" if boot.bad else "calm" for boot in night.boots),
            rows.BOOTS_NOTE,
        ),
        "outages": Table("outages", "Outages", rows.OUTAGES, tuple(rows.outage_rows(night))),
        "anchors": Table(
            "anchors", "The anchor set, leg by leg", rows.ANCHORS, tuple(anchor_rows(night)), (), rows.ANCHORS_NOTE,
        ),
        "legs": Table(
            "legs", "Legs", rows.LEGS, tuple(rows.leg_row(leg, night.dropped) for leg in night.legs),
            tuple(_OUTCOMES[outcome(leg)] for leg in night.legs), _ABOUT_LEGS,
        ),
        "listed": Table(
            "findings", "Findings, as a table", rows.FINDINGS,
            tuple(rows.finding_row(one, state) for one, state in found),
            tuple("bad" if one.breaks else "calm" for one, _ in found),
        ),
        "trend": Table(
            "trend", "The nights before", rows.TREND, tuple(map(rows.trend_row, lines)),
            tuple(_VERDICTS.get(line.verdict, "unsure") for line in lines),
            "flagged: fails more often than the nights before it, by the trend's own rule",
        ),
    }  # fmt: skip


def _levels(night: Night) -> list[Level]:
    """May it be rolled out, level by level: the worst of its cells says so."""
    found: dict[tuple[int, str], list[NightCell]] = {}
    heads = len({(cell.candidate, cell.lm_head) for cell in night.cells}) > 1
    for cell in ordered(night.cells):
        if cell.role == "gated":
            whose = f", {clean(cell.candidate, 40)}, lm_head {clean(cell.lm_head or 'unstated', 40)}" * heads
            found.setdefault((cell.concurrency, whose), []).append(cell)
    return [_level(f"concurrency {level}{whose}", cells, night) for (level, whose), cells in found.items()]


def _level(where: str, cells: list[NightCell], night: Night) -> Level:
    k, n = sum(cell.k for cell in cells), sum(cell.n for cell in cells)
    counts = f"{k:,} of {plural(n, 'judged answer')} failed"
    breaking = broken(night)
    bad = [cell.schedule for cell in cells if cell.key in breaking]
    open_ = [cell.schedule for cell in cells if cell.status == "open"]
    if bad:
        return Level(where, "NO", "bad", f"{counts}; it fails under {listed(bad)}")
    if night.verdict == "fail":
        return Level(where, "NOT CLEARED", "unsure", f"{counts}, but the night fails for the reasons above")
    if open_:
        return Level(where, "NOT CLEARED", "unsure", f"{counts}; not decided under {listed(open_)}")
    worst = max(cell.upper for cell in cells)
    return Level(where, "YES", "good", f"{counts}; no rate above {percent(worst)} under any of its schedules")


def _first(night: Night) -> str:
    """What broke first, or failed first."""
    breaking = sorted((one for one in night.findings if one.breaks), key=lambda one: (one.first, one.key))
    if breaking:
        one = breaking[0]
        return (
            f"{clean(one.key)} under {clean(one.schedule, 40)}, first in leg {one.first} "
            f"({clean(one.first_seen, 40)}), {one.count:,} in {plural(one.legs, 'leg')}"
        )
    leg = next((leg for leg in night.legs if outcome(leg) in ("FAIL", "failures")), None)
    if leg is None:
        return ""
    return (
        f"an answer in leg {leg.number}, after {hours(leg):.1f} h, at concurrency {leg.concurrency} under "
        f"{leg.schedule}; no finding breaks the night by itself"
    )


def _before(trend: TrendNote | None) -> str:
    """The nights before in a line."""
    if trend is None or not trend.lines:
        return ""
    flagged = sum(line.flagged for line in trend.lines)
    verdicts = ", ".join(line.verdict for line in trend.lines)
    return f"the last {plural(len(trend.lines), 'night')}, the newest first: {verdicts}; {flagged} of them flagged"


def _shown(one: NightFinding, state: str, where: str) -> Shown:
    place = (
        f"{one.count:,} in {plural(one.legs, 'leg')} under {clean(one.schedule, 40)}; leg {one.first} "
        f"({clean(one.first_seen, 40)}) to leg {one.last} ({clean(one.last_seen, 40)})"
    )
    return Shown(one, state, "bad" if one.breaks else "calm", place, replay(one, where))


def _link(page: str) -> str:
    """A relative path as a link; whatever else it is, nothing."""
    return "" if page.startswith(("/", "\\")) else quote(page.encode("utf-8", "replace"), safe="/.-_~")
