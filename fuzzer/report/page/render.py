"""The page itself: everything that a run says, rendered once, with no network and nothing that a text could start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuzzer.report.divergence import divergences
from fuzzer.report.page import charts, values
from fuzzer.report.page.answers import answers
from fuzzer.report.page.evidence import evidence
from fuzzer.report.page.glossary import GLOSSARY
from fuzzer.report.page.layout import environment, furniture
from fuzzer.report.page.opening import leaks, opening
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
    reasons_once,
    run_line,
    tone,
    undecided,
    verdict_line,
)
from fuzzer.report.text import clean
from fuzzer.report.words import percent, plural
from fuzzer.summary import FindingGroup, Summary


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
        "reasons": reasons_once(summary),
        "opening": opening(summary),
        "leaks": leaks(summary),
        "preflight_failed": any(_early(group) for group in summary.findings),
        "glossary": GLOSSARY,
        "heat_names": values.results(summary)[0],
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


def _early(group: FindingGroup) -> bool:
    return any(key.rpartition("/")[2] == "preflight" for key in group.cells)
