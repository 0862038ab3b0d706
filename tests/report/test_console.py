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
    ExchangeSent,
    FindingSeen,
    LoadSeen,
    PreflightDone,
    RunFinished,
    RunStarted,
    StageDone,
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


PLAIN = [
    "1,700 requests, about 13 min",
    "certain bleed (bleed/concurrent/history@candidate): it holds 'KITE\\x1b[2J'",
    "candidate/nvfp4/c8/closed-loop: FAIL: above p0",
]


def test_without_a_terminal_plain_lines_precede_the_report() -> None:
    out, err = told(factory.failing(), io.StringIO())
    assert err.splitlines() == PLAIN
    assert "FAIL: " in out.splitlines()[0]
    assert "reports/run-1" in out


def test_a_build_log_that_forces_colour_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    _, err = told(factory.passing(), io.StringIO())
    assert bare(err).splitlines() == PLAIN


def test_no_colour_means_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, err = told(factory.failing(), Terminal())
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", err)
    assert "48/331 judged, 2 failed" in err


def test_quiet_leaves_the_verdict_s_line() -> None:
    out, err = io.StringIO(), Terminal()
    with Console(out=out, err=err, quiet=True, width=100, clock=lambda: 0.0) as console:
        for event in events(factory.failing()):
            console(event)
    assert err.getvalue() == ""
    assert re.fullmatch(r"FAIL: [^\n]+\n", out.getvalue())


def test_a_build_log_hears_of_a_long_run_once_a_minute() -> None:
    now, err = [0.0], io.StringIO()
    with Console(out=io.StringIO(), err=err, width=200, clock=lambda: now[0]) as console:
        console(RunStarted("r", "reports/r", factory.plan(), resumed=False))
        for moment in (30.0, 61.0, 90.0, 122.0):
            now[0] = moment
            console(BlockJudged(C8, 0, 0, 48, 331))
    lines = err.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("0 of 3 cells done, 0 in flight")


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


def bare(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def picture(steps: Callable[[Console], None], now: list[float], width: int = 100) -> str:
    """The last frame on a terminal, without its control sequences."""
    err = Terminal()
    with Console(out=io.StringIO(), err=err, width=width, clock=lambda: now[0]) as console:
        console(RunStarted("r", "reports/r", factory.plan(), resumed=False))
        steps(console)
    return bare(err.getvalue().rsplit("\x1b[2K", 1)[0])


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


def busy(console: Console) -> None:
    console(StageStarted(C8, "candidate", "measure", 0, 48, 8))
    for _ in range(9):
        console(ExchangeSent("candidate", "measure"))
    console(ExchangeDone("candidate", "measure", "ok"))
    console(LoadSeen("candidate", 8.0, 3.0, 0.5))
    console(StageDone(factory.stage(drafts=100, accepted=190)))
    console(FindingSeen(factory.bleed("it holds 'KITE\x1b[2J'")))
    console(FindingSeen(factory.finding("corruption", "loop", "a possible one", certainty="possible")))


def test_the_picture_shows_load_acceptance_and_the_latest_finding() -> None:
    text = picture(busy, [0.0], width=160)
    assert "0 of 3 cells done, 8 in flight" in text
    assert "2.90 tokens a verify step" in text
    assert "servers: candidate 8 running, 3 waiting, KV pool 50 %" in text
    assert "findings: 1 certain, 1 possible; latest bleed/concurrent/history@candidate: it holds 'KITE\\x1b[2J'" in text


@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_terminal_cuts_lines_and_wraps_none(width: int) -> None:
    text = picture(busy, [0.0], width=width)
    frame = [line.rstrip() for line in text[text.rindex("c1 nvfp4 closed-loop") :].splitlines()]
    assert max(map(len, frame)) <= width
    assert frame[1].startswith("c8 nvfp4 closed-loop")
    assert len([line for line in frame if line]) == 3 + 4


def test_cells_that_do_not_fit_the_terminal_are_counted() -> None:
    plan = factory.plan().model_copy(update={"concurrency": (1, *range(2, 60))})
    err = Terminal()
    with Console(out=io.StringIO(), err=err, width=100) as console:
        console(RunStarted("r", "reports/r", plan, resumed=False))
    assert re.search(r"\.\.\. and \d+ more cells", err.getvalue())
