"""The reports in the run's directory."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from fuzzer.events import Listener
from fuzzer.report.files import ReportFiles
from fuzzer.report.listeners import Manner


def open_listener(_: Manner) -> AbstractContextManager[Listener]:
    """Writes the reports when the verdict is in."""
    return nullcontext(ReportFiles())
