"""Several runs as one: cells measured on different days in one table, with paired tests between their candidates.

Runs agree where they asked the same prompts in the same way of the same reference; anything else is refused with the
reason, since a difference between two days would be taken for one between two heads. Each cell stands as its own run
decided it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fuzzer.errors import UsageError
from fuzzer.recorded import ASKED, Recorded, read, unlike
from fuzzer.summarise import EXIT, comparisons
from fuzzer.summary import EndpointSummary, FamilyCalibration, Reason, Summary, VerdictName

_BUILD = ("engine", "model", "fingerprint", "context_length")
_WORST: tuple[VerdictName, ...] = ("fail", "unavailable", "interrupted", "inconclusive", "pass")


def merge(directories: Sequence[Path], command: str = "merge") -> Summary:
    """The summary of all these runs together; ``command`` is what a mistake is told under.

    Raises UsageError where they cannot stand in one table, HistoryError where one cannot be read.
    """
    if len(directories) < 2:
        raise UsageError("merge: name two runs or more, for example: specfuzz merge reports/MONDAY reports/TUESDAY")
    parts = [read(command, directory) for directory in directories]
    first = parts[0]
    for index, part in enumerate(parts):
        for other in parts[:index]:
            _together(other, part)
    summaries = [part.summary for part in parts]
    verdict = min((summary.verdict for summary in summaries), key=_WORST.index)
    return first.summary.model_copy(
        update={
            "run_id": "+".join(summary.run_id for summary in summaries),
            "merged": tuple(summary.run_id for summary in summaries),
            "seconds": sum(summary.seconds for summary in summaries),
            "verdict": verdict,
            "exit_status": EXIT[verdict],
            "reasons": _reasons(summaries, verdict),
            "scope": " ".join(dict.fromkeys(summary.scope for summary in summaries)),
            "endpoints": tuple({end.lasting: end for summary in summaries for end in summary.endpoints}.values()),
            "cells": tuple(cell for summary in summaries for cell in summary.cells),
            "comparisons": tuple(comparisons([tally for part in parts for tally in part.judge.cells.values()])),
            "sampled": tuple(sampled for summary in summaries for sampled in summary.sampled),
            "findings": tuple(group for summary in summaries for group in summary.findings),
            "waivers": tuple(waiver for summary in summaries for waiver in summary.waivers),
            "calibration": _calibrations(summaries),
            "vacuity": tuple(text for summary in summaries for text in summary.vacuity),
            "exchanges": sum(summary.exchanges for summary in summaries),
            "lost": sum(summary.lost for summary in summaries),
            "resumed": sum(summary.resumed for summary in summaries),
            "redacted": any(summary.redacted for summary in summaries),
        }
    )


def _together(one: Recorded, other: Recorded) -> None:
    """Both asked in the same way, and of the same reference; no cell twice."""
    if why := unlike(one, other, (*ASKED, "policy")):
        raise _refused(one, other, why)
    known = _references(one)
    for build in _references(other):
        if build not in known:
            told = ", ".join(f"{name} {value}" for name, value in zip(_BUILD, build, strict=True))
            raise _refused(one, other, f"the reference of the second ({told}) is none of the first's")
    twice = {cell.key for cell in one.summary.cells} & {cell.key for cell in other.summary.cells}
    if twice:
        why = f"both hold the cell {min(twice)}; name the candidates apart when they run: --candidate NAME=URL"
        raise _refused(one, other, why)


def _references(part: Recorded) -> list[tuple[object, ...]]:
    found: list[EndpointSummary] = [end for end in part.summary.endpoints if end.role == "reference"]
    return [tuple(getattr(end, name) for name in _BUILD) for end in found]


def _refused(one: Recorded, other: Recorded, why: str) -> UsageError:
    return UsageError(f"merge: {one.directory} and {other.directory} do not belong in one table: {why}")


def _reasons(summaries: Sequence[Summary], verdict: VerdictName) -> tuple[Reason, ...]:
    """The reasons for the worst verdict come first; all of them stand."""
    order = sorted(summaries, key=lambda summary: summary.verdict != verdict)
    return tuple(reason for summary in order for reason in summary.reasons)


def _calibrations(summaries: Sequence[Summary]) -> tuple[FamilyCalibration, ...]:
    totals: dict[tuple[str, str], FamilyCalibration] = {}
    for row in (row for summary in summaries for row in summary.calibration):
        old = totals.get((row.family, row.level))
        totals[row.family, row.level] = row if old is None else old.plus(row)
    return tuple(totals[key] for key in sorted(totals))
