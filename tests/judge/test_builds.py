"""What a server calls itself, and when that means that it is another one."""

from __future__ import annotations

from fuzzer.history.records import Arm, Exchange, Outcome
from fuzzer.judge.builds import Builds
from tests.judge.test_tally import stage
from tests.oracles.factory import exchange

END: tuple[Arm, str] = ("candidate", "candidate")


def reply(model: str | None, arm: Arm = "candidate", outcome: Outcome = "ok") -> Exchange:
    made = exchange("p000000", "x", arm=arm, outcome=outcome)
    assert made.done is not None
    received = made.done.received.model_copy(update={"model": model})
    return made.model_copy(update={"done": made.done.model_copy(update={"received": received})})


def test_a_version_that_changes_between_two_stages_is_told_once() -> None:
    builds = Builds()
    for version in ("0.26.0", None, "0.26.0"):
        builds.stage(stage(version=version))
        assert builds.take_change(END) == ""
    builds.stage(stage(version="0.27.0"))
    assert builds.take_change(END) == "version was '0.26.0' and became '0.27.0'"
    assert builds.take_change(END) == ""


def test_only_usable_replies_tell_and_each_end_tells_for_itself() -> None:
    builds = Builds()
    for told in (reply("a"), reply("b", outcome="bad-json"), reply("b", arm="reference"), reply(None), reply("a")):
        builds.reply(told)
        assert builds.take_change(END) == ""
    builds.reply(reply("b"))
    assert builds.take_change(END) == "model was 'a' and became 'b'"
