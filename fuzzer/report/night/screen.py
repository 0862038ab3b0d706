"""What a person watches while a soak goes on: the live picture of the leg, and a line of the night over it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TextIO

from rich.text import Text

from fuzzer.events import Event, FindingSeen, RunFinished, RunStarted
from fuzzer.finding import Finding
from fuzzer.night import Leg
from fuzzer.report.live import Live
from fuzzer.report.night.sentences import leg_counts, outcome
from fuzzer.report.progress import Progress
from fuzzer.report.render import open_screen
from fuzzer.report.text import clean
from fuzzer.report.words import duration, plural


class NightScreen:
    """Listens to the legs of a soak, one after the other, on standard error or ``err``.

    On a terminal each leg's progress is painted in place, with the night's figures over it; elsewhere there is a line a
    leg. The first certain finding of each key is told at once. ``earlier`` are the legs that had ended before this
    process; ``left`` says how many seconds of the night are left, or None where it has no end in time. Call it with
    each event of a leg, `ended` after the leg. Use it as a context manager, so that an interrupted soak gives the
    terminal back.
    """

    def __init__(
        self,
        left: Callable[[], float | None],
        earlier: Sequence[Leg] = (),
        *,
        err: TextIO | None = None,
        quiet: bool = False,
        width: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._screen = open_screen(err, width, stderr=True)
        self._painting = self._screen.file.isatty() and not quiet
        self._quiet = quiet
        self._left = left
        self._clock = clock
        self._legs = 0
        self._failed = self._judged = self._findings = self._boots = 0
        self._told: set[str] = set()
        self._live = Live(clock)
        self._progress: Progress | None = None
        for leg in earlier:
            self._add(leg)

    def __enter__(self) -> NightScreen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, event: Event) -> None:
        """Take one event of the leg that is running."""
        if isinstance(event, RunStarted):
            self.close()
            self._live = Live(self._clock)
        self._live.take(event)
        match event:
            case RunStarted() if self._painting:
                self._progress = Progress(self._screen, self._live, self.head)
                self._progress.start()
            case RunFinished():
                self.close()
            case FindingSeen(finding):
                self._found(finding)
            case _:
                pass

    def ended(self, leg: Leg) -> None:
        """The leg is over and counted."""
        self.close()
        self._add(leg)
        self._live = Live(self._clock)
        k, n = leg_counts(leg)
        found = sum(each.count for each in leg.findings)
        self._say(
            f"leg {leg.number}, {leg.concurrency} {leg.schedule} ({leg.why}), boot {leg.boot}: {outcome(leg)}, "
            f"{k} of {n} failed, {plural(found, 'finding')}; {self._night()}"
        )

    def close(self) -> None:
        """Stop painting; may be called more than once."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def head(self) -> str:
        """The line over the leg's picture: which leg, time left, and the night so far, the running leg included."""
        return f"leg {self._legs + 1}, {self._night()}"

    def _night(self) -> str:
        now = [cell for cell in self._live.cells.values() if cell.cell.role == "gated"]
        failed = self._failed + sum(cell.failures for cell in now)
        judged = self._judged + sum(cell.judged for cell in now)
        found = self._findings + self._live.found.total()
        left = self._left()
        time_left = f"{duration(max(left, 0.0))} left, " if left is not None else ""
        return (
            f"night: {time_left}{failed:,} of {judged:,} failed, {plural(self._boots, 'boot')}, "
            f"{plural(found, 'finding')}"
        )

    def _add(self, leg: Leg) -> None:
        k, n = leg_counts(leg)
        self._legs = max(self._legs, leg.number)
        self._failed += k
        self._judged += n
        self._boots = max(self._boots, leg.boot)
        self._findings += sum(found.count for found in leg.findings)

    def _found(self, finding: Finding) -> None:
        if finding.certainty == "certain" and finding.key not in self._told:
            self._told.add(finding.key)
            what = "" if self._live.redacted else f": {clean(finding.summary, 200)}"
            self._say(f"certain {finding.kind} ({clean(finding.key, 120)}){what}", "bold red")

    def _say(self, line: str, style: str = "") -> None:
        if not self._quiet:
            self._screen.print(Text(line, style), soft_wrap=not self._painting)
