"""The example report that is checked in is what today's tool would write."""

from __future__ import annotations

from pathlib import Path

from fuzzer.report.files import load_summary
from fuzzer.report.junit import junit
from fuzzer.report.markdown import markdown
from fuzzer.report.page import html

EXAMPLE = Path(__file__).parents[2] / "reports" / "example"


def test_the_example_is_up_to_date() -> None:
    summary = load_summary(EXAMPLE)
    assert summary.verdict == "fail"
    assert (EXAMPLE / "report.md").read_text(encoding="utf-8") == markdown(summary)
    assert (EXAMPLE / "junit.xml").read_text(encoding="utf-8") == junit(summary)


def test_the_example_s_page_is_that_of_its_summary() -> None:
    """The history that its texts came from is not checked in, so that only what the summary decides is compared."""
    page = (EXAMPLE / "report.html").read_text(encoding="utf-8")
    bare = html(load_summary(EXAMPLE))
    for start, end in (
        ("<h1>", "</h1>"),
        ('<section class="block" id="cells">', "</section>"),
        ("<style>", "</style>"),
    ):
        assert page[page.index(start) :].split(end)[0] == bare[bare.index(start) :].split(end)[0]
    assert "the donor&#39;s prompt" in page
    assert len(page) < 3_000_000
