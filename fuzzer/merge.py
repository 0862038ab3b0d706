"""Several runs as one: cells measured on different days in one table, with paired tests between their candidates.

Runs agree where they asked the same prompts in the same way of the same reference; anything else is refused with the
reason, since a difference between two days would be taken for one between two heads. Each cell stands as its own run
decided it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzer.errors import UsageError
from fuzzer.history.journal import read_history
from fuzzer.history.records import Prompt
from fuzzer.judge import Judge
from fuzzer.manifest import HISTORY, Manifest, read_manifest
from fuzzer.summarise import EXIT, comparisons, summarise
from fuzzer.summary import EndpointSummary, FamilyCalibration, Reason, Summary, VerdictName

_PLANNED = ("seed", "families", "corpora", "weave", "pad", "fuzz", "sampling", "policy")
_BUILD = ("engine", "model", "fingerprint", "context_length")
_WORST: tuple[VerdictName, ...] = ("fail", "unavailable", "interrupted", "inconclusive", "pass")


@dataclass(frozen=True, slots=True)
class _Part:
    """One run: what it was about, how it was judged, and a hash of each prompt that it asked."""

    directory: Path
    manifest: Manifest
    judge: Judge
    summary: Summary
    asked: dict[str, str]


def merge(directories: Sequence[Path]) -> Summary:
    """The summary of all these runs together.

    Raises UsageError where they cannot stand in one table, HistoryError where one cannot be read.
    """
    if len(directories) < 2:
        raise UsageError("merge: name two runs or more, for example: specfuzz merge reports/MONDAY reports/TUESDAY")
    parts = [_read(directory) for directory in directories]
    first = parts[0]
    for index, part in enumerate(parts):
        for other in parts[:index]:
            _same_way(other, part)
            _same_prompts(other, part)
            _apart(other, part)
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
            "endpoints": tuple(dict.fromkeys(end for summary in summaries for end in summary.endpoints)),
            "cells": tuple(cell for summary in summaries for cell in summary.cells),
            "comparisons": tuple(comparisons([tally for part in parts for tally in part.judge.cells.values()])),
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


def _read(directory: Path) -> _Part:
    manifest = read_manifest(directory)
    if manifest.interrupted:
        raise UsageError(f"merge: {directory} was interrupted; finish it first: specfuzz resume {directory}")
    judge = Judge(manifest.plan)
    asked: dict[str, str] = {}
    for record in read_history(directory / HISTORY):
        judge.feed(record)
        if isinstance(record, Prompt):
            asked[record.id] = hashlib.sha256(record.model_dump_json().encode()).hexdigest()
    return _Part(directory, manifest, judge, summarise(manifest, judge), asked)


def _same_way(one: _Part, other: _Part) -> None:
    """Both asked in the same way, and of the same reference."""
    for name in _PLANNED:
        was, now = getattr(one.manifest.plan, name), getattr(other.manifest.plan, name)
        if was != now:
            raise _unlike(one, other, f"{name} is {was} in the one and {now} in the other")
    ours, theirs = _references(one), _references(other)
    for build in theirs:
        if build not in ours:
            told = ", ".join(f"{name} {value}" for name, value in zip(_BUILD, build, strict=True))
            raise _unlike(one, other, f"the reference of the second ({told}) is none of the first's")


def _references(part: _Part) -> list[tuple[object, ...]]:
    found: list[EndpointSummary] = [end for end in part.summary.endpoints if end.role == "reference"]
    return [tuple(getattr(end, name) for name in _BUILD) for end in found]


def _same_prompts(one: _Part, other: _Part) -> None:
    common = one.asked.keys() & other.asked.keys()
    differ = sorted(prompt for prompt in common if one.asked[prompt] != other.asked[prompt])
    if differ:
        why = f"prompt {differ[0]} (and {len(differ) - 1} more) reads otherwise: another version of specfuzz made it"
        raise _unlike(one, other, why)


def _apart(one: _Part, other: _Part) -> None:
    twice = {cell.key for cell in one.summary.cells} & {cell.key for cell in other.summary.cells}
    if twice:
        raise _unlike(
            one,
            other,
            f"both hold the cell {min(twice)}; name the candidates apart when they run: --candidate NAME=URL",
        )


def _unlike(one: _Part, other: _Part, why: str) -> UsageError:
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
