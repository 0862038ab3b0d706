"""What of all that happens is told, and that telling it never holds up the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import anyio
import anyio.lowlevel
import pytest

from fuzzer.alerts.alert import Alert
from fuzzer.alerts.dispatch import Alerts, Limits
from fuzzer.alerts.hooks import Command
from fuzzer.alerts.opening import channels
from fuzzer.errors import UsageError
from fuzzer.events import ExchangeDone, FindingSeen
from fuzzer.finding import Certainty
from tests.alerts.factory import Remembering, alert
from tests.report import factory

pytestmark = pytest.mark.anyio


@dataclass
class Clock:
    """Seconds that pass when a test says so."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def limits(period: float = 600, hourly: int = 1000) -> tuple[Limits, Clock]:
    clock = Clock()
    return Limits(period, hourly, clock), clock


def free() -> Limits:
    """Limits that hold nothing back but a key that was just told."""
    return limits()[0]


async def delivered(alerts: Alerts, offered: Sequence[Alert]) -> None:
    async with alerts:
        for each in offered:
            alerts.offer(each)


# --- delivery


async def test_what_is_offered_arrives_in_order_on_every_channel() -> None:
    one, two, said = Remembering(), Remembering(), list[str]()
    await delivered(Alerts([one, two], said.append, free()), [alert("a"), alert("b")])
    assert [each.key for each in one.got] == [each.key for each in two.got] == ["a", "b"]
    assert said == []


async def test_a_channel_that_hangs_holds_up_neither_the_run_nor_another_channel() -> None:
    stuck, well, said = Remembering(gate=anyio.Event(), name="stuck"), Remembering(), list[str]()
    async with Alerts([stuck, well], said.append, free(), room=5, grace=0) as alerts:
        for index in range(40):
            alerts.offer(alert(f"k{index}"))
            await stuck.began.wait()
    assert len(well.got) >= 5
    assert well.got[-1].key == "k39"
    assert said == ["stuck: 6 alerts could not be delivered"]


async def test_what_finds_no_room_is_merged_and_counted() -> None:
    way = Remembering(gate=anyio.Event())
    async with Alerts([way], print, free(), room=2) as alerts:
        alerts.offer(alert("first"))
        await way.began.wait()
        for index in range(39):
            alerts.offer(alert(f"k{index}"))
        alerts.offer(alert("the end", kind="verdict"))
        way.gate.set() if way.gate else None
    assert [each.key for each in way.got] == ["first", "k0", "k1", "the end"]
    assert way.got[2].line == "Drift: answers fail more often later in this boot (and 37 more)"


async def test_a_soak_that_is_broken_off_still_says_its_last_word() -> None:
    class Slow(Remembering):
        async def deliver(self, alert: Alert) -> None:
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            await super().deliver(alert)

    way = Slow()
    with anyio.CancelScope() as scope:
        async with Alerts([way], print, free()) as alerts:
            scope.cancel()
            alerts.offer(alert("verdict", kind="verdict"))
            await anyio.sleep_forever()
    assert [each.key for each in way.got] == ["verdict"]


async def test_what_still_waits_after_the_grace_is_given_up_and_said() -> None:
    way, said = Remembering(gate=anyio.Event(), name="slow"), list[str]()
    await delivered(Alerts([way], said.append, free(), grace=0), [alert("a"), alert("b")])
    assert said == ["slow: 2 alerts could not be delivered"]


async def test_failures_are_said_once_and_counted_at_the_end() -> None:
    way, said = Remembering(why="HTTP 500\x1b[31m"), list[str]()
    await delivered(Alerts([way], said.append, free()), [alert(f"k{index}") for index in range(4)])
    assert said == [
        "a channel: an alert could not be delivered: HTTP 500\\x1b[31m",
        "a channel: 4 alerts could not be delivered",
    ]


