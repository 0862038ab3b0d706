from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fuzzer.errors import HistoryError
from fuzzer.report.files import load_summary, summary_json, write_reports
from fuzzer.report.redact import redact
from fuzzer.summary import Summary

from . import factory


def test_the_four_reports_are_written_and_nothing_else(tmp_path: Path) -> None:
    paths = write_reports(tmp_path / "run", factory.failing())
    assert [path.name for path in paths] == ["summary.json", "report.md", "junit.xml", "report.html"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "junit.xml",
        "report.html",
        "report.md",
        "summary.json",
    ]
    assert paths[1].read_text().startswith("## specfuzz: FAIL")


@pytest.mark.parametrize("summary", [factory.passing(), factory.two_heads(), factory.no_reference()])
def test_a_summary_reads_back_as_it_was(tmp_path: Path, summary: Summary) -> None:
    path = write_reports(tmp_path, summary)[0]
    assert load_summary(tmp_path) == summary
    assert load_summary(path) == summary


def test_half_surrogates_from_a_server_do_not_lose_the_summary(tmp_path: Path) -> None:
    write_reports(tmp_path, factory.failing())
    loaded = load_summary(tmp_path)
    assert loaded.cells == factory.failing().cells
    assert " ? \ufffe " in loaded.findings[0].example.summary


def test_a_redacted_run_leaves_no_text_in_any_file(tmp_path: Path) -> None:
    for path in write_reports(tmp_path, factory.secret()):
        assert "umbrellas" not in path.read_text()
    assert load_summary(tmp_path) == redact(factory.secret())


def test_a_report_that_cannot_be_finished_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_reports(tmp_path, factory.passing())

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(HistoryError, match="No space left on device"):
        write_reports(tmp_path, factory.failing())
    assert load_summary(tmp_path) == factory.passing()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="cannot write reports"):
        write_reports(tmp_path / "file" / "run", factory.passing())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "EOF"),
        (b"{", "EOF"),
        (b"\xff\xfe", "summary"),
        (b"[]", "summary"),
        (b'"\\ud800"', "summary"),
        (b"{}", "tool_version: Field required"),
        (b'{"schema_version": 99}', "schema version 99 is newer than 1"),
        (b'{"schema_version": "\\u001b[31m"}', "schema_version"),
        (b"[" * 100_000, "summary"),
    ],
)
def test_what_is_no_summary_is_told_in_a_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "summary.json").write_bytes(content)
    with pytest.raises(HistoryError, match="is no summary of specfuzz") as caught:
        load_summary(tmp_path)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_missing_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="No such file"):
        load_summary(tmp_path / "nowhere")
    with pytest.raises(HistoryError, match="No such file"):
        load_summary(tmp_path)


def test_the_json_for_standard_output_is_the_file(tmp_path: Path) -> None:
    path = write_reports(tmp_path, factory.failing())[0]
    assert path.read_text(encoding="utf-8") == summary_json(factory.failing())
    assert json.loads(summary_json(factory.passing()))["verdict"] == "pass"
