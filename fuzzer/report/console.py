"""The console: what a run tells a person, live on standard error and in the end on standard output."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from rich.text import Text

from fuzzer.events import (
    BlockJudged,
    CellDecided,
    Event,
    ExchangeDone,
    FindingSeen,
    PreflightDone,
    RunFinished,
    RunStarted,
    StageStarted,
)
from fuzzer.finding import Finding
from fuzzer.report.progress import Progress
from fuzzer.report.render import open_screen, render
from fuzzer.report.sentences import verdict_line
from fuzzer.report.text import clean

__all__ = ["Console", "open_screen", "render"]


class Console:
    """Listens to a run: progress on ``err`` if that is a terminal, the final report on ``out``.

    Elsewhere only the plan line goes to ``err`` before the report. With ``json`` nothing is written to ``out``, which
    is then the caller's for the summary. Use it as a context manager, so that an interrupted run gives the terminal
    back.
    """

    def __init__(
        self,
        *,
        out: TextIO | None = None,
        err: TextIO | None = None,
        json: bool = False,
        width: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._out = open_screen(out, width)
        self._err = open_screen(err, width, stderr=True)
        self._json = json
        self._live = self._err.file.isatty()  # rich would also take FORCE_COLOR in a build log for a terminal
        self._progress = Progress(self._err, clock)
        self._directory: Path | None = None
        self._redacted = False
        self._told: set[str] = set()

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
        match event:
            case RunStarted():
                self._started(event)
            case PreflightDone():
                self._planned(event)
            case RunFinished():
                self._finished(event)
            case _ if self._live:
                self._watch(event)
            case _:
                pass

    def _started(self, event: RunStarted) -> None:
        self._directory = Path(event.directory)
        self._redacted = event.plan.redact_content
        if self._live:
            again = "resumed " if event.resumed else ""
            self._say(f"{again}run {clean(event.run_id, 100)} in {clean(event.directory, 500)}")
            self._progress.start(event.plan.cells())

    def _planned(self, event: PreflightDone) -> None:
        self._say(clean(event.planned, 1000))
        self._progress.planned = event.preflight.planned_seconds
        if self._live:
            for line in (*event.preflight.problems, *event.preflight.warnings):
                self._say(clean(line, 400), "yellow")

    def _finished(self, event: RunFinished) -> None:
        self.close()
        if not self._json:
            render(event.summary, self._out, self._directory)
        elif self._live:
            self._say(verdict_line(event.summary))

    def _watch(self, event: Event) -> None:
        match event:
            case StageStarted():
                self._progress.stage_started(event)
            case ExchangeDone():
                self._progress.exchange_done(event)
            case BlockJudged():
                self._progress.block_judged(event)
            case CellDecided():
                self._progress.cell_decided(event)
            case FindingSeen(finding):
                self._found(finding)
            case _:
                pass

    def _found(self, finding: Finding) -> None:
        """Tell the first certain finding of each key as it happens; the rest waits for the report."""
        if finding.certainty == "certain" and finding.key not in self._told:
            self._told.add(finding.key)
            what = "" if self._redacted else f": {clean(finding.summary, 200)}"
            self._say(f"certain {finding.kind} ({clean(finding.key, 120)}){what}", "bold red")

    def _say(self, line: str, style: str = "") -> None:
        self._err.print(Text(line, style), soft_wrap=not self._live)
