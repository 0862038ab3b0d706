"""The anchor set over the night: the same prompts asked again and again, so that a change of the server shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from fuzzer.night import CellCount, Leg, Night
from fuzzer.report.night.rows import exact
from fuzzer.report.night.sentences import hours, outcome
from fuzzer.report.page.charts import COLOURS, INK, drawn, named
from fuzzer.report.text import clean
from fuzzer.report.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Along = Literal["hours", "requests"]

_POINTS: Final = 40  # of one candidate; more could not be told apart on a phone
_SIZE: Final = (4.7, 2.6)  # inches
_LABELS: Final[dict[Along, str]] = {"hours": "hours of work", "requests": "requests the boot had got from us"}


@dataclass(frozen=True, slots=True)
class Point:
    """One candidate's answers in one anchor leg, or in a few neighbouring ones: ``right`` of ``n`` passed."""

    hours: float
    requests: float
    right: int
    n: int


def anchor_legs(night: Night) -> list[Leg]:
    """The legs of the anchor set; all legs where there is none."""
    return [leg for leg in night.legs if leg.purpose == "anchor"] or list(night.legs)


def points(legs: Sequence[Leg]) -> dict[str, list[tuple[Leg, Point]]]:
    """Each candidate's answers by leg, from all cells that count: the same that the drift test goes by."""
    found: dict[str, list[tuple[Leg, Point]]] = {}
    for leg in legs:
        for name in dict.fromkeys(cell.candidate for cell in leg.cells if _told(cell)):
            mine = [cell for cell in leg.cells if _told(cell) and cell.candidate == name]
            k, n = sum(cell.k for cell in mine), sum(cell.n for cell in mine)
            found.setdefault(name, []).append((leg, Point(hours(leg), leg.first_request, n - k, n)))
    return found


def _told(cell: CellCount) -> bool:
    return cell.counted and cell.n > 0


def anchor_rows(night: Night) -> list[tuple[str, ...]]:
    """Every leg of the plots as numbers."""
    return [
        (
            str(leg.number), outcome(leg), f"{point.hours:.2f}", str(leg.boot), f"{leg.first_request:,}",
            clean(name, 60), f"{point.right}/{point.n}", percent(point.right / point.n),
            " to ".join(percent(end) for end in exact(point.right, point.n)),
        )
        for name, members in points(anchor_legs(night)).items()
        for leg, point in members
    ]  # fmt: skip


def passing(night: Night, along: Along) -> str:
    """Pass rate of the anchor set against time or request index, with exact intervals; "" where nothing was judged."""
    found = points(anchor_legs(night))
    if not found:
        return ""

    def plot(axes: Axes) -> None:
        least = 100.0
        for index, (name, members) in enumerate(found.items()):
            shown = _joined([point for _, point in members], along)
            shares = [100 * point.right / point.n for point in shown]
            ends = [exact(point.right, point.n) for point in shown]
            low = [max(share - 100 * end[0], 0.0) for share, end in zip(shares, ends, strict=True)]
            high = [max(100 * end[1] - share, 0.0) for share, end in zip(shares, ends, strict=True)]
            look: Any = {"fmt": "o", "capsize": 2, "markersize": 4, "linewidth": 1.0}
            axes.errorbar([_at(point, along) for point in shown], shares, yerr=[low, high], label=named(name),
                          color=COLOURS[index % len(COLOURS)], **look)  # fmt: skip
            least = min(least, *(share - below for share, below in zip(shares, low, strict=True)))
        axes.set_ylim(max(least - 0.1 * (100 - least) - 0.1, 0), 100 + 0.04 * (100 - least) + 0.05)
        axes.set_ylabel("right, % of judged")
        axes.set_xlabel(_LABELS[along], labelpad=2)
        axes.xaxis.set_major_locator(_whole_steps())
        axes.ticklabel_format(useOffset=False, style="plain")
        if along == "hours":
            _mark_boots(axes, night)

    return drawn(plot, f"Pass rate of the anchor set by {_LABELS[along]}, with 95 % exact intervals", _SIZE)


def _whole_steps() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5)


def _mark_boots(axes: Axes, night: Night) -> None:
    """A line where each later boot began."""
    firsts: dict[int, float] = {}
    for leg in night.legs:
        firsts.setdefault(leg.boot, hours(leg))
    for place, boot in enumerate(sorted(firsts)[1:]):
        axes.axvline(firsts[boot], color=INK, linewidth=0.8, linestyle=":", label="" if place else "a new boot")


def _joined(found: list[Point], along: Along) -> list[Point]:
    """At most `_POINTS` of them: neighbours along the axis are added up."""
    found = sorted(found, key=lambda point: _at(point, along))
    many = -(-len(found) // _POINTS)
    groups = [found[at : at + many] for at in range(0, len(found), many)]
    return [
        Point(
            sum(point.hours for point in group) / len(group),
            sum(point.requests for point in group) / len(group),
            sum(point.right for point in group),
            sum(point.n for point in group),
        )
        for group in groups
    ]


def _at(point: Point, along: Along) -> float:
    return point.hours if along == "hours" else point.requests
