"""The plot of a night's pooled failure rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fuzzer.night import Night
from fuzzer.report.night.sentences import ordered
from fuzzer.report.page.charts import COLOURS, INK, REFERENCE, drawn, intervals, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST: Final = 24  # cells in the plot, the worst first; the table holds all
_LONGEST: Final = 26  # characters of a cell's name: on a phone it takes half of the width


def rates(night: Night) -> str:
    """Each cell's failure rate, and the reference's, with Wilson intervals; "" where nothing was judged."""
    judged = sorted((cell for cell in ordered(night.cells) if cell.n), key=lambda cell: cell.status != "fail")[:_MOST]
    if not judged:
        return ""
    owners = len({(cell.candidate, cell.lm_head) for cell in judged}) > 1

    def plot(axes: Axes) -> None:
        places = list(range(len(judged)))
        intervals(axes, [at - 0.15 for at in places], [(cell.k, cell.n) for cell in judged], COLOURS[0], "candidate",
                  flat=True)  # fmt: skip
        compared = [(at, cell) for at, cell in enumerate(judged) if cell.reference_n]
        if compared:
            counts = [(cell.reference_k, cell.reference_n) for _, cell in compared]
            intervals(axes, [at + 0.15 for at, _ in compared], counts, REFERENCE, "reference", flat=True)
        axes.axvline(100 * night.max_wrong_rate, color=INK, linewidth=0.8, linestyle=":", label="limit")
        names = [f"{cell.concurrency} {cell.schedule}" for cell in judged]
        whose = [f"\n{named(cell.lm_head or cell.candidate, _LONGEST)}" * owners for cell in judged]
        axes.set_yticks(places, [named(name, _LONGEST) + who for name, who in zip(names, whose, strict=True)])
        axes.set_ylim(len(judged) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("failed, % of judged answers")

    title = "Failure rate of each cell, all legs together, with 95 % Wilson intervals"
    return drawn(plot, title, (5.2, 1.0 + (0.5 if owners else 0.4) * len(judged)))
