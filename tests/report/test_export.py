"""Exchanges, prompts and findings as tables: whole, exact in Parquet, harmless in a spreadsheet, and streamed."""

from __future__ import annotations

import csv
import tracemalloc
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fuzzer.errors import HistoryError
from fuzzer.manifest import FINDINGS, HISTORY, new_manifest, write_manifest
from fuzzer.report import export
from fuzzer.report.export import batches, export_run
from tests.cli.conftest import specfuzz

from . import factory
from .test_page import run


def recorded(folder: Path, said: str = "the other answer", *, redacted: bool = False) -> Path:
    run(folder, said=said)
    write_manifest(folder, new_manifest(factory.plan().model_copy(update={"redact_content": redacted}), "r"))
    return folder


def test_both_formats_hold_every_exchange_prompt_and_finding(tmp_path: Path) -> None:
    recorded(tmp_path)
    done = specfuzz("export", str(tmp_path), "--csv", "--parquet", "--out", str(tmp_path / "tables"))
    assert done.status == 0
    assert "exchanges.parquet: 3 rows" in done.out
    table = pq.read_table(tmp_path / "tables" / "exchanges.parquet")
    rows = table.to_pylist()
    assert [row["arm"] for row in rows] == ["candidate", "candidate", "reference"]
    assert rows[0]["text"] == "the other answer"
    assert rows[0]["end_ns"] - rows[0]["sent_ns"] == 9_000_000
    assert rows[0]["prompt_tokens"] is None
    with (tmp_path / "tables" / "exchanges.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == table.column_names
    assert [line["key"] for line in lines] == [row["key"] for row in rows]
    prompts = pq.read_table(tmp_path / "tables" / "prompts.parquet").to_pylist()
    assert [prompt["id"] for prompt in prompts] == ["p000000", "p000001"]
    assert "What is it?" in prompts[0]["messages"]
    found = pq.read_table(tmp_path / "tables" / "findings.parquet").to_pylist()
    assert (found[0]["kind"], found[0]["donor_prompt"], found[0]["exchange"]) == ("bleed", "p000001", rows[0]["key"])


@pytest.mark.parametrize("said", ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", '","=1+1', "a\r\nb;\x1b[2J \u202e", "\ud800"])
def test_a_spreadsheet_runs_nothing_and_parquet_is_exact(tmp_path: Path, said: str) -> None:
    recorded(tmp_path, said)
    dict(export_run(tmp_path, ("csv", "parquet"), tmp_path))
    exact = said.encode("utf-8", "replace").decode()
    assert pq.read_table(tmp_path / "exchanges.parquet").to_pylist()[0]["text"] == exact
    with (tmp_path / "exchanges.csv").open(encoding="utf-8", newline="") as file:
        text = next(csv.DictReader(file))["text"]
    assert text.removeprefix("'") == exact
    assert not text.startswith(("=", "+", "-", "@"))


def test_a_redacted_run_exports_no_text(tmp_path: Path) -> None:
    recorded(tmp_path, factory.PRIVATE, redacted=True)
    for path, _ in export_run(tmp_path, ("csv",), tmp_path / "tables"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("umbrellas", "What is it?", "the other answer"))


def test_a_long_history_is_never_held_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "CHARACTERS", 1_000_000)
    tracemalloc.start()
    sizes = [len(batch) for batch in batches({"text": str(n) * 50_000} for n in range(200))]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(sizes) == 200
    assert peak < 6_000_000
    assert [len(batch) for batch in batches({"n": n} for n in range(2_500))] == [1000, 1000, 500]


def test_mistakes_are_told_in_a_line(tmp_path: Path) -> None:
    recorded(tmp_path)
    assert "--csv, --parquet or both" in specfuzz("export", str(tmp_path)).err
    (tmp_path / FINDINGS).write_text("{}\n", encoding="utf-8")
    with pytest.raises(HistoryError, match="line 1: not a finding; judge the run again"):
        dict(export_run(tmp_path, ("csv",), tmp_path))
    assert not list(tmp_path.glob(".findings*"))
    (tmp_path / HISTORY).unlink()
    assert specfuzz("export", str(tmp_path), "--csv").status == 2
