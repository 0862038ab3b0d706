"""Real servers and the real command line, in processes of their own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Serve = Callable[..., str]


@dataclass(frozen=True)
class Result:
    """What a command left: its exit status, what it printed, and the run directory it made."""

    status: int
    out: str
    err: str
    folder: Path

    @property
    def directory(self) -> Path:
        """The only run directory below the output folder."""
        (directory,) = (path for path in self.folder.iterdir() if path.is_dir())
        return directory

    def summary(self) -> dict[str, Any]:
        """``summary.json`` of that run."""
        loaded: dict[str, Any] = json.loads((self.directory / "summary.json").read_text(encoding="utf-8"))
        return loaded


def command(*arguments: str) -> list[str]:
    """The command line as a fresh process runs it."""
    return [sys.executable, "-m", "fuzzer", *arguments]


def specfuzz(*arguments: str, folder: Path | None = None, env: dict[str, str] | None = None) -> Result:
    """Run the command to its end."""
    out = ["--out", str(folder)] if folder is not None else []
    done = subprocess.run(
        command(*arguments, *out),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "COLUMNS": "120", **(env or {})},
    )
    return Result(done.returncode, done.stdout, done.stderr, folder or Path())


def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
    """Start a serving command and wait for the address that it prints."""
    process = subprocess.Popen(command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if match := re.search(r"http://\S+", line):
            return process, match[0]
    raise AssertionError(f"{arguments} ended with {process.wait()} before it served")


def stop(process: subprocess.Popen[str]) -> None:
    """End a serving command."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(10)
    process.kill()
    process.wait()
    if process.stderr is not None:
        process.stderr.close()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts ``specfuzz serve-sim`` (or another serving command) as often as asked; returns the address."""
    running: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> str:
        process, url = start(*(arguments or ("serve-sim",)), "--port", "0")
        running.append(process)
        return url

    yield begin
    for process in running:
        stop(process)
