"""A run that was killed or interrupted goes on: nothing recorded is lost or sent twice, and the verdict is the same."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Serve, command, specfuzz, start, stop

SIZE = ("--requests", "48", "--control-requests", "12", "--max-wrong-rate", "7%", "--schedule", "closed-loop")


def lines(directory: Path) -> list[dict[str, Any]]:
    raw = (directory / "history.jsonl").read_bytes()
    return [json.loads(line) for line in raw.splitlines(keepends=True) if line.endswith(b"\n")]


def keys(records: list[dict[str, Any]], kind: str) -> list[str]:
    return [record["key"] for record in records if record["type"] == kind]


def begin(folder: Path, candidate: str, reference: str) -> tuple[subprocess.Popen[str], Path]:
    """Start a gate and stop it (SIGSTOP) while it measures at concurrency 8 and has requests in flight."""
    process = subprocess.Popen(
        command("gate", "--candidate", candidate, "--reference", reference, *SIZE, "--out", str(folder)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while True:
        found = list(folder.glob("*/history.jsonl"))
        if found and found[0].read_bytes().count(b"c8/closed-loop#0/measure0/candidate/1") >= 2:
            process.send_signal(signal.SIGSTOP)
            if in_flight(lines(found[0].parent)):
                return process, found[0].parent
            process.send_signal(signal.SIGCONT)
        with contextlib.suppress(subprocess.TimeoutExpired):  # to read on and on would take a core from the run
            pytest.fail(f"ended with {process.wait(0.05)}: {process.communicate()[0]}")


def in_flight(records: list[dict[str, Any]]) -> set[str]:
    return set(keys(records, "sent")) - set(keys(records, "done"))


def pair(serve: Serve, *fault: str) -> tuple[str, str]:
    return serve("serve-sim", "--speculative", *fault), serve("serve-sim")


def check_resumed(directory: Path, before: list[dict[str, Any]], folder: Path) -> dict[str, Any]:
    result = specfuzz("resume", str(directory))
    after = lines(directory)
    assert after[: len(before)] == before
    assert max(Counter(keys(after, "sent")).values()) == 1
    assert max(Counter(keys(after, "done")).values()) == 1
    lost = in_flight(before)
    summary: dict[str, Any] = json.loads((directory / "summary.json").read_text())
    assert summary["lost"] == len(lost) > 0
    assert not lost & set(keys(after, "done"))
    assert summary["exit_status"] == result.status
    assert summary["resumed"] == 1
    measured = next(cell for cell in summary["cells"] if cell["concurrency"] == 8)
    assert measured["rate"]["n"] >= 48 or summary["verdict"] == "fail"
    return summary


def test_kill_9_and_resume_end_in_the_verdict_of_an_unbroken_run(tmp_path: Path, serve: Serve) -> None:
    for name, fault in (("clean", ()), ("faulty", ("--fault", "last-message-swap", "--rate", "0.2"))):
        unbroken = specfuzz(
            "gate",
            "--candidate",
            (ends := pair(serve, *fault))[0],
            "--reference",
            ends[1],
            *SIZE,
            folder=tmp_path / f"{name}-a",
        )
        process, directory = begin(tmp_path / f"{name}-b", *pair(serve, *fault))
        process.kill()
        process.communicate()
        summary = check_resumed(directory, lines(directory), tmp_path)
        assert summary["verdict"] == unbroken.summary()["verdict"] == ("fail" if fault else "pass")


def test_ctrl_c_exits_130_with_a_partial_report_and_can_be_resumed(tmp_path: Path, serve: Serve) -> None:
    process, directory = begin(tmp_path / "runs", *pair(serve))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in out
    assert "INTERRUPTED" in out
    assert "specfuzz resume" in out
    partial = json.loads((directory / "summary.json").read_text())
    assert partial["verdict"] == "interrupted"
    assert (directory / "report.md").exists()
    assert check_resumed(directory, lines(directory), tmp_path)["verdict"] == "pass"


def test_a_torn_last_line_is_no_obstacle(tmp_path: Path, serve: Serve) -> None:
    process, directory = begin(tmp_path / "runs", *pair(serve))
    process.kill()
    process.communicate()
    with (directory / "history.jsonl").open("ab") as file:
        file.write(b'{"type":"done","key":"cand')
    before = lines(directory)
    assert check_resumed(directory, before, tmp_path)["verdict"] == "pass"


def test_judging_again_gives_the_same_summary(tmp_path: Path, serve: Serve) -> None:
    candidate, reference = pair(serve, "--fault", "token-noise")
    first = specfuzz("gate", "--candidate", candidate, "--reference", reference, *SIZE, folder=tmp_path / "runs")
    before = first.summary()
    again = specfuzz("judge", str(first.directory), "--json")
    assert again.status == first.status == 1
    assert json.loads(again.out) == before


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    for name in ("resume", "judge", "report"):
        result = specfuzz(name, str(tmp_path))
        assert result.status == 2
        assert len(result.err.strip().splitlines()) == 1


def test_a_finished_run_needs_no_server_to_be_resumed(tmp_path: Path) -> None:
    servers = [start("serve-sim", "--speculative", "--port", "0"), start("serve-sim", "--port", "0")]
    ends = [url for _, url in servers]
    first = specfuzz("gate", "--candidate", ends[0], "--reference", ends[1], *SIZE, folder=tmp_path)
    for process, _ in servers:
        stop(process)
    again = specfuzz("resume", str(first.directory))
    assert again.status == first.status == 0
    assert specfuzz("judge", str(first.directory)).status == 0


def test_a_run_that_goes_on_with_another_boot_of_a_server_never_passes(tmp_path: Path, serve: Serve) -> None:
    old, url = start("serve-sim", "--speculative", "--port", "0")
    process, directory = begin(tmp_path, url, serve())
    process.kill()
    process.communicate()
    stop(old)
    killed = specfuzz("judge", str(directory))
    assert killed.status == 130
    assert "specfuzz resume" in killed.out
    other, _ = start(
        "serve-sim", "--speculative", "--lm-head", "nvfp4", "--seed", "9", "--port", url.rpartition(":")[2]
    )
    result = specfuzz("resume", str(directory), "--json")
    stop(other)
    summary = json.loads(result.out)
    assert result.status == 3
    assert "restarted" in [reason["code"] for reason in summary["reasons"]]
