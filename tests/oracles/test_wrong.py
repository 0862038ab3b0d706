from __future__ import annotations

from collections.abc import Sequence

import pytest

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Canary, Exchange, Prompt, ToolCall
from fuzzer.oracles.divergence import ALONE
from fuzzer.oracles.wrong import judge
from fuzzer.prompts.grade import Grade
from tests.oracles.factory import World, containment, exchange, prompt

DONOR = prompt("donor", answer="Silverbrook Hazelgate", canaries=(Canary(channel="user", text="QX7K-M2PD"),))
VICTIM = prompt("victim", answer="Copperfield Larkwood")
GOOD = exchange("victim", "Copperfield Larkwood", arm="reference")


def found(*exchanges: Exchange) -> list[Finding]:
    world = World((DONOR, VICTIM), exchanges)
    return list(judge(world.batch, world.context()))


def test_right_answers_and_other_phases_are_left_alone() -> None:
    assert found(GOOD, exchange("victim", "It is Copperfield Larkwood, I think.")) == []
    assert (
        found(exchange("victim", "nonsense", phase="calibration"), exchange("victim", "nonsense", phase="filler")) == []
    )


def test_a_wrong_answer_is_likely_whatever_the_reference_did() -> None:
    for pair in ((GOOD,), (exchange("victim", "wrong too", arm="reference"),), ()):
        findings = [one for one in found(exchange("victim", "nonsense"), *pair) if one.arm == "candidate"]
        assert [(one.sub_kind, one.certainty, one.key) for one in findings] == [
            ("wrong-value", "likely", "wrong-answer/wrong-value@candidate")
        ]
        assert (findings[0].evidence["expected"], findings[0].evidence["got"]) == ("Copperfield Larkwood", "nonsense")


@pytest.mark.parametrize(("text", "finish", "sub_kind"), [("", "stop", "empty"), ("on and on", "length", "runaway")])
def test_no_answer_is_wrong_where_the_paired_reply_could_be_judged(text: str, finish: str, sub_kind: str) -> None:
    for pair in (
        GOOD,
        exchange("victim", "judged wrong", arm="reference"),
        exchange("victim", arm="reference", lost=True),
    ):
        findings = [one for one in found(exchange("victim", text, finish=finish), pair) if one.arm == "candidate"]
        assert [one.sub_kind for one in findings] == [sub_kind]
    assert [one.sub_kind for one in found(exchange("victim", text, finish=finish))] == [sub_kind]


@pytest.mark.parametrize(
    "pair", [exchange("victim", "", arm="reference"), exchange("victim", arm="reference", outcome="server-error")]
)
def test_no_answer_on_both_sides_is_nobodys_fault(pair: Exchange) -> None:
    assert found(exchange("victim", ""), pair) == []


def test_the_reference_is_judged_likewise() -> None:
    findings = found(exchange("victim", "Copperfield Larkwood"), exchange("victim", "nonsense", arm="reference"))
    assert [(one.arm, one.key) for one in findings] == [("reference", "wrong-answer/wrong-value@reference")]


def test_failed_and_lost_exchanges_are_not_wrong_answers() -> None:
    assert (
        found(exchange("victim", "half an ans", outcome="disconnect"), exchange("victim", "x", lost=True), GOOD) == []
    )


def test_a_reply_that_answers_the_donors_last_message_says_so_and_is_certain() -> None:
    (finding,) = found(exchange("donor", "x", index=1, phase="calibration"),
                       exchange("victim", "QX7K-M2PD: Silverbrook Hazelgate"), GOOD)  # fmt: skip
    assert (finding.sub_kind, finding.certainty) == ("wrong-last-message", "certain")
    assert finding.donor is not None
    assert finding.donor.prompt == "donor"


def test_a_reply_with_a_donors_canary_that_does_not_answer_it_is_another_question() -> None:
    donor = exchange("donor", "x", index=1, phase="calibration")
    (finding,) = found(donor, exchange("victim", "QX7K-M2PD"), GOOD)
    assert (finding.sub_kind, finding.certainty) == ("another-question", "certain")


def test_a_donor_that_is_only_likely_leaves_the_wrong_answer_likely() -> None:
    donor = exchange("donor", "x", index=1, phase="calibration")
    (finding,) = found(donor, exchange("victim", "Silverbrook Hazelgate"), GOOD)
    assert (finding.sub_kind, finding.certainty) == ("another-question", "likely")


