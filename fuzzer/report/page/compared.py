"""The comparison of two runs as a page: one file, no network."""

from __future__ import annotations

from pathlib import Path

from fuzzer.compare import Compared
from fuzzer.errors import HistoryError
from fuzzer.report.compared import COLUMNS, lines, row, verdict
from fuzzer.report.files import write_whole
from fuzzer.report.page import charts
from fuzzer.report.page.layout import Table, environment, furniture
from fuzzer.report.text import clean

_STATES = {"worse": "bad", "better": "good", "nothing in common": "unsure"}


def write_comparison(path: Path, compared: Compared) -> None:
    """Write the page; raises HistoryError where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, comparison_page(compared))
    except OSError as error:
        raise HistoryError(f"--html: cannot write {path}: {error.strerror or error}") from error


def comparison_page(compared: Compared) -> str:
    """The whole page."""
    cells = Table(
        "cells",
        "Cell by cell, on the prompts that both runs judged",
        COLUMNS,
        tuple(map(row, compared.cells)),
        tuple(_STATES.get(cell.outcome, "calm") for cell in compared.cells),
        "then, now: failures of the prompts in common; worse: failed now only, better: failed then only; p: exact "
        "McNemar (1947), one-sided, adjusted by Holm (1979) over the cells",
    )
    findings = Table(
        "findings",
        "Findings",
        ("key", "state", "certain", "then", "now"),
        tuple(
            (clean(one.key), one.state, "yes" if one.certain else "no", str(one.old), str(one.new))
            for one in compared.findings
        ),
    )
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            **furniture(),
            title=verdict(compared),
            tone="bad" if compared.exit_status == 1 else "unsure" if compared.exit_status else "good",
            said=lines(compared),
            chart=charts.changes(compared),
            tables=[cells, *([findings] if findings.lines else [])],
        )
    )
