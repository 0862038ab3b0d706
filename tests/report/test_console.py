from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from fuzzer.events import (
    BlockJudged,
    CellDecided,
    Event,
    ExchangeDone,
    FindingSeen,
    PreflightDone,
    RunFinished,
    RunStarted,
    StageStarted,
)
from fuzzer.report.console import Console
from fuzzer.summary import Preflight, Summary

from . import factory
from .factory import Terminal

C8 = "candidate/nvfp4/c8/closed-loop"


def events(summary: Summary) -> list[Event]:
    ready = Preflight(comparable=True, warnings=("careful\x1b[31m",), planned_requests=1700, planned_seconds=800.0)
    return [
        RunStarted(summary.run_id, "reports/run-1", factory.plan(), resumed=False),
        PreflightDone(ready, "1,700 requests, about 13 min"),
        StageStarted(C8, "candidate", "measure", 0, 48, 8),
        ExchangeDone("candidate", "measure", "ok"),
        ExchangeDone("candidate", "filler", "timeout-read"),
        FindingSeen(factory.bleed("it holds 'KITE\x1b[2J'")),
        FindingSeen(factory.bleed("a second one of the same key")),
        FindingSeen(factory.finding("corruption", "loop", "likely only", certainty="likely")),
        BlockJudged(C8, 0, 2, 48, 331),
        CellDecided(C8, "fail", "above p0"),
        RunFinished(summary),
    ]


def told(
    summary: Summary, err: io.StringIO, *, json: bool = False, upto: int | None = None, width: int = 100
) -> tuple[str, str]:
    out = io.StringIO()
    with Console(out=out, err=err, json=json, width=width, clock=lambda: 0.0) as console:
        for event in events(summary)[:upto]:
            console(event)
    return out.getvalue(), err.getvalue()


def test_without_a_terminal_only_the_plan_line_precedes_the_report() -> None:
    out, err = told(factory.failing(), io.StringIO())
    assert err == "1,700 requests, about 13 min\n"
    assert "FAIL: " in out.splitlines()[0]
    assert "reports/run-1" in out


def test_a_build_log_that_forces_colour_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, err = told(factory.passing(), io.StringIO())
    assert err == "1,700 requests, about 13 min\n"


def test_json_leaves_standard_output_alone() -> None:
    out, err = told(factory.failing(), Terminal(), json=True)
    assert out == ""
    assert "FAIL: another request's content" in err


def test_a_terminal_shows_progress_on_standard_error_only() -> None:
    out, err = told(factory.failing(), Terminal())
    assert "48/331 judged, 2 failed" in err
    assert "judged, 2 failed" not in out
    assert "run 20261104-101500-5f3a in reports/run-1" in err
    assert "1,700 requests, about 13 min" in err
    assert "careful\\x1b[31m" in err


def test_a_certain_finding_is_told_at_once_and_once_a_key() -> None:
    _, err = told(factory.failing(), Terminal())
    assert err.count("certain bleed (bleed/concurrent/history@candidate)") == 1
    assert "\\x1b[2J" in err
    assert "likely only" not in err


def test_a_redacted_run_tells_findings_without_text() -> None:
    plan = factory.plan().model_copy(update={"redact_content": True})
    err = Terminal()
    with Console(out=io.StringIO(), err=err, width=100) as console:
        console(RunStarted("r", "reports/r", plan, resumed=True))
        console(FindingSeen(factory.bleed(f"it holds {factory.PRIVATE!r}")))
    assert "certain bleed" in err.getvalue()
    assert "umbrellas" not in err.getvalue()
    assert "resumed run r" in err.getvalue()


def test_an_interrupted_run_gives_the_cursor_back() -> None:
    _, err = told(factory.failing(), Terminal(), upto=5)
    assert err.rindex("\x1b[?25h") > err.rindex("\x1b[?25l")


def picture(steps: Callable[[Console], None], now: list[float], width: int = 100) -> str:
    """The last frame on a terminal, without its control sequences."""
    err = Terminal()
    with Console(out=io.StringIO(), err=err, width=width, clock=lambda: now[0]) as console:
        console(RunStarted("r", "reports/r", factory.plan(), resumed=False))
        steps(console)
    last = err.getvalue().rsplit("\x1b[2K", 1)[0]
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last)


def test_time_left_follows_from_the_pace_so_far() -> None:
    now = [100.0]

    def steps(console: Console) -> None:
        console(StageStarted(C8, "candidate", "measure", 0, 48, 8))
        now[0] = 196.0
        console(BlockJudged(C8, 0, 0, 48, 96))
        now[0] = 206.0

    assert re.search(r"c8 nvfp4 closed-loop .* 48/96 judged, 0 failed\s+about 86 s left", picture(steps, now))


def test_the_picture_says_what_is_being_done_and_how_cells_ended() -> None:
    def steps(console: Console) -> None:
        console(StageStarted("candidate/nvfp4/c8/calibration", "reference", "calibration", 0, 57, 8))
        console(ExchangeDone("reference", "calibration", "disconnect"))
        console(CellDecided("candidate/nvfp4/c1/closed-loop", "informational", "control"))

    text = picture(steps, [0.0])
    assert "calibration on the reference at concurrency 8, block 1: 1/57; 1 exchange in 0 s, 1 service failure" in text
    assert re.search(r"c1 nvfp4 closed-loop .* info only", text)
    assert re.search(r"c8 nvfp4 burst-solo .* to come", text)


def test_cells_that_do_not_fit_the_terminal_are_counted() -> None:
    plan = factory.plan().model_copy(update={"concurrency": (1, *range(2, 60))})
    err = Terminal()
    with Console(out=io.StringIO(), err=err, width=100) as console:
        console(RunStarted("r", "reports/r", plan, resumed=False))
    assert re.search(r"\.\.\. and \d+ more cells", err.getvalue())
