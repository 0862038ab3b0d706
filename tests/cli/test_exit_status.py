"""The exit status tells a script what happened, and one line tells a person."""

from __future__ import annotations

import json
import socket
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Serve, command, specfuzz

DEAD = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--candidate", "localhost:8000"], "--candidate"),
        (["--candidate", DEAD, "--family", "riddles"], "riddles"),
        (["--candidate", DEAD, "--concurrency", "0"], "--concurrency"),
        (["--candidate", DEAD, "--concurrency", "8,x"], "--concurrency"),
        (["--candidate", DEAD, "--config", "/nowhere/specfuzz.toml"], "--config"),
        (["--candidate", DEAD, "--lm-head", "other=bf16"], "--lm-head"),
        (["--candidate", DEAD, "--corpus", "/nowhere/prompts.jsonl"], "/nowhere/prompts.jsonl"),
        (["--candidate", DEAD, "--schedule", "storm"], "--schedule"),
        ([], "--candidate"),
    ],
)
def test_a_mistake_exits_2_with_one_line(tmp_path: Path, arguments: list[str], told: str) -> None:
    result = specfuzz("gate", *arguments, folder=tmp_path / "runs")
    assert result.status == 2
    assert told in result.err
    assert len(result.err.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_nothing_listening_exits_4(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        result = specfuzz("gate", "--candidate", f"http://127.0.0.1:{free.getsockname()[1]}", folder=tmp_path)
    assert result.status == 4
    assert "Traceback" not in result.err + result.out
    assert result.summary()["verdict"] == "unavailable"


def test_tls_on_a_plain_port_exits_4(tmp_path: Path, serve: Serve) -> None:
    url = serve().replace("http://", "https://")
    result = specfuzz("gate", "--candidate", url, folder=tmp_path)
    assert result.status == 4
    assert "http://" in result.out


def test_a_refused_key_exits_4_and_says_which_variable_to_set(tmp_path: Path, serve: Serve) -> None:
    url = serve("serve-sim", "--speculative", "--api-key", "sesame")
    result = specfuzz("gate", "--candidate", url, folder=tmp_path / "none")
    assert result.status == 4
    assert "--api-key-env" in result.out
    result = specfuzz(
        "gate", "--candidate", url, "--api-key-env", "TEST_KEY", folder=tmp_path / "bad", env={"TEST_KEY": "open"}
    )
    assert result.status == 4
    assert "TEST_KEY" in result.out
    result = specfuzz("gate", "--candidate", url, "--api-key-env", "TEST_KEY", folder=tmp_path / "unset")
    assert result.status == 2
    assert "TEST_KEY" in result.err


def test_different_models_exit_3(tmp_path: Path, serve: Serve) -> None:
    candidate = serve("serve-sim", "--speculative", "--model", "one-model")
    reference = serve("serve-sim", "--model", "another-model")
    result = specfuzz("gate", "--candidate", candidate, "--reference", reference, folder=tmp_path)
    assert result.status == 3
    assert [reason["code"] for reason in result.summary()["reasons"]] == ["not-comparable"]
    assert "one-model" in result.out


def test_a_candidate_without_speculation_exits_3(tmp_path: Path, serve: Serve) -> None:
    result = specfuzz("gate", "--candidate", serve(), "--reference", serve(), folder=tmp_path)
    assert result.status == 3
    assert [reason["code"] for reason in result.summary()["reasons"]] == ["no-speculation"]


def test_a_reader_that_goes_away_costs_neither_files_nor_exit_status(tmp_path: Path, serve: Serve) -> None:
    arguments = command("gate", "--candidate", serve(), "--reference", serve(), "--out", str(tmp_path))
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(60) == 3
    assert process.stderr is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    (directory,) = tmp_path.iterdir()
    assert {"summary.json", "report.md", "junit.xml"} <= {path.name for path in directory.iterdir()}


def test_redacted_files_hold_no_text_of_a_prompt_or_an_answer(tmp_path: Path, serve: Serve) -> None:
    ends = "--candidate", serve("serve-sim", "--speculative", "--fault", "last-message-swap"), "--reference", serve()
    size = "--requests", "16", "--control-requests", "8", "--schedule", "closed-loop", "--redact-content"
    result = specfuzz("gate", *ends, *size, folder=tmp_path)
    assert result.status == 1
    history = (result.directory / "history.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = [record for line in history if (record := json.loads(line))["type"] == "prompt"]
    texts = {canary["text"] for prompt in prompts for canary in prompt["canaries"]}
    assert len(texts) > 50
    for name in ("summary.json", "report.md", "junit.xml", "findings.jsonl"):
        shown = (result.directory / name).read_text(encoding="utf-8")
        assert not [text for text in texts if text in shown], name


@pytest.mark.parametrize(
    "content",
    ["", "[[waivers]]\n", '[[waiver]]\nkey = "k"\nreason = "r"\nexpires = "2027-13-01"\n', '[[waiver]]\nkey = "k"\n'],
)
def test_a_waiver_file_that_would_waive_nothing_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(content)
    result = specfuzz("gate", "--candidate", DEAD, "--waivers", str(path), "--dry-run")
    assert result.status == 2
    assert "--waivers" in result.err
    path.write_text('[[waiver]]\nkey = "k"\nreason = "r"\nexpires = 2027-01-01\n')
    assert specfuzz("gate", "--candidate", DEAD, "--waivers", str(path), "--dry-run").status == 0


def test_a_size_that_cannot_pass_is_told_beforehand() -> None:
    result = specfuzz("gate", "--candidate", DEAD, "--requests", "60", "--dry-run")
    assert result.status == 0
    assert "60 a cell can fail but cannot pass, 299 could" in result.out
