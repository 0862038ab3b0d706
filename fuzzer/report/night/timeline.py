"""The legs of a night on one axis: which traffic when, and what came of it. Drawn by hand in SVG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fuzzer.night import Leg, Night
from fuzzer.report.night.sentences import Outcome, began, between, lasted, leg_counts, moment, outcome
from fuzzer.report.text import clean
from fuzzer.report.words import duration, plural

_ROW: Final = 20
_TOP: Final = 22
_TICKS: Final = 4
_LEAST: Final = 0.5  # per cent of the width; a short leg can still be seen
_STATES: Final[dict[Outcome, str]] = {"clean": "good", "failures": "unsure", "FAIL": "bad", "not judged": "calm"}
_HEIGHTS: Final = {"calm": 3, "good": 7, "unsure": 12, "bad": 16}


@dataclass(frozen=True, slots=True)
class Bar:
    """A leg as drawn: per cent of the width, pixels from the top; the higher the bar, the worse the outcome.

    ``why`` is rotation, findings or anchor.
    """

    state: str
    why: str
    hint: str
    x: float
    y: float
    width: float
    height: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """The timeline ready for the page.

    ``lanes`` are (y, label), ``ticks`` and ``boots`` (per cent, label), ``outages`` (per cent, width, hint).
    """

    height: int
    lanes: tuple[tuple[int, str], ...]
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, str], ...]
    boots: tuple[tuple[float, str], ...]
    outages: tuple[tuple[float, float, str], ...]
    words: str


def draw(night: Night) -> Drawing | None:
    """Lay the legs out over the hours of work, a lane for each level and schedule; None where there is no leg."""
    if not night.legs:
        return None
    whole = max(night.active, *(leg.active for leg in night.legs), 1.0)
    names = sorted({(leg.concurrency, leg.schedule) for leg in night.legs})
    places = {name: _TOP + _ROW * index for index, name in enumerate(names)}

    def at(seconds: float) -> float:
        return round(min(max(100 * seconds / whole, 0.0), 100.0), 2)

    firsts: dict[int, float] = {}
    for leg in night.legs:
        firsts.setdefault(leg.boot, began(leg))
    outages = tuple(
        (at(start), round(max(at(one.seconds), _LEAST), 2), f"{clean(one.end, 60)}: {clean(one.why, 200)}")
        for one in night.outages
        if (start := _when(night, one.since)) is not None
    )
    return Drawing(
        height=_TOP + _ROW * len(names) + 4,
        lanes=tuple((places[name], f"{name[0]} {name[1]}") for name in names),
        bars=tuple(
            _bar(leg, places[leg.concurrency, leg.schedule], at(began(leg)), at(lasted(leg))) for leg in night.legs
        ),
        ticks=tuple((25.0 * n, duration(whole * n / _TICKS) if n else "0") for n in range(_TICKS)),
        boots=tuple((at(firsts[boot]), f"boot {boot}") for boot in sorted(firsts)[1:]),
        outages=outages,
        words=f"{plural(len(night.legs), 'leg')} over {duration(whole)} of work, by concurrency and schedule",
    )


def _bar(leg: Leg, y: int, x: float, width: float) -> Bar:
    state = _STATES[outcome(leg)]
    height = _HEIGHTS[state]
    k, n = leg_counts(leg)
    hint = f"leg {leg.number}: {outcome(leg)}, {k} of {n} failed, {leg.why}, boot {leg.boot}, {clean(leg.started, 40)}"
    return Bar(state, leg.why, hint, x, y + _ROW - 2 - height, round(max(width, _LEAST), 2), height)


def _when(night: Night, since: str) -> float | None:
    """A moment as seconds of work: after the last leg that had begun by then."""
    at = moment(since)
    before = [leg for leg in night.legs if at and (start := moment(leg.started)) and start <= at]
    return began(before[-1]) + between(before[-1].started, since) if before else 0.0 if at else None
