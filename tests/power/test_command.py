"""The command as a user runs it, on results that are there already, or with runs that are over at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from fuzzer.power.jobs import Row
from fuzzer.power.results import append, load, writing
from tests.cli.conftest import command, specfuzz

from .factory import row


def kept(path: Path, *rows: Row) -> Path:
    with writing(path) as file:
        for one in rows:
            append(file, one)
    return path


@pytest.mark.parametrize("option", ["--out", "--markdown"])
def test_a_place_that_cannot_be_written_is_said_before_anything_is_measured(tmp_path: Path, option: str) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file" / "below"):
        others = {"--out": str(tmp_path / "rows.jsonl")} | {option: str(place)}
        result = specfuzz(
            "power", "--faults", "spec-off", "--seeds", "1", *(part for pair in others.items() for part in pair)
        )
        assert result.status == 2
        assert result.err.splitlines()[-1].startswith(f"specfuzz: {option}: ")
        assert str(place) in result.err
        assert "Traceback" not in result.err
        assert not (tmp_path / "rows.jsonl").exists()


def test_a_second_command_on_the_same_results_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    with writing(out):
        result = specfuzz("power", "--faults", "spec-off", "--seeds", "1", "--out", str(out))
    assert result.status == 2
    assert result.err.splitlines()[-1] == (
        f"specfuzz: {out}: another process is writing this results file; stop it before resuming"
    )


def test_the_exit_status_says_whether_something_falls_short(tmp_path: Path) -> None:
    good = kept(tmp_path / "good.jsonl", row("collapse", 0), row("collapse", 1))
    missed = kept(tmp_path / "missed.jsonl", row("collapse", 0), row("collapse", 1, found=False, exit=0))
    arguments = ("power", "--faults", "collapse", "--seeds", "2", "--out")
    assert specfuzz(*arguments, str(good)).status == 0
    result = specfuzz(*arguments, str(missed))
    assert result.status == 1
    assert result.out.strip().splitlines()[-1] == "Falls short: collapse under closed-loop is found in 1/2."
    result = specfuzz(*arguments, str(missed), "--json")
    assert result.status == 1
    assert json.loads(result.out)["falls_short"] == ["collapse under closed-loop is found in 1/2"]


def test_the_help_says_what_the_exit_status_means() -> None:
    told = " ".join(specfuzz("power", "--help").out.split())
    assert "Exit status: 0 nothing falls short, 1 something does" in told


def test_lines_that_cannot_be_read_are_told_in_one_line(tmp_path: Path) -> None:
    out = kept(tmp_path / "rows.jsonl", row("collapse", 0))
    with out.open("ab") as file:
        file.write(b"\xff\xfe\n")
    result = specfuzz("power", "--faults", "collapse", "--seeds", "1", "--out", str(out))
    assert result.status == 0
    assert result.err.splitlines()[0] == (
        f"{out}: lines that are no whole row are left out (2); their runs count as not done"
    )


def test_ctrl_c_keeps_the_rows_and_leaves_nothing_temporary(tmp_path: Path) -> None:
    temporary, out = tmp_path / "temporary", tmp_path / "rows.jsonl"
    temporary.mkdir()
    arguments = command("power", "--faults", "spec-off", "--seeds", "400", "--out", str(out))
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("1/400 "):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130, rest
    assert "the same command goes on from here" in rest
    assert len(load(out).rows) >= 1
    assert list(temporary.iterdir()) == []
