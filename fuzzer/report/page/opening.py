"""What was compared with what, and why leaks and wrong answers are counted apart: sentences for who reads it first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fuzzer.report.text import clean
from fuzzer.report.words import listed, ordered, place, plural
from fuzzer.summary import CellSummary, EndpointSummary, Summary

_SPECULATION = {True: "speculative decoding on", False: "speculative decoding off", None: "speculation unknown"}


def opening(summary: Summary) -> str:
    """``candidate, with speculative decoding on, compared with the same model with it off.``"""
    candidates = [end for end in summary.endpoints if end.role == "candidate"]
    references = [end for end in summary.endpoints if end.role == "reference"]
    if not candidates:
        return ""
    tested = listed([_end(end) for end in candidates])
    if not references:
        return f"Tested: {tested}, compared with itself asked one request at a time."
    return f"Tested: {tested}, compared with {listed([_other(end, candidates) for end in references])}."


def _end(end: EndpointSummary) -> str:
    model = f" ({clean(end.model, 80)})" if end.model else ""
    return f"{clean(end.name, 60)}{model} with {_SPECULATION[end.speculation]}"


def _other(end: EndpointSummary, candidates: Iterable[EndpointSummary]) -> str:
    if {one.model for one in candidates} != {end.model} or end.model is None:
        return _end(end)
    off = "it off" if end.speculation is False else _SPECULATION[end.speculation]
    return f"the same model with {off}"


def leaks(summary: Summary) -> list[str]:
    """Why a cell has more leaks than wrong answers; a line a cell where that is so."""
    return [line for cell in ordered(summary.cells) for line in _leaks(cell, summary)]


def _leaks(cell: CellSummary, summary: Summary) -> Iterator[str]:
    groups = [group for group in summary.findings if group.kind == "bleed" and group.arm == "candidate"]
    bled = sum(group.counts.get(cell.key, 0) for group in groups)
    arm = cell.arms.get("candidate")
    wrong = sum(arm.wrong.values()) if arm is not None else 0
    if bled > wrong:
        yield (
            f"{place(cell, summary)}: {plural(bled, 'leak')} but {plural(wrong, 'wrong answer')}: an answer that holds "
            "another's content beside its own right answer is graded right, and a filler is looked at for leaks and "
            "not graded; a leak counts all the same"
        )
