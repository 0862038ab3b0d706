"""What a night's report tells of the nights before it."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.summary import VerdictName


@dataclass(frozen=True, slots=True)
class TrendLine:
    """One earlier night: ``failed`` of ``judged`` answers in all its cells, and whether the trend flagged it, and why.

    ``started`` is ISO 8601 in UTC.
    """

    night_id: str
    started: str
    verdict: VerdictName
    failed: int
    judged: int
    flagged: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class TrendNote:
    """The last nights, the newest first, as the index over the nights has them.

    ``page`` is the path of the trend's page, relative to the soak's directory, or empty. ``known`` are the findings of
    earlier nights by dedupe key and schedule; None where that is not known, and nothing can then be called new.
    """

    lines: tuple[TrendLine, ...] = ()
    page: str = ""
    known: frozenset[tuple[str, str]] | None = None
