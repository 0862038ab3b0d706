"""The plots of the page, drawn by matplotlib as SVG that takes its colours from the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fuzzer.compare import Compared
from fuzzer.inert import visible
from fuzzer.report.words import ordered
from fuzzer.stats import wilson
from fuzzer.summary import CellSummary, NoiseFloor, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (4.7, 2.9)  # inches, without the legend
_LEGEND_ROW = 0.23  # inches
_SHORT = 22  # characters of a name that leave room for another beside it
INK = "#010203"  # replaced by the text colour of the page
COLOURS = ("#e8590c", "#4c7ef3", "#2f9e44", "#ae3ec9", "#1098ad", "#d9820b", "#d6336c", "#868e96")
REFERENCE = "#64748b"
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_DATE = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


def everything(summary: Summary) -> list[tuple[str, str]]:
    """Title and SVG of every plot that there is something to show in."""
    drawn = (
        ("Failure rate, with 95 % Wilson intervals", rates(summary)),
        ("Outputs that differ: candidate v reference, and the noise floor", floors(summary)),
        ("Speed-up, with 95 % bootstrap intervals", speeds(summary)),
        ("Latency", latencies(summary)),
        ("Throughput", throughputs(summary)),
        ("Acceptance length", acceptances(summary)),
    )
    return [(title, svg) for title, svg in drawn if svg]


def rates(summary: Summary) -> str:
    """Failure rate by concurrency with Wilson intervals: each candidate, and its reference; "" where none was run."""
    cells = [cell for cell in ordered(summary.cells) if cell.rate.n]
    if not cells:
        return ""
    levels = sorted({cell.concurrency for cell in cells})
    series = _series(cells)

    def plot(axes: Axes) -> None:
        width = 0.7 / len(series)
        for index, ((name, schedule), members) in enumerate(series.items()):
            shift = (index - (len(series) - 1) / 2) * width
            colour = COLOURS[index % len(COLOURS)]
            xs = [levels.index(cell.concurrency) + shift for cell in members]
            intervals(axes, xs, [(cell.rate.k, cell.rate.n) for cell in members], colour, f"{name}, {schedule}")
        _references(axes, levels, cells)
        axes.axhline(100 * summary.max_wrong_rate, color=INK, linewidth=0.8, linestyle=":", label="limit")
        axes.set_ylabel("failed, % of judged answers")

    return _svg(plot, levels, "Failure rate by concurrency, with 95 % Wilson intervals")


def floors(summary: Summary) -> str:
    """Share of calibration prompts whose output differs: candidate v reference, reference v itself; "" if not seen."""
    found: dict[tuple[str, int], tuple[CellSummary, NoiseFloor]] = {}
    for cell in ordered(summary.cells):
        if cell.noise_floor is not None and cell.noise_floor.n:
            found.setdefault((cell.candidate, cell.concurrency), (cell, cell.noise_floor))
    if not found:
        return ""
    levels = sorted({level for _, level in found})
    owners = list(_series([cell for cell, _ in found.values()]))
    names = list(dict.fromkeys(name for name, _ in owners))

    def plot(axes: Axes) -> None:
        width = 0.6 / (2 * len(names))
        for index, name in enumerate(names):
            mine = [(cell, floor) for cell, floor in found.values() if _owner(cell) == name]
            for side, (label, colour) in enumerate(((name, COLOURS[index % len(COLOURS)]), ("", REFERENCE))):
                shift = (2 * index + side - len(names) + 0.5) * width
                xs = [levels.index(cell.concurrency) + shift for cell, _ in mine]
                counts = [(floor.reference if side else floor.candidate, floor.n) for _, floor in mine]
                told = (
                    "reference v itself (noise floor)" if side and not index else "" if side else f"{label} v reference"
                )
                intervals(axes, xs, counts, colour, told)
        axes.set_ylabel("outputs that differ, %")

    return _svg(plot, levels, "Outputs that differ by concurrency, with 95 % Wilson intervals")


def latencies(summary: Summary) -> str:
    """Median seconds of an answer at both ends, by concurrency; "" where not known."""
    return _both_ends(
        summary, "candidate_seconds", "reference_seconds", "median seconds", "Median latency by concurrency"
    )


def throughputs(summary: Summary) -> str:
    """Output tokens per second at both ends, by concurrency; "" where not known."""
    return _both_ends(
        summary, "candidate_tokens_per_second", "reference_tokens_per_second", "output tokens/s",
        "Throughput by concurrency",
    )  # fmt: skip


def _both_ends(summary: Summary, ours: str, theirs: str, unit: str, title: str) -> str:
    cells = [cell for cell in ordered(summary.cells) if getattr(cell.speed, ours) is not None]
    if not cells:
        return ""
    levels = sorted({cell.concurrency for cell in cells})

    def plot(axes: Axes) -> None:
        for index, ((name, schedule), members) in enumerate(_series(cells).items()):
            colour = COLOURS[index % len(COLOURS)]
            for field, style, label in ((ours, "o-", f"{name}, {schedule}"), (theirs, "x:", "")):
                known = [cell for cell in members if getattr(cell.speed, field) is not None]
                xs = [levels.index(cell.concurrency) for cell in known]
                ys = [getattr(cell.speed, field) for cell in known]
                axes.plot(xs, ys, style, color=colour, markersize=5, label=label or None)
        axes.plot([], [], "x:", color=REFERENCE, label="its reference")
        axes.set_ylabel(unit)

    return _svg(plot, levels, title)


def speeds(summary: Summary) -> str:
    """The paired speed-up with its bootstrap interval, by concurrency; "" where not measured."""
    cells = [cell for cell in ordered(summary.cells) if cell.speed.speed_up is not None]
    if not cells:
        return ""
    levels = sorted({cell.concurrency for cell in cells})
    series = _series(cells)

    def plot(axes: Axes) -> None:
        for index, ((name, schedule), members) in enumerate(series.items()):
            shift = (index - (len(series) - 1) / 2) * 0.5 / len(series)
            found = [(cell.concurrency, cell.speed.speed_up) for cell in members if cell.speed.speed_up]
            ys = [one.value for _, one in found]
            low = [max(one.value - (one.low if one.low is not None else one.value), 0.0) for _, one in found]
            high = [max((one.high if one.high is not None else one.value) - one.value, 0.0) for _, one in found]
            xs = [levels.index(level) + shift for level, _ in found]
            axes.errorbar(xs, ys, yerr=[low, high], fmt="o", color=COLOURS[index % len(COLOURS)], capsize=3,
                          markersize=5, linewidth=1.2, label=f"{name}, {schedule}")  # fmt: skip
        axes.axhline(1, color=INK, linewidth=0.8, linestyle=":", label="as fast as the reference")
        axes.set_ylabel("times as fast")

    return _svg(plot, levels, "Speed-up by concurrency, with 95 % bootstrap intervals")


def acceptances(summary: Summary) -> str:
    """Tokens accepted per verify step, by concurrency; "" where the engine tells nothing."""
    cells = [cell for cell in ordered(summary.cells) if cell.acceptance and cell.acceptance.length is not None]
    if not cells:
        return ""
    levels = sorted({cell.concurrency for cell in cells})

    def plot(axes: Axes) -> None:
        for index, ((name, schedule), members) in enumerate(_series(cells).items()):
            xs = [levels.index(cell.concurrency) for cell in members]
            axes.plot(xs, [_length(cell) for cell in members], "o-", color=COLOURS[index % len(COLOURS)],
                      label=f"{name}, {schedule}", markersize=5)  # fmt: skip
        axes.set_ylabel("tokens per verify step")

    return _svg(plot, levels, "Acceptance length by concurrency")


def changes(compared: Compared) -> str:
    """Two runs beside each other: each cell's failure rate then and now, with Wilson intervals; "" without any."""
    cells = [cell for cell in compared.cells if cell.n]
    if not cells:
        return ""

    def plot(axes: Axes) -> None:
        for index, (name, colour) in enumerate((("then", REFERENCE), ("now", COLOURS[0]))):
            places = [place + 0.3 * index - 0.15 for place in range(len(cells))]
            rates = [cell.old if name == "then" else cell.new for cell in cells]
            intervals(axes, places, [(rate.k, rate.n) for rate in rates], colour, name, flat=True)
        axes.set_yticks(range(len(cells)), [named(cell.key, 48) for cell in cells])
        axes.set_ylim(len(cells) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("failed, % of the prompts in common")

    title = "Failure rate of each cell then and now, with 95 % Wilson intervals"
    return drawn(plot, title, (5.8, 0.9 + 0.5 * len(cells)))


def _series(cells: Sequence[CellSummary]) -> dict[tuple[str, str], list[CellSummary]]:
    found: dict[tuple[str, str], list[CellSummary]] = {}
    for cell in cells:
        found.setdefault((_owner(cell), cell.schedule), []).append(cell)
    return found


def _owner(cell: CellSummary) -> str:
    head = f" ({cell.lm_head})" if cell.lm_head else ""
    return named(f"{cell.candidate}{head}")


def intervals(
    axes: Axes,
    places: Sequence[float],
    counts: Sequence[tuple[int, int]],
    colour: str,
    label: str,
    *,
    flat: bool = False,
) -> None:
    """Shares in per cent with their Wilson intervals, at these places along the level axis; ``flat``: from the left."""
    shares = [100 * k / n for k, n in counts]
    ends = [wilson(k, n) for k, n in counts]
    low = [max(share - 100 * end[0], 0.0) for share, end in zip(shares, ends, strict=True)]
    high = [max(100 * end[1] - share, 0.0) for share, end in zip(shares, ends, strict=True)]
    look: Any = {"fmt": "o", "color": colour, "capsize": 3, "markersize": 5, "linewidth": 1.2, "label": label or None}
    if flat:
        axes.errorbar(shares, places, xerr=[low, high], **look)
    else:
        axes.errorbar(places, shares, yerr=[low, high], **look)


def _references(axes: Axes, levels: list[int], cells: Sequence[CellSummary]) -> None:
    known = [(cell, cell.reference_rate) for cell in cells if cell.reference_rate and cell.reference_rate.n]
    if known:
        xs = [levels.index(cell.concurrency) for cell, _ in known]
        ys = [100 * rate.k / rate.n for _, rate in known]
        axes.plot(xs, ys, "_", color=REFERENCE, markersize=16, markeredgewidth=2, label="reference")


def _length(cell: CellSummary) -> float:
    return (cell.acceptance.length or 0.0) if cell.acceptance else 0.0


def named(text: str, limit: int = 40) -> str:
    """No dollar sign starts a formula, and no name is longer than there is room for."""
    return "".join(char for char in text if visible(char) and char not in "$_^\\")[:limit] or "?"


def _svg(plot: Callable[[Axes], None], levels: Sequence[int], title: str) -> str:
    """A plot over concurrency, each level at an equal distance."""

    def whole(axes: Axes) -> None:
        plot(axes)
        axes.set_ylim(bottom=0, top=max(axes.dataLim.y1, 1e-9) * 1.08)
        axes.set_xticks(range(len(levels)), [str(level) for level in levels])
        axes.set_xlim(-0.6, len(levels) - 0.4)
        axes.set_xlabel("concurrency", labelpad=2)

    return drawn(whole, title, _SIZE)


def drawn(plot: Callable[[Axes], None], title: str, size: tuple[float, float]) -> str:
    """The plot as SVG; ``size`` in inches, to which the legend is added below."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "specfuzz", "font.family": "sans-serif", "font.size": 11.5,
        "text.color": INK, "axes.edgecolor": INK, "axes.labelcolor": INK, "xtick.color": INK, "ytick.color": INK,
        "text.parse_math": False,
    }  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        plot(axes)
        axes.spines[["top", "right"]].set_visible(False)
        _legend(figure, axes)
        buffer = io.StringIO()
        with warnings.catch_warnings():  # names are text in the SVG: the reader's fonts draw them
            warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
            figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Title": title})
    text = _DATE.sub("", _PROLOGUE.sub("", buffer.getvalue()))
    text = text.replace(INK, "currentColor")
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)


def _legend(figure: Figure, axes: Axes) -> None:
    """Names below the plot; the figure grows by them, so that many or long ones leave the plot its room."""
    handles, names = axes.get_legend_handles_labels()
    columns = 2 if all(len(name) <= _SHORT for name in names) else 1
    figure.set_figheight(figure.get_figheight() + _LEGEND_ROW * (1 + -(-len(names) // columns)))
    figure.legend(handles, names, frameon=False, fontsize=11, loc="outside lower center", ncols=columns)
