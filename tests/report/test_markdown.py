from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from fuzzer.finding import Donor
from fuzzer.report.markdown import markdown
from fuzzer.report.mdtext import code, line, prose
from fuzzer.report.sections import LIMIT
from fuzzer.summary import EndpointSummary, Reason, Summary

from . import factory

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OUR_HTML = re.compile(r"</?details>|</?summary>|</?span>|\s+|[\w :.,]+")
ACTIVE = re.compile(r"://|www\.|@\w|#\d|\bGH-\d", re.IGNORECASE)


def tokens(text: str) -> Iterator[Token]:
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


def rendered(text: str) -> str:
    """What a reader sees: all text and code, invisible spaces left out."""
    kinds = ("text", "code_inline")
    return "".join(token.content for token in tokens(text) if token.type in kinds).replace("\u200b", "")


def harmless(text: str) -> None:
    """No link, image, foreign HTML, mention or issue number works anywhere in it."""
    for token in tokens(text):
        assert token.type not in ("link_open", "image", "fence", "code_block", "hr"), token
        if token.type in ("html_inline", "html_block"):
            assert OUR_HTML.sub("", token.content) == "", token.content
        if token.type == "text":
            assert not ACTIVE.search(token.content), token.content


def everywhere(text: str) -> Summary:
    """A summary that holds a hostile text wherever a user or a server has a say."""
    failing = factory.failing()
    cell = factory.cell(3, 336, status="open", reasons=(text,)).model_copy(
        update={"candidate": text, "lm_head": text, "key": text}
    )
    finding = factory.bleed(text, text).model_copy(update={"exchange": text, "prompt": text, "cell": text})
    group = factory.group(finding, 2, breaks_gate=True).model_copy(update={"key": text, "cells": (text,)})
    end = EndpointSummary(
        name=text, role="candidate", url=text, engine=text, model=text, lm_head=text, dropped_parameters=(text,)
    )
    return failing.model_copy(
        update={
            "reasons": (Reason(code="wrong-rate", cell=text, message=text),),
            "cells": (cell, *failing.cells),
            "findings": (group,),
            "endpoints": (end,),
            "scope": text,
            "vacuity": (text,),
            "waivers": tuple(w.model_copy(update={"key": text, "reason": text}) for w in failing.waivers),
            "calibration": tuple(f.model_copy(update={"family": text}) for f in failing.calibration),
            "run_id": text,
        }
    )


def test_the_verdict_comes_first_and_the_details_last() -> None:
    text = markdown(factory.failing())
    order = [
        "## specfuzz: FAIL",
        "**FAIL: another request's content",
        "### Failures by concurrency and lm_head precision",
        "### Findings: 14 findings in 3 groups",
        "### Ruled out",
        "### Scope",
        "<details><summary>What the numbers rest on",
        "<summary>Calibration",
    ]
    assert sorted(order, key=text.index) == order


@pytest.mark.parametrize("summary", factory.everything(), ids=lambda summary: summary.verdict)
def test_every_table_row_has_as_many_cells_as_its_head(summary: Summary) -> None:
    tables: list[list[int]] = []
    for token in tokens(markdown(summary)):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append(0)
        elif token.type in ("th_open", "td_open"):
            tables[-1][-1] += 1
    assert all(len(set(widths)) == 1 for widths in tables)
    assert [len(widths) for widths in tables[-2:]] == [1 + len(summary.cells)] * 2


@pytest.mark.parametrize(
    "text",
    [
        factory.HOSTILE,
        "a|b\\|c",
        "`` ` ``",
        "\\",
        "# h",
        "    - x",
        "_www.a.b GH-1",
        "_x_ *y* ~~z~~ $a$ <!-- <details>",
        "|",
    ],
)
def test_hostile_text_is_shown_and_never_obeyed(text: str) -> None:
    report = markdown(everywhere(text))
    harmless(report)
    html = "".join(token.content for token in tokens(report) if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>") > 1
    assert all(char.isprintable() or char == "\n" for char in report)


@given(st.text(alphabet=st.characters(codec="utf-8") | st.sampled_from("\\`*_~[]()<>|@#&$!:/.w\n1a"), max_size=40))
def test_any_text_reads_back_as_it_was_cleaned(text: str) -> None:
    from fuzzer.report.text import clean

    shown = clean(text)
    sentence = f"x {prose(text)} x"
    harmless(sentence)
    assert rendered(sentence).replace("<span>", "") == f"x {shown} x"
    table = f"|a|b|\n|---|---|\n|{code(text)}|{prose(text)}|\n"
    harmless(table)
    assert [token.type for token in tokens(table)].count("td_open") == 2


@pytest.mark.parametrize(
    "text", ["# h", "- x", "+ x", "1. x", "12) x", "---", "===", "    code", "> q", "-", "```", "~~~"]
)
def test_a_line_begins_no_block_of_its_own(text: str) -> None:
    kinds = {token.type for token in tokens(f"- {line(text)}\n\nbefore\n\n{line(text)}\n")}
    assert kinds == {
        "bullet_list_open", "list_item_open", "paragraph_open", "inline", "text", "paragraph_close", "list_item_close",
        "bullet_list_close",
    }  # fmt: skip
    assert text.strip() in rendered(line(text))


def test_figures_are_there() -> None:
    text = rendered(markdown(factory.two_heads()))
    for figure in ("111/304", "36.5 %", "1/304", "0.33 %", "<= 41.3 %", "7.7e-34", "p = 4.4e-32", "4.75", "6/6 blocks"):
        assert figure in text


def test_bleed_names_its_donor_with_ids_fit_to_be_copied() -> None:
    text = markdown(factory.failing())
    assert "donor: prompt `p000012`, exchange `measure/b0/12`, channel history, concurrent; span `" in text
    nobody = factory.bleed().model_copy(
        update={"donor": Donor(prompt=None, channel="cohort", span="KITE", when="unconditioned")}
    )
    lost = factory.failing().model_copy(update={"findings": (factory.group(nobody),)})
    assert "donor: nobody's prompt, exchange unknown, channel cohort, unconditioned; span `KITE`" in markdown(lost)


def test_a_comment_fits_however_long_the_run() -> None:
    failing = factory.failing()
    cells = tuple(
        factory.cell(3, 336, status="open", concurrency=level, lm_head=f"head-{head}", reasons=("r" * 300,))
        for level in range(2, 42)
        for head in range(12)
    )
    groups = tuple(
        failing.findings[0].model_copy(update={"key": f"bleed/concurrent/{index}@candidate"}) for index in range(400)
    )
    reasons = tuple(Reason(code="wrong-rate", cell=cell.key, message="m" * 400) for cell in cells)
    text = markdown(failing.model_copy(update={"cells": cells, "findings": groups, "reasons": reasons}))
    assert len(text) < LIMIT
    assert text.startswith("## specfuzz: FAIL")
    assert re.search(r"\.\.\. and \d+ more: see summary.json", text)
    assert "### Findings" in text
    assert text.count("<details>") == text.count("</details>")


def test_a_redacted_run_shows_no_text() -> None:
    assert "umbrellas" not in markdown(factory.secret())
