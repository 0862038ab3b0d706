"""The main table where several heads were run: concurrency by lm_head precision, and what each costs and buys."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, fraction, percent
from fuzzer.summary import CellSummary, Summary

_WIDEST = 8  # columns


@dataclass(frozen=True, slots=True)
class Matrix:
    """``columns`` are the heads (with the candidate's name where two share one); a line is a row's name and cells."""

    columns: tuple[str, ...]
    failures: tuple[tuple[str, ...], ...]
    costs: tuple[tuple[str, ...], ...]


def matrix(summary: Summary) -> Matrix | None:
    """The table, or None where a single head was run, or too many for a table."""
    owners = dict.fromkeys((cell.lm_head, cell.candidate) for cell in summary.cells)
    if not 2 <= len(owners) <= _WIDEST:
        return None
    heads = [head for head, _ in owners]
    several = len({cell.schedule for cell in summary.cells}) > 1
    places = sorted({(cell.concurrency, cell.schedule) for cell in summary.cells})
    found = {(cell.concurrency, cell.schedule, cell.lm_head, cell.candidate): cell for cell in summary.cells}
    failures, costs = [], []
    for level, schedule in places:
        row = [found.get((level, schedule, head, who)) for head, who in owners]
        name = f"{level}, {schedule}" if several else str(level)
        failures.append((name, *map(_failures, row)))
        costs.append((name, *map(_cost, row)))
    columns = tuple(_column(head, who, heads.count(head) > 1) for head, who in owners)
    return Matrix(columns, tuple(failures), tuple(costs))


def _column(head: str | None, candidate: str, shared: bool) -> str:
    name = clean(head or "unstated", 40)
    return f"{name} ({clean(candidate, 40)})" if shared or head is None else name


def _failures(cell: CellSummary | None) -> str:
    if cell is None or not cell.rate.n:
        return "-"
    wilson = cell.rate.wilson
    spread = f", {percent(wilson.low)} to {percent(wilson.high)}" if wilson else ""
    return f"{fraction(cell.rate)} ({percent(cell.rate.k / cell.rate.n)}{spread}) {STATUS[cell.status]}"


def _cost(cell: CellSummary | None) -> str:
    if cell is None:
        return "-"
    speed = cell.speed
    parts = []
    if speed.candidate_tokens_per_second:
        parts.append(f"{speed.candidate_tokens_per_second:.3g} tokens/s")
    if speed.speed_up is not None:
        parts.append(f"x{speed.speed_up.value:.2f}")
    if speed.candidate_seconds is not None:
        parts.append(f"median {speed.candidate_seconds:.2g} s")
    if cell.acceptance is not None and cell.acceptance.length is not None:
        parts.append(f"{cell.acceptance.length:.2f} accepted")
    return ", ".join(parts) or "-"
