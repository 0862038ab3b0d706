"""``status.json``: the live figures for machines, whole at any moment and written at a bounded rate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzzer.events import (
    BlockJudged,
    CellDecided,
    Event,
    ExchangeDone,
    ExchangeSent,
    FindingSeen,
    LoadSeen,
    PreflightDone,
    RunFinished,
    RunStarted,
    StageDone,
    StageStarted,
)
from fuzzer.report.status import Status, StatusFile
from fuzzer.summary import Preflight

from . import factory

C8 = "candidate/nvfp4/c8/closed-loop"


class Watched:
    """A status file on a clock of its own."""

    def __init__(self, folder: Path, *, redacted: bool = False) -> None:
        self.path = folder / "status.json"
        self.now = 100.0
        self.file = StatusFile(lambda: self.now)
        plan = factory.plan().model_copy(update={"redact_content": redacted})
        self.hear(RunStarted("run-1", str(folder), plan, resumed=False))

    def hear(self, *events: Event, after: float = 0.0) -> None:
        self.now += after
        for event in events:
            self.file(event)

    def read(self) -> Status:
        return Status.model_validate_json(self.path.read_text(encoding="utf-8"))


def test_it_says_how_the_run_stands(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    assert watched.read().state == "running"
    assert {cell.status for cell in watched.read().cells} == {"to-come"}
    watched.hear(PreflightDone(Preflight(comparable=True, planned_seconds=800.0), "planned"))
    watched.hear(StageStarted(C8, "candidate", "measure", 0, 48, 8), *[ExchangeSent("candidate", "measure")] * 9)
    watched.hear(ExchangeDone("candidate", "measure", "ok"), LoadSeen("candidate", 8.0, 2.0, 0.25), after=2.0)
    watched.hear(StageDone(factory.stage(drafts=100, accepted=190)), FindingSeen(factory.bleed("KITE\x1b[2J")))
    watched.hear(BlockJudged(C8, 0, 3, 48, 96), after=8.0)
    status = watched.read()
    assert (status.cells_done, status.cells_total, status.in_flight, status.exchanges) == (0, 3, 8, 1)
    assert status.elapsed_seconds == 10.0
    assert status.planned_seconds == 800.0
    assert status.eta_seconds is not None
    assert status.acceptance_length == 2.9
    assert status.servers["candidate"].waiting == 2.0
    assert status.stage is not None
    assert (status.stage.requests, status.stage.done) == (48, 1)
    cell = next(cell for cell in status.cells if cell.key == C8)
    assert (cell.status, cell.judged, cell.failures, cell.seconds_left) == ("running", 48, 3, 10.0)
    assert status.findings.certain == 1
    assert status.findings.latest is not None
    assert status.findings.latest.summary == "KITE\\x1b[2J"
    watched.hear(CellDecided(C8, "fail", "above p0"), RunFinished(factory.failing()), after=2.0)
    ended = watched.read()
    assert (ended.state, ended.verdict, ended.exit_status, ended.cells_done) == ("finished", "fail", 1, 1)
    assert ended.eta_seconds == 0


def test_it_is_written_once_a_second_at_most_and_leaves_no_other_file(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    first = watched.path.read_text(encoding="utf-8")
    for _ in range(500):
        watched.hear(ExchangeSent("candidate", "measure"), after=0.001)
    assert watched.path.read_text(encoding="utf-8") == first
    watched.hear(ExchangeSent("candidate", "measure"), after=0.6)
    assert watched.read().in_flight == 501
    assert [path.name for path in tmp_path.iterdir()] == ["status.json"]


def test_a_run_without_a_verdict_says_that_it_stopped(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.file.close()
    assert watched.read().state == "stopped"


def test_a_directory_that_goes_away_stops_no_run(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    watched = Watched(tmp_path / "gone")
    watched.path.unlink()
    watched.path.parent.rmdir()
    watched.hear(ExchangeSent("candidate", "measure"), after=5.0)
    assert not watched.path.exists()


@pytest.mark.parametrize("redacted", [True, False])
def test_a_redacted_run_shows_no_text(tmp_path: Path, redacted: bool) -> None:
    watched = Watched(tmp_path, redacted=redacted)
    watched.hear(FindingSeen(factory.bleed(f"holds {factory.PRIVATE!r}")), after=2.0)
    assert ("umbrellas" in watched.path.read_text(encoding="utf-8")) is not redacted


def test_what_a_server_sent_stays_text_in_it(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.hear(FindingSeen(factory.bleed(factory.HOSTILE, factory.HOSTILE)), after=2.0)
    raw = watched.path.read_bytes()
    assert raw.isascii()
    latest = json.loads(raw)["findings"]["latest"]
    assert latest["summary"].isprintable()
