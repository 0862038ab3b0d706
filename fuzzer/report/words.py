"""The wording that every report shares: numbers with their denominators, names of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from fuzzer.report.text import clean
from fuzzer.summary import ArmCounts, CellStatus, CellSummary, Paired, Rate, Summary

STATUS: Final[dict[CellStatus, str]] = {
    "pass": "pass",
    "fail": "FAIL",
    "open": "open",
    "vacuous": "vacuous",
    "informational": "info only",
    "not-run": "not run",
}


def percent(share: float) -> str:
    """A share as a percentage with two or three digits: ``36.5 %``, ``0.98 %``; never 100 for less than all."""
    value = 100 * share
    if 99.9 < value < 100:
        return "> 99.9 %"
    return f"{value:.3g} %" if value >= 1 else f"{value:.2g} %"


def p_value(p: float) -> str:
    """A p-value to two significant digits: ``4.4e-32``, ``0.012``."""
    if p <= 0:
        return "< 1e-300"
    return f"{p:.1e}" if p < 0.001 else f"{p:.2g}"


def p_is(p: float | None) -> str:
    """A p-value in a sentence: ``p = 4.4e-32``, ``p < 1e-300``; None was not tested."""
    if p is None:
        return "not tested"
    return f"p {p_value(p)}" if p <= 0 else f"p = {p_value(p)}"


def plural(n: int, noun: str) -> str:
    """``1 finding``, ``1,702 exchanges``."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def duration(seconds: float) -> str:
    """A time for people: ``0.85 s``, ``42 s``, ``12 min``, ``3.2 h``."""
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def figure(value: float) -> str:
    """Three digits, thousands apart: ``1,330``, ``2.9``, ``0.047``."""
    return f"{float(f'{value:.3g}'):,g}"


def fraction(rate: Rate | None) -> str:
    """``k/n``, or a dash where there is nothing to count."""
    return f"{rate.k}/{rate.n}" if rate else "-"


def estimate(rate: Rate) -> str:
    """``36.5 % (111/304)``."""
    return f"{percent(rate.k / rate.n)} ({rate.k}/{rate.n})" if rate.n else f"unknown ({rate.k}/{rate.n})"


def decisive(paired: Paired) -> float:
    """The p-value that decides: Holm-adjusted where several cells were tested."""
    return paired.p if paired.p_adjusted is None else paired.p_adjusted


def listed(words: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def ordered(cells: Iterable[CellSummary]) -> list[CellSummary]:
    """Cells by concurrency, then lm_head precision, then candidate and schedule."""
    return sorted(cells, key=lambda cell: (cell.concurrency, cell.lm_head or "", cell.candidate, cell.schedule))


def place(cell: CellSummary, summary: Summary, schedule: str = "") -> str:
    """Which cell, in words; the candidate is named only where there are several."""
    several = len({other.candidate for other in summary.cells}) > 1
    head = f", lm_head {clean(cell.lm_head, 40)}" if cell.lm_head else ""
    who = f", candidate {clean(cell.candidate, 40)}" if several else ""
    return f"concurrency {cell.concurrency}{head}, {schedule or cell.schedule}{who}"


def place_of(key: str, summary: Summary) -> str:
    """`place` of a cell's key; calibration is recorded as if it were a cell; other keys stay as they are."""
    found = next((cell for cell in summary.cells if cell.key == key), None)
    if found is not None:
        return place(found, summary)
    level, _, phase = key.rpartition("/")
    alike = next((cell for cell in summary.cells if cell.key.rpartition("/")[0] == level), None)
    return place(alike, summary, clean(phase, 40)) if alike else clean(key, 100)


def counts(arm: ArmCounts) -> str:
    """What became of an arm's exchanges, zeros left out: ``sent 304: right 180, wrong 111 (runaway 9, ...)``."""
    parts = [f"right {arm.right}"]
    parts += [f"verbose but right {arm.verbose}"] if arm.verbose else []
    named = (("wrong", arm.wrong), ("not judged", arm.unjudged), ("service failure", arm.error))
    parts += [f"{name} {sum(kinds.values())} ({_kinds(kinds)})" for name, kinds in named if sum(kinds.values())]
    parts += [f"lost {arm.lost}"] if arm.lost else []
    return f"sent {arm.sent}: {', '.join(parts)}"


def _kinds(kinds: dict[str, int]) -> str:
    return ", ".join(f"{clean(name, 40)} {n}" for name, n in sorted(kinds.items(), key=lambda kind: -kind[1]) if n)
