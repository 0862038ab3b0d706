"""Acceptance length and speed against earlier nights: information, never an alarm.

The rule: a figure is told to have moved if it lies farther from the median of the earlier nights than 5 times their
median absolute deviation (scaled by 1.4826, which makes it the standard deviation of normal figures), and by more than
a tenth of that median, with 8 earlier nights that tell the figure. How often it speaks up in vain depends on how the
figures are spread, which nobody promises: a busy machine is enough. So no false-alarm rate is claimed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median
from typing import Final, Literal

from fuzzer.figures import Figures
from fuzzer.trend.chart import Key, Point, Series

FEWEST: Final = 8
DEVIATIONS: Final = 5.0
SCALE: Final = 1.4826
FLOOR: Final = 0.1

Figure = Literal["acceptance length", "tokens/s", "speed-up"]


class Moved(Figures):
    """A figure of one cell that left the range of the earlier nights, whose median is ``usual``."""

    key: Key
    figure: Figure
    now: float
    usual: float
    nights: int


def speed_up(point: Point) -> float | None:
    """Output tokens per second of the candidate over the reference's; None where either is not known."""
    if not point.reference_tokens_per_second or point.tokens_per_second is None:
        return None
    return point.tokens_per_second / point.reference_tokens_per_second


FIGURES: Final[Mapping[Figure, Callable[[Point], float | None]]] = {
    "acceptance length": lambda point: point.acceptance,
    "tokens/s": lambda point: point.tokens_per_second,
    "speed-up": speed_up,
}


def moved(series: Series, run_id: str) -> Iterator[Moved]:
    """What moved in this night of a series."""
    at = next((place for place, point in enumerate(series.points) if point.run_id == run_id), None)
    if at is None:
        return
    for figure, told in FIGURES.items():
        now = told(series.points[at])
        before = [value for point in series.points[:at] if (value := told(point)) is not None]
        if now is not None and (usual := _outside(now, before)) is not None:
            yield Moved(key=series.key, figure=figure, now=now, usual=usual, nights=len(before))


def _outside(now: float, before: list[float]) -> float | None:
    """The median of the earlier figures where this one is out of their range."""
    if len(before) < FEWEST:
        return None
    usual = median(before)
    spread = SCALE * median(abs(value - usual) for value in before)
    return usual if abs(now - usual) > max(DEVIATIONS * spread, FLOOR * abs(usual)) else None