async def test_a_bug_in_one_delivery_costs_no_other() -> None:
    class Broken(Remembering):
        async def deliver(self, alert: Alert) -> None:
            await super().deliver(alert)
            if alert.key == "a":
                raise RuntimeError("https://hooks.example.org/private")

    way, said = Broken(), list[str]()
    await delivered(Alerts([way], said.append, free()), [alert("a"), alert("b")])
    assert [each.key for each in way.got] == ["a", "b"]
    assert said[0] == "a channel: an alert could not be delivered: RuntimeError"


async def test_without_channels_nothing_is_said() -> None:
    said: list[str] = []
    await delivered(Alerts([], said.append), [alert()] * 3)
    assert said == []


# --- limits


async def test_a_key_is_told_once_in_a_period() -> None:
    rules, clock = limits(period=600)
    way = Remembering()
    async with Alerts([way], print, rules) as alerts:
        for clock.now in (0, 1, 599, 600):
            alerts.offer(alert("same"))
    assert [each.more for each in way.got] == [0, 2]


async def test_an_hour_holds_so_many_and_keeps_half_of_them_for_what_is_critical() -> None:
    rules, clock = limits(hourly=6)
    way = Remembering()
    async with Alerts([way], print, rules) as alerts:
        for index in range(10):
            alerts.offer(alert(f"w{index}"))
        for index in range(10):
            alerts.offer(alert(f"c{index}", severity="critical"))
        clock.now = 3600
        alerts.offer(alert("later"))
    assert [each.key for each in way.got] == ["w0", "w1", "w2", "c0", "c1", "c2", "later"]
    assert [each.more for each in way.got] == [0, 0, 0, 7, 0, 0, 7]


async def test_the_verdict_always_passes_and_tells_what_was_held_back() -> None:
    way = Remembering()
    rules, _ = limits(hourly=2)
    offered = [*(alert(f"k{index}") for index in range(38)), alert("verdict", kind="verdict")]
    await delivered(Alerts([way], print, rules), offered)
    assert [each.key for each in way.got] == ["k0", "verdict"]
    assert way.got[-1].line.endswith("(and 37 more)")


async def test_what_the_limits_held_back_to_the_end_is_said() -> None:
    said: list[str] = []
    await delivered(Alerts([Remembering()], said.append, free()), [alert("same"), alert("same"), alert("same")])
    assert said == ["alerts: 2 more alerts held back by the limits (drift 2)"]


# --- what becomes an alert


async def test_certain_findings_of_a_leg_become_alerts_and_others_do_not() -> None:
    way = Remembering()
    async with Alerts([way], print, free()) as alerts:
        listen = alerts.listener("n1", 7)
        certainty: Certainty
        for certainty in ("certain", "likely", "possible"):
            listen(FindingSeen(factory.finding("wrong-answer", certainty, "an answer", certainty=certainty)))
        listen(ExchangeDone("candidate", "measure", "ok"))
        of_reference = factory.finding("corruption", "special-token", "a token").model_copy(update={"arm": "reference"})
        listen(FindingSeen(of_reference))
    assert [(each.severity, each.leg) for each in way.got] == [("critical", 7), ("warning", 7)]
    assert way.got[0].line == (
        "certain wrong-answer on the candidate, candidate/nvfp4/c8/closed-loop: "
        "wrong-answer/certain@candidate: an answer"
    )


async def test_a_redacted_run_tells_no_word_of_a_reply() -> None:
    way = Remembering()
    async with Alerts([way], print, free()) as alerts:
        alerts.listener("n1", 7, redacted=True)(FindingSeen(factory.bleed("the private words")))
    assert "the private words" not in way.got[0].model_dump_json()
    assert factory.SPAN not in way.got[0].model_dump_json()


async def test_the_options_open_the_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "https://hooks.example.org/private")
    command, posted = channels("true --now", "env:HOOK", 1)
    assert isinstance(command, Command)
    assert (command.name, posted.name) == ("--on-finding true", "--webhook hooks.example.org")
    assert channels(None, None, 1) == ()
    with pytest.raises(UsageError):
        channels("", None, 1)
