from __future__ import annotations

import io
from pathlib import Path

import pytest

from fuzzer.report.render import open_screen, render
from fuzzer.summary import Bound, Summary

from . import factory


def printed(summary: Summary, width: int = 80, directory: Path | None = None) -> str:
    out = io.StringIO()
    render(summary, open_screen(out, width), directory)
    return out.getvalue()


def words(text: str) -> str:
    """The text without its line breaks and indents, which depend on the width."""
    return " ".join(text.split())


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("summary", factory.everything(), ids=lambda summary: summary.verdict)
def test_no_line_is_wider_than_the_terminal_and_no_number_is_lost(summary: Summary, width: int) -> None:
    text = printed(summary, width)
    assert max(map(len, text.splitlines())) <= width
    for cell in summary.cells:
        assert f"{cell.rate.k}/{cell.rate.n}" in text
    assert "…" not in text


def test_long_names_and_big_numbers_fold_instead_of_vanishing() -> None:
    bound = Bound(value=0.3652, confidence=0.95, unit="round")
    cell = factory.cell(
        11111, 30444, candidate="dflash-2-production-canary", lm_head="nvfp4-packed-w4a16", concurrency=128
    )
    cell = cell.model_copy(update={"bound": bound, "reference_rate": factory.rate(11111, 30444)})
    text = printed(factory.two_heads().model_copy(update={"cells": (cell,)}), 80)
    assert "…" not in text
    for figure in ("11111/30444", "rounds", "36.5 %", "<= 36.5 %", "128", "pass"):
        assert figure in text


def test_the_verdict_is_the_first_thing_said() -> None:
    assert printed(factory.passing(), 200).startswith("PASS: ruled out: a failure rate of 1 % or more")
    assert printed(factory.failing(), 200).startswith("FAIL: another request's content")
    assert printed(factory.inconclusive(), 200).startswith("INCONCLUSIVE: speculation was not seen active")


@pytest.mark.parametrize("width", [80, 140])
def test_the_table_holds_a_row_a_cell_with_every_figure(width: int) -> None:
    text = words(printed(factory.two_heads(), width))
    for figure in (
        "111/304",
        "36.5 %",
        "<= 41.3 %",
        "0/304",
        "7.7e-34",
        "FAIL",
        "1/304",
        "0.33 %",
        "<= 1.55 %",
        "open",
    ):
        assert figure in text
    for figure in ("25/304", "14/96 v 11/96", "material 1/96 v 0/96", "99.8 %", "99.7 %", "4.75"):
        assert figure in text
    assert text.index("bf16 ") < text.index("nvfp4", text.index("ref."))


def test_a_comparison_shows_p_to_two_digits() -> None:
    assert "p = 4.4e-32" in words(printed(factory.two_heads()))


def test_bleed_names_its_donor_span_and_victim() -> None:
    text = words(printed(factory.failing()))
    assert "bleed/concurrent/history@candidate certain, 3 times, on the candidate, breaks the gate" in text
    assert "donor: prompt p000012, exchange measure/b0/12, channel history, concurrent; span" in text
    assert "victim: prompt p000017, exchange candidate/nvfp4/c8/closed-loop/b0/candidate/17" in text


def test_the_rest_is_there() -> None:
    text = words(printed(factory.failing(), directory=Path("reports/run-1")))
    for part in (
        "worse-than-reference",
        "wrong 9 (wrong-last-message 7, runaway 2)",
        "corruption/loop@candidate: issue 123, harmless (waives 2 findings, expires 2026-12-31)",
        "table hard: kept 41/60 (17 wrong even alone",
        "taken to be the candidate's",
        "speculation off",
        "Ruled out, at 95 % (one-sided)",
        "One boot of each server",
        "reports/run-1",
        "report.md",
    ):
        assert part in text


def test_vacuity_guards_are_named() -> None:
    assert "Vacuity guards - drafting was not seen at concurrency 8" in words(printed(factory.inconclusive()))


@pytest.mark.parametrize("summary", factory.everything(), ids=lambda summary: summary.verdict)
def test_server_text_reaches_the_terminal_as_plain_characters(summary: Summary) -> None:
    text = printed(summary)
    assert all(char.isprintable() or char == "\n" for char in text)
    assert "\u3164" not in text


def test_colour_comes_only_with_a_terminal() -> None:
    terminal = factory.Terminal()
    render(factory.failing(), open_screen(terminal, 80))
    assert terminal.getvalue().startswith("\x1b[1;31mFAIL: ")
    assert "\x1b" not in printed(factory.failing())


def test_many_findings_are_cut_with_a_word_about_the_rest() -> None:
    group = factory.failing().findings[1]
    many = tuple(group.model_copy(update={"key": f"wrong-answer/kind-{index}@candidate"}) for index in range(50))
    text = words(printed(factory.failing().model_copy(update={"findings": many})))
    assert "Findings: 450 findings in 50 groups" in text
    assert "and 30 more groups: see summary.json" in text


def test_an_interrupted_run_says_how_to_go_on() -> None:
    stopped = factory.passing().model_copy(update={"verdict": "interrupted"})
    assert "specfuzz resume reports/run-1" in printed(stopped, directory=Path("reports/run-1"))


def test_a_path_is_never_broken_across_lines() -> None:
    path = Path("/a/very/long/" + "directory/" * 12)
    assert f"  {path}\n" in printed(factory.passing(), directory=path)


def test_a_redacted_run_shows_no_text() -> None:
    text = printed(factory.secret())
    assert factory.PRIVATE not in words(text)
    assert "umbrellas" not in text
    assert "p000012" in text


def test_a_terminal_without_unicode_gets_escapes_instead_of_an_error() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    odd = factory.passing().model_copy(update={"scope": "Fragen auf Chinesisch: 世界"})
    render(odd, open_screen(stream, 80))
    stream.flush()
    assert b"\\u4e16\\u754c" in raw.getvalue()


def test_a_run_that_measured_nothing_still_reports() -> None:
    empty = factory.passing().model_copy(
        update={"cells": (), "reasons": (), "endpoints": (), "preflight": None, "calibration": (), "waivers": ()}
    )
    assert "nothing: no cell was measured" in printed(empty)
