"""What a person watches while a run goes on: a line a cell, repainted in place on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rich.console import Console as Screen
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fuzzer.events import BlockJudged, CellDecided, ExchangeDone, StageStarted
from fuzzer.plan import Cell
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, duration, plural
from fuzzer.summary import CellStatus

_BAR = 14  # columns
_SPARE = 4  # lines of the terminal that are not a cell's
_STYLE: Final[dict[CellStatus, str]] = {"pass": "green", "fail": "bold red", "open": "yellow", "vacuous": "yellow"}


@dataclass(slots=True)
class _Line:
    """One cell's line; ``started`` and ``looked`` are the clock at its first stage and its last judged block."""

    label: str
    judged: int = 0
    failures: int = 0
    wanted: int = 0
    started: float | None = None
    looked: float | None = None
    status: CellStatus | None = None


@dataclass(slots=True)
class Progress:
    """The live picture of a run on a terminal; ``clock`` counts seconds, ``planned`` is what preflight foresaw."""

    screen: Screen
    clock: Callable[[], float]
    lines: dict[str, _Line] = field(default_factory=dict)
    stage: StageStarted | None = None
    done: int = 0
    exchanges: int = 0
    planned: float | None = None
    began: float = 0.0
    errors: int = 0
    live: Live | None = None

    def start(self, cells: tuple[Cell, ...]) -> None:
        """Begin to paint, with every cell that the plan holds."""
        several = len({cell.candidate for cell in cells}) > 1
        self.began = self.clock()
        self.lines = {cell.key: _Line(_label(cell, several)) for cell in cells}
        self.live = Live(
            console=self.screen, get_renderable=self.picture, refresh_per_second=4, transient=True,
            redirect_stdout=False, redirect_stderr=False,
        )  # fmt: skip
        self.live.start()

    def stop(self) -> None:
        """Wipe the picture and give the terminal back; may be called more than once."""
        if self.live is not None:
            self.live.stop()
            self.live = None

    def stage_started(self, event: StageStarted) -> None:
        """A stage begins; the cell's time counts from its first measured one."""
        self.stage, self.done = event, 0
        line = self.lines.get(event.cell)
        if line is not None and line.started is None:
            line.started = self.clock()

    def exchange_done(self, event: ExchangeDone) -> None:
        """Count an exchange, and whether it failed to come back."""
        self.exchanges += 1
        self.done += event.phase not in ("filler", "neighbour")
        self.errors += event.outcome != "ok"

    def block_judged(self, event: BlockJudged) -> None:
        """Take over the cell's count, from which the time left is judged."""
        line = self.lines.setdefault(event.cell, _Line(clean(event.cell, 40)))
        line.judged, line.failures, line.wanted = event.judged, event.failures, event.wanted
        line.looked = self.clock()

    def cell_decided(self, event: CellDecided) -> None:
        """The cell is over."""
        self.lines.setdefault(event.cell, _Line(clean(event.cell, 40))).status = event.status

    def picture(self) -> RenderableType:
        """The lines as they stand now; cells that do not fit the terminal are counted instead."""
        shown, hidden = self._fitting()
        grid = Table.grid(padding=(0, 1, 0, 0))
        for line in shown:
            bar = ProgressBar(total=max(line.wanted, line.judged, 1), completed=line.judged, width=_BAR)
            grid.add_row(Text(line.label), bar, Text(_count(line)), self._ending(line))
        rest = [Text(f"... and {plural(hidden, 'more cell')}", "dim")] if hidden else []
        return Group(grid, *rest, Text(self._doing(), "dim"))

    def _fitting(self) -> tuple[list[_Line], int]:
        room = max(self.screen.height - _SPARE, 3)
        found = list(self.lines.values())
        if len(found) <= room:
            return found, 0
        running = next((i for i, line in enumerate(found) if line.status is None), len(found) - 1)
        first = max(min(running - room // 2, len(found) - room), 0)
        return found[first : first + room], len(found) - room

    def _ending(self, line: _Line) -> Text:
        if line.status is not None:
            return Text(STATUS[line.status], _STYLE.get(line.status, ""))
        if line.started is None:
            return Text("to come", "dim")
        left = self._left(line)
        return Text("running" if left is None else f"about {duration(left)} left")

    def _left(self, line: _Line) -> float | None:
        """Seconds until a clean cell is done, at the pace it has kept so far."""
        if line.started is None or line.looked is None or not line.judged or line.judged >= line.wanted:
            return None
        whole = (line.looked - line.started) / line.judged * (line.wanted - line.judged)
        return max(whole - (self.clock() - line.looked), 0.0)

    def _doing(self) -> str:
        planned = f" of about {duration(self.planned)}" if self.planned else ""
        counted = f"{plural(self.exchanges, 'exchange')} in {duration(self.clock() - self.began)}{planned}"
        if self.errors:
            counted += f", {plural(self.errors, 'service failure')}"
        if self.stage is None:
            return counted
        stage = self.stage
        where = f"{stage.phase} on the {stage.arm} at concurrency {stage.concurrency}, block {stage.block + 1}"
        return f"{where}: {self.done}/{stage.requests}; {counted}"


def _label(cell: Cell, several: bool) -> str:
    who = f"{clean(cell.candidate, 16)} " if several else ""
    head = f" {clean(cell.lm_head, 12)}" if cell.lm_head else ""
    return f"{who}c{cell.concurrency}{head} {cell.schedule}"


def _count(line: _Line) -> str:
    if not line.wanted:
        return ""
    return f"{line.judged}/{line.wanted} judged, {line.failures} failed"
