"""The plots of the page, drawn by matplotlib as SVG that takes its colours from the page."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fuzzer.report.words import ordered
from fuzzer.summary import CellSummary, Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = (5.6, 3.6)  # inches
_INK = "#010203"  # replaced by the text colour of the page
_COLOURS = ("#e8590c", "#4c7ef3", "#2f9e44", "#ae3ec9", "#1098ad", "#d9820b", "#d6336c", "#868e96")
_REFERENCE = "#64748b"
_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_DATE = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)


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
            colour = _COLOURS[index % len(_COLOURS)]
            _points(axes, levels, members, shift, colour, f"{name}, {schedule}")
        _references(axes, levels, cells)
        axes.axhline(100 * summary.max_wrong_rate, color=_INK, linewidth=0.8, linestyle=":", label="limit")
        axes.set_ylabel("failed, % of judged answers")
        axes.set_ylim(bottom=0)

    return _svg(plot, levels, "Failure rate by concurrency, with 95 % Wilson intervals")


def speeds(summary: Summary) -> str:
    """The candidate's output tokens per second as a multiple of the reference's, by concurrency; "" where not known."""
    cells = [
        cell
        for cell in ordered(summary.cells)
        if cell.speed.candidate_tokens_per_second and cell.speed.reference_tokens_per_second
    ]
    if not cells:
        return ""
    levels = sorted({cell.concurrency for cell in cells})

    def plot(axes: Axes) -> None:
        for index, ((name, schedule), members) in enumerate(_series(cells).items()):
            xs = [levels.index(cell.concurrency) for cell in members]
            axes.plot(xs, [_ratio(cell) for cell in members], "o-", color=_COLOURS[index % len(_COLOURS)],
                      label=f"{name}, {schedule}", markersize=5)  # fmt: skip
        axes.axhline(1, color=_INK, linewidth=0.8, linestyle=":", label="as fast as the reference")
        axes.set_ylabel("times the reference's tokens/s")
        axes.set_ylim(bottom=0)

    return _svg(plot, levels, "Speed-up by concurrency")


def acceptances(summary: Summary) -> str:
    """Tokens accepted per verify step, by concurrency; "" where the engine tells nothing."""
    cells = [cell for cell in ordered(summary.cells) if cell.acceptance and cell.acceptance.length is not None]
    if not cells:
        return ""
    levels = sorted({cell.concurrency for cell in cells})

    def plot(axes: Axes) -> None:
        for index, ((name, schedule), members) in enumerate(_series(cells).items()):
            xs = [levels.index(cell.concurrency) for cell in members]
            axes.plot(xs, [_length(cell) for cell in members], "o-", color=_COLOURS[index % len(_COLOURS)],
                      label=f"{name}, {schedule}", markersize=5)  # fmt: skip
        axes.set_ylabel("tokens per verify step")
        axes.set_ylim(bottom=0)

    return _svg(plot, levels, "Acceptance length by concurrency")


def _series(cells: Sequence[CellSummary]) -> dict[tuple[str, str], list[CellSummary]]:
    found: dict[tuple[str, str], list[CellSummary]] = {}
    for cell in cells:
        head = f" ({cell.lm_head})" if cell.lm_head else ""
        found.setdefault((_plain(f"{cell.candidate}{head}"), cell.schedule), []).append(cell)
    return found


def _points(axes: Axes, levels: list[int], cells: Sequence[CellSummary], shift: float, colour: str, label: str) -> None:
    xs = [levels.index(cell.concurrency) + shift for cell in cells]
    ys = [100 * cell.rate.k / cell.rate.n for cell in cells]
    spread = [[], []] if not cells else _spread(cells, ys)
    axes.errorbar(xs, ys, yerr=spread, fmt="o", color=colour, capsize=3, markersize=5, linewidth=1.2, label=label)


def _spread(cells: Sequence[CellSummary], ys: Sequence[float]) -> list[list[float]]:
    intervals = [cell.rate.wilson for cell in cells]
    low = [y - 100 * each.low if each else 0.0 for y, each in zip(ys, intervals, strict=True)]
    high = [100 * each.high - y if each else 0.0 for y, each in zip(ys, intervals, strict=True)]
    return [[max(value, 0.0) for value in low], [max(value, 0.0) for value in high]]


def _references(axes: Axes, levels: list[int], cells: Sequence[CellSummary]) -> None:
    known = [(cell, cell.reference_rate) for cell in cells if cell.reference_rate and cell.reference_rate.n]
    if known:
        xs = [levels.index(cell.concurrency) for cell, _ in known]
        ys = [100 * rate.k / rate.n for _, rate in known]
        axes.plot(xs, ys, "_", color=_REFERENCE, markersize=16, markeredgewidth=2, label="reference")


def _ratio(cell: CellSummary) -> float:
    ours, theirs = cell.speed.candidate_tokens_per_second, cell.speed.reference_tokens_per_second
    return ours / theirs if ours and theirs else 0.0


def _length(cell: CellSummary) -> float:
    return (cell.acceptance.length or 0.0) if cell.acceptance else 0.0


def _plain(text: str) -> str:
    """No dollar sign starts a formula, and no name is longer than a legend can hold."""
    return "".join(char for char in text if char.isprintable() and char not in "$_^\\")[:40] or "?"


def _svg(plot: Any, levels: list[int], title: str) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: Any = {
        "svg.fonttype": "none", "svg.hashsalt": "specfuzz", "font.family": "sans-serif", "font.size": 10,
        "text.color": _INK, "axes.edgecolor": _INK, "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK,
        "text.parse_math": False,
    }  # fmt: skip
    with mpl.rc_context(style):
        figure = Figure(figsize=_SIZE, layout="constrained")
        axes = figure.add_subplot()
        plot(axes)
        axes.set_xticks(range(len(levels)), [str(level) for level in levels])
        axes.set_xlim(-0.6, len(levels) - 0.4)
        axes.set_xlabel("concurrency", labelpad=2)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Title": title})
    text = _DATE.sub("", _PROLOGUE.sub("", buffer.getvalue()))
    text = text.replace(_INK, "currentColor")
    return text.replace("<svg ", f'<svg role="img" aria-label="{title}" ', 1)
