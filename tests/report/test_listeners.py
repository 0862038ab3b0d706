"""Whoever wants to hear of a run drops a module in: nothing else is touched."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fuzzer.events import RunStarted
from fuzzer.report import listeners
from fuzzer.report.listeners import Manner, listening

from . import factory

REPORTER = """
from contextlib import contextmanager

@contextmanager
def open_listener(manner):
    heard = []
    yield heard.append
    print("heard", len(heard), "quiet" if manner.quiet else "loud")
"""


def test_a_reporter_that_is_dropped_in_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dropped_in.py").write_text(REPORTER, encoding="utf-8")
    monkeypatch.setattr(listeners, "__path__", [*listeners.__path__, str(tmp_path)])
    with listening(Manner(quiet=True)) as heard:
        assert len(heard) >= 4
        for listener in heard:
            listener(RunStarted("r", str(tmp_path), factory.plan(), resumed=False))
    sys.modules.pop(f"{listeners.__name__}.dropped_in")
    assert capsys.readouterr().out == "heard 1 quiet\n"


def test_files_are_written_before_anybody_prints() -> None:
    names = [opener.__module__.rpartition(".")[2] for opener in listeners.openers()]
    assert names[-1] == "console"
    assert {"files", "status"} <= set(names[:-1])
