"""The exit status tells a script what happened, and one line tells a person."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tests.cli.conftest import Serve, specfuzz

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
