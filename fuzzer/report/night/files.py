"""The files of a night's report, each whole or not."""

from __future__ import annotations

from pathlib import Path

from fuzzer.errors import HistoryError
from fuzzer.night import Night
from fuzzer.report.files import write_whole
from fuzzer.report.night.earlier import TrendNote
from fuzzer.report.night.junit import junit
from fuzzer.report.night.markdown import markdown
from fuzzer.report.night.page import html


def write_night(directory: Path, night: Night, trend: TrendNote | None = None) -> list[Path]:
    """Write ``night.md``, ``night.html`` and ``junit.xml`` into a soak's directory and return their paths.

    Raises HistoryError where they cannot be written.
    """
    texts = {
        "night.md": markdown(night, trend),
        "junit.xml": junit(night),
        "night.html": html(night, trend, directory),
    }
    try:
        return [write_whole(directory / name, text) for name, text in texts.items()]
    except OSError as error:
        raise HistoryError(f"cannot write the night's report into {directory}: {error.strerror or error}") from error
