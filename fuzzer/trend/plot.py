"""One cell's failure rate over the nights, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fuzzer.report.page.charts import COLOURS, drawn, intervals, named
from fuzzer.trend.chart import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE: Final = (4.7, 2.6)  # inches, without the legend
_DAYS: Final = 6  # names of nights that fit below


def nights(points: Sequence[Point]) -> str:
    """The nights of a series, the oldest first, with Wilson intervals; flagged ones are crossed. "" without any."""
    shown = [point for point in points if point.n]
    if not shown:
        return ""
    step = -(-len(shown) // _DAYS)
    shares = [100 * point.k / point.n for point in shown]
    places = list(range(len(shown)))
    crossed = [place for place in places if shown[place].state == "flagged"]

    def plot(axes: Axes) -> None:
        axes.plot(places, shares, "-", color=COLOURS[1], linewidth=1)
        intervals(axes, places, [(point.k, point.n) for point in shown], COLOURS[1], "failed")
        if crossed:
            marks = [shares[place] for place in crossed]
            axes.plot(crossed, marks, "X", color=COLOURS[0], markersize=11, label="flagged")
        axes.set_ylim(bottom=0, top=max(axes.dataLim.y1, 1e-9) * 1.08)
        axes.set_xlim(-0.6, len(shown) - 0.4)
        axes.set_xticks(places[::step], [named(point.started[5:10]) for point in shown[::step]])
        axes.set_ylabel("failed, % of judged")

    return drawn(plot, "Failure rate by night, with 95 % Wilson intervals", _SIZE)
