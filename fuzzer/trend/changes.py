"""New, known and gone: the findings of a night against those of the nights before it, by dedupe key and schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

from fuzzer.figures import Figures
from fuzzer.finding import CERTAINTIES, Certainty
from fuzzer.plan import ScheduleName
from fuzzer.trend.chart import FEWEST_NIGHTS
from fuzzer.trend.nights import TrendFinding, TrendNight

RECENT: Final = 7  # earlier nights in which a finding must have been seen to be called gone

State = Literal["new", "first", "known", "gone"]


class Change(Figures):
    """One dedupe key under one schedule: ``count`` times in this night, and in ``seen`` of ``before`` earlier nights.

    Earlier nights are those that ran that schedule; where there is none, a finding is ``first``, not new. ``alarm``: a
    certain finding that fails a gate, and is new.
    """

    key: str
    schedule: str
    certainty: Certainty
    state: State
    count: int
    seen: int
    before: int
    alarm: bool


def changes(night: TrendNight, earlier: Sequence[TrendNight]) -> list[Change]:
    """All findings of a night, and those that are gone; the new ones first, the surest first of them.

    ``earlier`` are the nights before it of the same sort and set-up, the oldest first. Without any nothing is new.
    """
    now = {(found.key, found.schedule): found for found in night.findings}
    recent = {
        (found.key, found.schedule): found
        for other in earlier[-RECENT:]
        for found in other.findings
        if looked(night, found.schedule)
    }
    said = [_change(found, "now", earlier) for found in now.values()]
    said += [_change(found, "gone", earlier) for key, found in recent.items() if key not in now]
    return sorted(said, key=_rank)


def looked(night: TrendNight, schedule: str) -> bool:
    """Whether a night could have found something under a schedule; preflight and calibration are in every gate."""
    schedules = {cell.schedule for cell in night.cells}
    return schedule in schedules or schedule not in get_args(ScheduleName)


def _change(found: TrendFinding, when: Literal["now", "gone"], earlier: Iterable[TrendNight]) -> Change:
    able = [night for night in earlier if looked(night, found.schedule)]
    seen = sum(any((one.key, one.schedule) == (found.key, found.schedule) for one in night.findings) for night in able)
    state: State = "gone" if when == "gone" else "first" if not able else "known" if seen else "new"
    return Change(
        key=found.key,
        schedule=found.schedule,
        certainty=found.certainty,
        state=state,
        count=0 if when == "gone" else found.count,
        seen=seen,
        before=len(able),
        alarm=state == "new" and found.breaks and found.certainty == "certain" and len(able) >= FEWEST_NIGHTS,
    )


def _rank(change: Change) -> tuple[int, int, str, str]:
    return (
        get_args(State).index(change.state),
        CERTAINTIES.index(change.certainty),
        change.key,
        change.schedule,
    )
