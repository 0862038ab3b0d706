"""Hostile text is inert in everything that a run leaves or prints, wherever a user or a server has a say."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

from fuzzer.finding import Finding
from fuzzer.inert import inert_json, visible
from fuzzer.manifest import FINDINGS
from fuzzer.report.files import load_summary, write_reports
from fuzzer.report.render import open_screen, render
from fuzzer.report.sections import LIMIT
from fuzzer.run import _write
from fuzzer.summary import Summary

from .test_markdown import everywhere, harmless
from .test_page import inert, run

FRAGMENTS = (
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</style>",
    "javascript:alert(1)", "{{ 7*7 }}", "{% raw %}", "]]>", "<![CDATA[", "<!--", "-->", "&lt;", "\u202egnp.exe\u202c",
    "\u2066\u2069", "\x1b[2J\x1b]0;owned\x07", "\x9b31m", "\u200b", "\ufeff", "\x00", "\ud800", "\ufffe", "```\n# x",
    "[a](http://evil.example)", "![i](http://evil.example/p.png)", "@everyone", "#1", "GH-1", "| a |\n|---|\n",
    "<details>",
    "$\\href{x}{y}$", "[bold]", ":tada:", "=cmd|'/C calc'!A0", "[[ATTACHMENT|/etc/passwd]]", "\r\n", "a" * 300,
)  # fmt: skip
TEXTS = (
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=12)), min_size=1, max_size=6)
    .map("".join)
    .filter(bool)
)


def leave(folder: Path, hostile: str) -> tuple[Path, Summary]:
    """A run directory whose history, findings and summary hold the text wherever somebody else has a say."""
    known = run(folder, said=hostile, asked=hostile)
    summary = everywhere(hostile)
    summary = summary.model_copy(update={"findings": (*known.findings, *summary.findings)})
    shown = hostile.encode("utf-8", "replace").decode()
    found = known.findings[0].example.model_copy(update={"summary": shown, "evidence": {"excerpt": shown}})
    with (folder / FINDINGS).open("w", encoding="utf-8") as file:
        _write(file, found)
    write_reports(folder, summary)
    return folder, summary


def check(folder: Path, summary: Summary) -> None:
    page, text, xml, data, findings = (
        (folder / name).read_text(encoding="utf-8")
        for name in ("report.html", "report.md", "junit.xml", "summary.json", "findings.jsonl")
    )
    inert(page)
    harmless(text)
    assert len(text) < LIMIT
    JUnitXml.fromstring(xml.encode())
    for name, whole in (("page", page), ("text", text), ("xml", xml), ("data", data), ("findings", findings)):
        strange = {char for char in whole if not visible(char) and char not in "\n\t" and char != "\u200b"}
        assert not strange, (name, strange)
    ET.fromstring(xml.encode())  # noqa: S314 - our own output
    load_summary(folder)
    assert all(Finding.model_validate_json(line) for line in findings.splitlines())
    out = io.StringIO()
    render(summary, open_screen(out, 80))
    assert all(visible(char) or char == "\n" for char in out.getvalue())


@settings(max_examples=10, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(hostile=TEXTS)
def test_any_mixture_is_inert_in_every_format(hostile: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    check(*leave(tmp_path_factory.mktemp("hostile"), hostile))


def test_all_of_it_at_once_and_a_megabyte_of_it(tmp_path: Path) -> None:
    hostile = "".join(FRAGMENTS)
    folder, summary = leave(tmp_path, (hostile * (1_000_000 // len(hostile) + 1))[:1_000_000])
    check(folder, summary)
    assert (folder / "report.html").stat().st_size < 3_000_000


@given(text=st.text())
def test_inert_json_is_the_same_data(text: str) -> None:
    shown = inert_json(json.dumps({"a": text}, ensure_ascii=False, indent=1))
    assert json.loads(shown) == {"a": text}
    assert all(visible(char) or char == "\n" for char in shown)


def test_a_table_saved_from_a_hostile_run_is_a_table(tmp_path: Path) -> None:
    from fuzzer.report.export import export_run

    from .test_export import recorded

    recorded(tmp_path, "".join(FRAGMENTS))
    for path, rows in export_run(tmp_path, ("csv",), tmp_path / "tables"):
        with path.open(encoding="utf-8", newline="") as file:
            assert len(list(csv.reader(file))) == rows + 1
