"""The report of a soak: ``night.md``, ``night.html``, ``junit.xml``, and the same in a terminal."""

from fuzzer.report.night.console import render_night
from fuzzer.report.night.earlier import TrendLine, TrendNote
from fuzzer.report.night.files import write_night
from fuzzer.report.night.screen import NightScreen

__all__ = ["NightScreen", "TrendLine", "TrendNote", "render_night", "write_night"]
