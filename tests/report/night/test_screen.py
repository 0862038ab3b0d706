from __future__ import annotations

import io

from fuzzer.events import BlockJudged, Event, ExchangeDone, FindingSeen, RunFinished, RunStarted
from fuzzer.report.night import NightScreen

from .. import factory as gate
from ..factory import Terminal
from . import factory

C8 = "candidate/nvfp4/c8/closed-loop"


def events() -> list[Event]:
    return [
        RunStarted("0001", "reports/soak/legs/0001", gate.plan(), resumed=False),
        ExchangeDone("candidate", "measure", "ok"),
        FindingSeen(gate.bleed("it holds 'KITE\x1b[2J'")),
        BlockJudged(C8, 0, 2, 48, 64),
    ]


def test_a_log_gets_a_line_a_leg_and_a_certain_finding_at_once() -> None:
    err = io.StringIO()
    with NightScreen(lambda: 5 * 3600.0, err=err, width=80) as screen:
        for event in events():
            screen(event)
        assert err.getvalue().startswith("certain bleed")
        assert err.getvalue().count("\n") == 1
        screen(RunFinished(gate.failing()))
        screen.ended(factory.leg(17, 1, bled=1))
        screen.ended(factory.leg(18, 0, boot=2))
    first, second = err.getvalue().splitlines()[1:]
    assert first == (
        "leg 18, 16 closed-loop (findings), boot 1: FAIL, 1 of 64 failed, 3 findings; "
        "night: 5.0 h left, 1 of 64 failed, 1 boot, 3 findings"
    )
    assert second == (
        "leg 19, 8 closed-loop (anchor), boot 2: clean, 0 of 64 failed, 2 findings; "
        "night: 5.0 h left, 1 of 128 failed, 2 boots, 5 findings"
    )
    assert "\x1b" not in err.getvalue()


def test_the_head_line_adds_the_running_leg_to_those_before() -> None:
    screen = NightScreen(lambda: 5400.0, [factory.leg(0, 1), factory.leg(1, 0, boot=2)], err=Terminal(), width=100)
    with screen:
        assert screen.head() == "leg 3, night: 1.5 h left, 1 of 128 failed, 2 boots, 4 findings"
        for event in events():
            screen(event)
        assert screen.head() == "leg 3, night: 1.5 h left, 3 of 176 failed, 2 boots, 5 findings"
        screen(RunFinished(gate.failing()))
        screen.ended(factory.leg(2, 2))
        assert screen.head().startswith("leg 4, night: 1.5 h left, 3 of 192 failed")


def test_a_night_without_an_end_in_time_names_none() -> None:
    assert NightScreen(lambda: None, err=io.StringIO()).head() == "leg 1, night: 0 of 0 failed, 0 boots, 0 findings"


def test_a_terminal_shows_the_night_over_the_leg_and_is_given_back() -> None:
    err = Terminal()
    with NightScreen(lambda: 5400.0, [factory.leg(0, 1)], err=err, width=100) as screen:
        for event in events():
            screen(event)
    assert "leg 2, night: 1.5 h left" in err.getvalue()
    assert err.getvalue().count("\x1b[?25h") == err.getvalue().count("\x1b[?25l") > 0


def test_quiet_says_nothing() -> None:
    err = io.StringIO()
    with NightScreen(lambda: None, err=err, quiet=True) as screen:
        for event in events():
            screen(event)
        screen.ended(factory.leg(0, 0))
    assert err.getvalue() == ""
