"""The console: what a run tells a person, live on standard error and in the end on standard output."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from rich.text import Text

from fuzzer.events import BlockJudged, CellDecided, Event, FindingSeen, PreflightDone, RunFinished, RunStarted
from fuzzer.finding import Finding
from fuzzer.report.live import Live
from fuzzer.report.progress import Progress, doing, pace
from fuzzer.report.render import open_screen, render, render_verdict
from fuzzer.report.sentences import verdict_line
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS

__all__ = ["Console", "open_screen", "render"]

HEARTBEAT = 60.0  # seconds between lines of a build log: many build servers stop a job that says nothing


class Console:
    """Listens to a run: progress on ``err``, the final report on ``out``.

    Where ``err`` is a terminal the progress is painted in place, elsewhere it is plain lines: the plan, each cell as it
    is decided, the first certain finding of each key, and a line a minute. With ``json`` nothing is written to ``out``,
    which is then the caller's for the summary. With ``quiet`` there is no progress, and of the report the verdict's
    line. Use it as a context manager, so that an interrupted run gives the terminal back.
    """

    def __init__(
        self,
        *,
        out: TextIO | None = None,
        err: TextIO | None = None,
        json: bool = False,
        quiet: bool = False,
        width: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = open_screen(out, width)
        self._err = open_screen(err, width, stderr=True)
        self._json = json
        self._quiet = quiet
        # rich would also take FORCE_COLOR in a build log for a terminal
        self._painting = self._err.file.isatty() and not quiet
        self._live = Live(clock)
        self._progress = Progress(self._err, self._live)
        self._told: set[str] = set()
        self._spoke = clock()

    def __enter__(self) -> Console:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop painting; may be called more than once."""
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Take one event."""
        self._live.take(event)
        match event:
            case RunStarted():
                self._started()
            case PreflightDone():
                self._planned(event)
            case RunFinished():
                self._finished(event)
            case FindingSeen(finding):
                self._found(finding)
            case CellDecided():
                self._decided(event)
            case BlockJudged() if not self._painting:
                self._beat()
            case _:
                pass

    def _started(self) -> None:
        if self._painting:
            again = "resumed " if self._live.resumed else ""
            self._say(f"{again}run {clean(self._live.run_id, 100)} in {clean(self._live.directory, 500)}")
            self._progress.start()

    def _planned(self, event: PreflightDone) -> None:
        self._say(clean(event.planned, 1000))
        if self._painting:
            for line in (*event.preflight.problems, *event.preflight.warnings):
                self._say(clean(line, 400), "yellow")

    def _finished(self, event: RunFinished) -> None:
        self.close()
        if self._json:
            if self._painting:
                self._say(verdict_line(event.summary))
        elif self._quiet:
            render_verdict(event.summary, self._out)
        else:
            render(event.summary, self._out, Path(self._live.directory))

    def _found(self, finding: Finding) -> None:
        """Tell the first certain finding of each key as it happens; the rest waits for the report."""
        if finding.certainty == "certain" and finding.key not in self._told:
            self._told.add(finding.key)
            what = "" if self._live.redacted else f": {clean(finding.summary, 200)}"
            self._say(f"certain {finding.kind} ({clean(finding.key, 120)}){what}", "bold red")

    def _decided(self, event: CellDecided) -> None:
        if not self._painting:
            why = f": {clean(event.message, 300)}" if event.message else ""
            self._say(f"{clean(event.cell, 120)}: {STATUS[event.status]}{why}")

    def _beat(self) -> None:
        if self._live.clock() - self._spoke >= HEARTBEAT:
            self._say(f"{pace(self._live)}; {doing(self._live)}")

    def _say(self, line: str, style: str = "") -> None:
        self._spoke = self._live.clock()
        if not self._quiet:
            self._err.print(Text(line, style), soft_wrap=not self._painting)