def test_a_right_answer_with_a_neighbours_canary_is_left_to_bleed() -> None:
    donor = exchange("donor", "x", index=1, phase="calibration")
    assert found(donor, exchange("victim", "Copperfield Larkwood QX7K-M2PD"), GOOD) == []


def test_the_familys_own_sub_kind_is_kept() -> None:
    def check(
        known: Prompt, text: str, *,
        finish_reason: str | None = None, calls: Sequence[ToolCall] = (), reasoning: str = "",
    ) -> Grade:  # fmt: skip
        return Grade("wrong", "dropped-constraint") if text == "nonsense" else containment(known, text)

    world = World((VICTIM,), (exchange("victim", "nonsense"), GOOD), check=check)
    assert [one.sub_kind for one in judge(world.batch, world.context())] == ["dropped-constraint"]


def test_each_answer_is_checked_once() -> None:
    asked: list[str] = []

    def check(
        known: Prompt, text: str, *,
        finish_reason: str | None = None, calls: Sequence[ToolCall] = (), reasoning: str = "",
    ) -> Grade:  # fmt: skip
        asked.append(text)
        return Grade("right")

    world = World((VICTIM,), (exchange("victim", "a"), exchange("victim", "b", arm="reference")), check=check)
    context = world.context()
    for _ in range(3):
        assert list(judge(world.batch, context)) == []
        assert [context.grade(one) for one in world.batch] == [Grade("right"), Grade("right")]
    assert sorted(asked) == ["a", "b"]


def test_a_reference_that_is_right_alone_and_wrong_at_n_is_a_finding_about_the_reference() -> None:
    def calibrated(alone: str, at_n: str, arm: Arm = "reference") -> list[Finding]:
        return found(
            exchange("victim", alone, arm=arm, phase="calibration", pass_index=ALONE, concurrency=1),
            exchange("victim", at_n, arm=arm, phase="calibration", pass_index=0),
        )

    (finding,) = calibrated("Copperfield Larkwood", "nonsense")
    assert (finding.arm, finding.sub_kind, finding.certainty) == ("reference", "wrong-at-n", "possible")
    assert calibrated("Copperfield Larkwood", "Copperfield Larkwood") == []
    assert calibrated("nonsense", "nonsense") == []
    assert calibrated("Copperfield Larkwood", "nonsense", arm="candidate") == []


def test_calls_and_reasoning_reach_the_check_and_calls_are_told() -> None:
    seen: list[tuple[Sequence[ToolCall], str]] = []

    def check(
        known: Prompt, text: str, *,
        finish_reason: str | None = None, calls: Sequence[ToolCall] = (), reasoning: str = "",
    ) -> Grade:  # fmt: skip
        seen.append((calls, reasoning))
        return Grade("wrong", "wrong-tool")

    call = ToolCall(name="open_ticket", arguments='{"size": 417}')
    world = World((VICTIM,), (exchange("victim", "", calls=(call,), reasoning="hm", finish="tool_calls"),), check=check)
    (finding,) = judge(world.batch, world.context())
    assert seen == [((call,), "hm")]
    assert finding.sub_kind == "wrong-tool"
    assert "calls the wrong function" in finding.summary
    assert finding.evidence["got"] == 'open_ticket({"size": 417})'


def test_a_call_that_belongs_to_a_neighbour_is_likened_by_its_arguments() -> None:
    answer = '{"owner": "Silverbrook Hazelgate", "size": 417}'
    donor = prompt("donor", answer=answer, items=("Silverbrook Hazelgate",))
    miscopied = ToolCall(name="open_ticket", arguments=answer.replace("brook", "broek"))
    world = World(
        (donor, VICTIM),
        (
            exchange("donor", tool_arguments=answer, index=1),
            exchange("victim", "", calls=(miscopied,), finish="tool_calls"),
            GOOD,
        ),
        check=lambda known, text, **_: Grade("right") if known.id == "donor" else Grade("wrong", "wrong-value"),
    )
    (finding,) = [one for one in judge(world.batch, world.context()) if one.arm == "candidate"]
    assert finding.sub_kind == "another-question"
    assert finding.donor is not None
    assert finding.donor.prompt == "donor"
