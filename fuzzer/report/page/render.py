"""The page itself: everything that a run says, rendered once, with no network and nothing that a text could start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzzer.report.divergence import divergences
from fuzzer.report.page import charts
from fuzzer.report.page.answers import answers
from fuzzer.report.page.evidence import evidence
from fuzzer.report.page.layout import environment, furniture
from fuzzer.report.page.replay import Replays
from fuzzer.report.page.shown import shown_group
from fuzzer.report.page.tables import decisions, heat, tables
from fuzzer.report.redact import shareable
from fuzzer.report.sentences import (
    calibrated,
    comparison,
    endpoint,
    exclusions,
    guards,
    ranked,
    run_line,
    tone,
    undecided,
    verdict_line,
)
from fuzzer.report.text import clean
from fuzzer.report.words import listed, percent, place_of, plural
from fuzzer.summary import Summary


def html(summary: Summary, directory: Path | None = None, sources: Sequence[Path] = ()) -> str:
    """The whole page; with the run's ``directory`` also the texts and timelines of its findings.

    A merged summary has no history of its own: ``sources`` are the directories of the runs that went into it.
    """
    summary = shareable(summary)
    directories = list(sources or ([directory] if directory is not None else []))
    found, replays = evidence(directories, summary), Replays(directories)
    groups = ranked(summary.findings)
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            **furniture(),
            **_facts(summary),
            answers=answers(summary, found, replays),
            anchors={group.key: number for number, group in enumerate(groups, start=1)},
            groups=[shown_group(group, summary, found, replays) for group in groups],
            where=clean(str(directory), 300) if directory is not None else "",
        )
    )


def _facts(summary: Summary) -> dict[str, Any]:
    return {
        "summary": summary,
        "tone": tone(summary),
        "verdict": verdict_line(summary),
        "reasons": _reasons(summary),
        "ruled_out": exclusions(summary),
        "heat": heat(summary),
        "charts": charts.everything(summary),
        "decisions": decisions(summary),
        "tables": tables(summary),
        "comparisons": [comparison(pair) for pair in summary.comparisons],
        "divergences": divergences(summary),
        "undecided": undecided(summary),
        "guards": guards(summary),
        "calibration": calibrated(summary.calibration),
        "endpoints": [endpoint(end) for end in summary.endpoints],
        "run": run_line(summary),
        "percent": percent,
        "plural": plural,
    }


def _reasons(summary: Summary) -> list[str]:
    """The reasons in words; one that holds of several cells is told once, with all of them."""
    places: dict[str, list[str]] = {}
    for reason in summary.reasons:
        held = places.setdefault(reason.message, [])
        held += [place_of(reason.cell, summary)] if reason.cell else []
    return [
        f"{clean(message, 1000)} (at {listed(found)})" if found else clean(message, 1000)
        for message, found in places.items()
    ]
