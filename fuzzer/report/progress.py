"""What a person watches while a run goes on: a line a cell and the figures below, repainted in place on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from rich.console import Console as Screen
from rich.console import Group, RenderableType
from rich.live import Live as Painted
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fuzzer.finding import CERTAINTIES
from fuzzer.plan import Cell
from fuzzer.report.live import CellNow, Live
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, duration, percent, plural
from fuzzer.summary import CellStatus

_BAR: Final = 14  # columns
_SPARE: Final = 8  # lines of the terminal that are not a cell's
_NARROW: Final = 80  # columns under which there is no bar
_STYLE: Final[dict[CellStatus, str]] = {"pass": "green", "fail": "bold red", "open": "yellow", "vacuous": "yellow"}


@dataclass(slots=True)
class Progress:
    """The live picture of a run on a terminal; what ``head`` says stands above it."""

    screen: Screen
    figures: Live
    head: Callable[[], str] | None = None
    painted: Painted | None = None

    def start(self) -> None:
        """Begin to paint."""
        self.painted = Painted(
            console=self.screen, get_renderable=self.picture, refresh_per_second=4, transient=True,
            redirect_stdout=False, redirect_stderr=False, vertical_overflow="crop",
        )  # fmt: skip
        self.painted.start()

    def stop(self) -> None:
        """Wipe the picture and give the terminal back; may be called more than once."""
        if self.painted is not None:
            self.painted.stop()
            self.painted = None

    def picture(self) -> RenderableType:
        """The figures as they stand now; cells that do not fit the terminal are counted instead."""
        shown, hidden = self._fitting()
        narrow = self.screen.width < _NARROW
        several = len({cell.cell.candidate for cell in self.figures.cells.values()}) > 1
        grid = Table.grid(padding=(0, 1, 0, 0))
        for _ in range(3 if narrow else 4):
            grid.add_column(no_wrap=True, overflow="ellipsis")
        for cell in shown:
            bar = ProgressBar(total=max(cell.wanted, cell.judged, 1), completed=cell.judged, width=_BAR)
            said = (Text(_count(cell, narrow)), self._ending(cell))
            grid.add_row(Text(label(cell.cell, several)), *(() if narrow else (bar,)), *said)
        rest = [Text(f"... and {plural(hidden, 'more cell')}", "dim")] if hidden else []
        head = [self._line(self.head(), "bold")] if self.head is not None else []
        return Group(*head, grid, *rest, *(self._line(text, style) for text, style in self._figures()))

    def _line(self, text: str, style: str) -> Text:
        return Text(text, style, no_wrap=True, overflow="ellipsis")

    def _figures(self) -> Iterator[tuple[str, str]]:
        yield pace(self.figures, self.screen.width < _NARROW), ""
        if self.figures.found:
            yield findings(self.figures), "red" if self.figures.found["certain"] else "yellow"
        if servers := load(self.figures):
            yield servers, "dim"
        yield doing(self.figures), "dim"

    def _fitting(self) -> tuple[list[CellNow], int]:
        room = max(self.screen.height - _SPARE, 3)
        found = list(self.figures.cells.values())
        if len(found) <= room:
            return found, 0
        running = next((i for i, cell in enumerate(found) if cell.status is None), len(found) - 1)
        first = max(min(running - room // 2, len(found) - room), 0)
        return found[first : first + room], len(found) - room

    def _ending(self, cell: CellNow) -> Text:
        if cell.status is not None:
            return Text(STATUS[cell.status], _STYLE.get(cell.status, ""))
        if cell.started is None:
            return Text("to come", "dim")
        left = cell.seconds_left(self.figures.clock())
        return Text("running" if left is None else f"about {duration(left)} left")


def label(cell: Cell, several: bool) -> str:
    """A cell in few columns; the candidate is named only where there are several."""
    who = f"{clean(cell.candidate, 16)} " if several else ""
    head = f" {clean(cell.lm_head, 12)}" if cell.lm_head else ""
    return f"{who}c{cell.concurrency}{head} {cell.schedule}"


def pace(figures: Live, narrow: bool = False) -> str:
    """Cells done and to do, in flight, rate, time left, acceptance: the figures of the whole run in a line."""
    rate, eta = figures.rate, figures.eta
    cells = len(figures.cells)
    done = f"{figures.cells_done}/{cells} cells" if narrow else f"{figures.cells_done} of {plural(cells, 'cell')} done"
    said = [done, f"{figures.in_flight} in flight"]
    said += [f"{rate:.3g}/s"] if rate is not None else []
    said += [f"{'' if narrow else 'about '}{duration(eta)} left"] if eta else []
    said += [f"{figures.accepted:.2f} tokens a verify step"] if figures.accepted is not None else []
    return ", ".join(said)


def findings(figures: Live) -> str:
    """How many findings so far, and the latest of the most certain."""
    kinds = ", ".join(f"{figures.found[name]} {name}" for name in CERTAINTIES if figures.found[name])
    latest = figures.latest
    if latest is None:
        return "no findings so far"
    what = "" if figures.redacted else f": {clean(latest.summary, 200)}"
    return f"findings: {kinds}; latest {clean(latest.key, 120)}{what}"


def load(figures: Live) -> str:
    """What each server last said of its own load; empty where none tells."""
    said = []
    for arm, seen in sorted(figures.load.items()):
        parts = [f"{seen.running:g} running"] if seen.running is not None else []
        parts += [f"{seen.waiting:g} waiting"] if seen.waiting is not None else []
        parts += [f"KV pool {percent(seen.pool_usage)}"] if seen.pool_usage is not None else []
        said += [f"{arm} {', '.join(parts)}"] if parts else []
    return f"servers: {'; '.join(said)}" if said else ""


def doing(figures: Live) -> str:
    """The stage that is running, and what the run has taken so far."""
    planned = f" of about {duration(figures.planned_seconds)}" if figures.planned_seconds else ""
    counted = f"{plural(figures.exchanges, 'exchange')} in {duration(figures.elapsed)}{planned}"
    if figures.service_failures:
        counted += f", {plural(figures.service_failures, 'service failure')}"
    stage = figures.stage
    if stage is None:
        return counted
    where = f"{stage.phase} on the {stage.arm} at concurrency {stage.concurrency}, block {stage.block + 1}"
    return f"{where}: {figures.stage_done}/{stage.requests}; {counted}"


def _count(cell: CellNow, narrow: bool) -> str:
    if not cell.judged:
        return ""
    return f"{cell.judged}/{cell.wanted}{'' if narrow else ' judged'}, {cell.failures} failed"
