"""What the nights say together: the last night against those before it, and every night's flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from fuzzer.figures import Figures
from fuzzer.summary import VerdictName
from fuzzer.trend.changes import Change, changes
from fuzzer.trend.chart import ALARM, Point, Series, chart
from fuzzer.trend.index import Index, Refreshed
from fuzzer.trend.nights import Sort, TrendBoot, TrendNight
from fuzzer.trend.pace import Moved, moved

FLAGGED: Final = 1
TOO_LITTLE: Final = 3

Standing = Literal["flagged", "not flagged", "too little"]


class ToldNight(Figures):
    """One night: its own verdict, and how it stands to the nights before it.

    ``k`` of ``n`` judged answers failed in all its cells; ``compared`` of its ``cells`` could be compared and those
    named in ``flagged`` were flagged. ``changes`` are its findings against those of the nights before it.
    """

    run_id: str
    sort: Sort
    started: str
    directory: str
    verdict: VerdictName
    standing: Standing
    k: int
    n: int
    cells: int
    compared: int
    flagged: tuple[str, ...]
    changes: tuple[Change, ...]
    moved: tuple[Moved, ...]
    boots: tuple[TrendBoot, ...]

    @property
    def alarms(self) -> tuple[Change, ...]:
        """New certain findings that fail a gate: they flag a night, too."""
        return tuple(change for change in self.changes if change.alarm)


class Unread(Figures):
    """A directory that could not be read, and why."""

    directory: str
    why: str


class Trend(Figures):
    """What ``specfuzz trend`` tells. ``nights`` and the points of ``series`` are the last ones that were asked for.

    ``alarm`` is the chance, at most, that a night without a change is flagged by its rates. ``earlier`` nights are in
    the index and not shown.
    """

    standing: Standing
    exit_status: int
    alarm: float = ALARM
    nights: tuple[ToldNight, ...]
    series: tuple[Series, ...]
    earlier: int = 0
    unfinished: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    stored: bool = True

    @property
    def last(self) -> ToldNight | None:
        """The last night; None if there is none at all."""
        return self.nights[-1] if self.nights else None

    def points(self, run_id: str) -> list[tuple[Series, Point]]:
        """The cells of one night, each with its series."""
        return [(one, point) for one in self.series for point in one.points if point.run_id == run_id]


def trend(reports: Path, *, candidate: str | None = None, last: int | None = None, rebuild: bool = False) -> Trend:
    """Bring the index of ``reports`` up to date and tell what it says of the ``last`` nights (all if None).

    The nights that are not shown are compared with all the same.
    """
    with Index(reports) as index:
        refreshed = index.refresh(rebuild=rebuild)
        return told(index.nights(candidate), refreshed, last)


def told(nights: Sequence[TrendNight], refreshed: Refreshed | None = None, last: int | None = None) -> Trend:
    """What these nights say, the oldest first."""
    refreshed = refreshed or Refreshed()
    series = chart(nights)
    shown = nights[-last:] if last is not None else nights
    ids = {night.run_id for night in shown}
    earlier = _earlier(nights)
    rows = tuple(_told(night, series, earlier[night.run_id]) for night in shown)
    standing: Standing = rows[-1].standing if rows else "too little"
    return Trend(
        standing=standing,
        exit_status=EXITS[standing],
        nights=rows,
        series=tuple(cut for one in series if (cut := _within(one, ids)).points),
        earlier=len(nights) - len(shown),
        unfinished=refreshed.unfinished,
        unread=tuple(Unread(directory=one.directory, why=one.why) for one in refreshed.skipped),
        stored=refreshed.stored,
    )


EXITS: Final[Mapping[Standing, int]] = {"flagged": FLAGGED, "not flagged": 0, "too little": TOO_LITTLE}


def _earlier(nights: Sequence[TrendNight]) -> dict[str, list[TrendNight]]:
    """For each night those before it of the same sort and set-up."""
    alike: dict[tuple[str, str], list[TrendNight]] = defaultdict(list)
    found = {}
    for night in nights:
        before = alike[night.sort, night.setup]
        found[night.run_id] = list(before)
        before.append(night)
    return found


def _within(series: Series, ids: set[str]) -> Series:
    return series.model_copy(update={"points": tuple(point for point in series.points if point.run_id in ids)})


def _told(night: TrendNight, series: Sequence[Series], earlier: Sequence[TrendNight]) -> ToldNight:
    mine = [(one, point) for one in series for point in one.points if point.run_id == night.run_id]
    compared = [point for _, point in mine if point.state in ("flagged", "as before")]
    flagged = tuple(one.key.cell for one, point in mine if point.state == "flagged")
    found = tuple(changes(night, earlier))
    alarm = bool(flagged) or any(change.alarm for change in found)
    k, n = night.failed
    return ToldNight(
        run_id=night.run_id,
        sort=night.sort,
        started=night.started,
        directory=night.directory,
        verdict=night.verdict,
        standing="flagged" if alarm else "not flagged" if compared else "too little",
        k=k,
        n=n,
        cells=len(mine),
        compared=len(compared),
        flagged=flagged,
        changes=found,
        moved=tuple(move for one, _ in mine for move in moved(one, night.run_id)),
        boots=night.boots,
    )
