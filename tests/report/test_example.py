"""The example report that is checked in is what today's tool would write."""

from __future__ import annotations

from pathlib import Path

from fuzzer.report.files import load_summary
from fuzzer.report.junit import junit
from fuzzer.report.markdown import markdown

EXAMPLE = Path(__file__).parents[2] / "reports" / "example"


def test_the_example_is_up_to_date() -> None:
    summary = load_summary(EXAMPLE)
    assert summary.verdict == "fail"
    assert (EXAMPLE / "report.md").read_text(encoding="utf-8") == markdown(summary)
    assert (EXAMPLE / "junit.xml").read_text(encoding="utf-8") == junit(summary)
