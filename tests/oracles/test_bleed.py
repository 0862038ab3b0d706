from __future__ import annotations

import pytest

from fuzzer.finding import Finding
from fuzzer.history.records import Canary, Exchange, Prompt
from fuzzer.oracles.bleed import judge
from tests.oracles.factory import World, exchange, prompt

USER = Canary(channel="user", text="QX7K-M2PD")
HISTORY = Canary(channel="history", text="8111-2222-333333")
SYSTEM = Canary(channel="system", text="4821-7730-159268")
DONOR = prompt("donor", answer="Silverbrook Hazelgate", items=("Amberford Mossgate",), canaries=(USER, HISTORY, SYSTEM))
VICTIM = prompt("victim", answer="Copperfield Larkwood", canaries=(Canary(channel="user", text="ZZ22-YY33"),))
RIGHT = "Copperfield Larkwood"


def found(*exchanges: Exchange, prompts: tuple[Prompt, ...] = (DONOR, VICTIM)) -> list[Finding]:
    world = World(prompts, exchanges)
    return list(judge(world.batch, world.context()))


def donor(start: int = 0, end: int = 10, **more: str) -> Exchange:
    return exchange("donor", "Silverbrook Hazelgate QX7K-M2PD", at=(start, end), index=1)


def test_clean_replies_are_clean() -> None:
    reference = exchange("victim", RIGHT, arm="reference")
    assert found(donor(), exchange("victim", f"{RIGHT} ZZ22-YY33"), reference) == []


@pytest.mark.parametrize(("canary", "channel"), [(USER, "user"), (HISTORY, "history"), (SYSTEM, "system")])
def test_a_neighbours_canary_is_certain_and_names_donor_channel_and_span(canary: Canary, channel: str) -> None:
    (finding,) = found(donor(), exchange("victim", f"The code is {canary.text.lower()}!", at=(5, 15)))
    assert (finding.certainty, finding.sub_kind) == ("certain", "concurrent")
    assert finding.key == f"bleed/concurrent/{channel}@candidate"
    assert finding.donor is not None
    assert (finding.donor.prompt, finding.donor.exchange) == ("donor", donor().key)
    assert (finding.donor.channel, finding.donor.span, finding.donor.when) == (channel, canary.text, "concurrent")
    assert finding.exchange is not None
    assert finding.exchange.endswith("victim@5")


@pytest.mark.parametrize("where", ["text", "reasoning", "tool_arguments"])
def test_every_channel_of_the_reply_is_looked_at(where: str) -> None:
    victim = exchange(
        "victim",
        text="QX7K-M2PD" if where == "text" else "",
        reasoning="QX7K-M2PD" if where == "reasoning" else "",
        tool_arguments='{"code":"QX7K-M2PD"}' if where == "tool_arguments" else "",
    )
    assert [finding.certainty for finding in found(donor(), victim)] == ["certain"]


def test_what_came_before_a_failure_is_looked_at_too() -> None:
    assert len(found(donor(), exchange("victim", "QX7K-M2PD", outcome="disconnect"))) == 1
    assert found(donor(), exchange("victim", "QX7K-M2PD", lost=True)) == []


def test_a_finished_donor_is_stale_and_still_certain() -> None:
    (finding,) = found(donor(0, 3), exchange("victim", "QX7K-M2PD", at=(5, 15)))
    assert (finding.certainty, finding.sub_kind) == ("certain", "stale")
    assert finding.donor is not None
    assert finding.donor.exchange == donor(0, 3).key


@pytest.mark.parametrize("other", [exchange("donor", at=(0, 10), arm="reference"), donor(30, 40)])
def test_what_this_endpoint_never_saw_before_is_never_certain(other: Exchange) -> None:
    (finding,) = found(other, exchange("victim", "QX7K-M2PD", at=(5, 15)))
    assert (finding.certainty, finding.sub_kind) == ("likely", "unconditioned")


def test_replicas_of_the_donor_name_the_prompt_but_no_exchange() -> None:
    again = exchange("donor", "Silverbrook Hazelgate", at=(1, 9), index=7)
    (finding,) = found(donor(), again, exchange("victim", "QX7K-M2PD", at=(5, 15)))
    assert finding.sub_kind == "ambiguous"
    assert finding.donor is not None
    assert (finding.donor.prompt, finding.donor.exchange) == ("donor", None)


def test_a_canary_of_the_victims_own_prompt_is_no_bleed_though_another_has_it() -> None:
    own = prompt("victim", user="Repeat QX7K-M2PD", answer="QX7K-M2PD")
    assert found(donor(), exchange("victim", "QX7K-M2PD"), prompts=(DONOR, own)) == []


def test_the_reference_is_judged_like_the_candidate() -> None:
    victim = exchange("victim", "QX7K-M2PD", arm="reference", endpoint="fp4")
    (finding,) = found(exchange("donor", arm="reference", endpoint="fp4"), victim)
    assert (finding.certainty, finding.arm, finding.key) == (
        "certain", "reference", "bleed/concurrent/user@reference:fp4",
    )  # fmt: skip


@pytest.mark.parametrize("phase", ["calibration", "filler", "warmup"])
def test_every_phase_is_looked_at(phase: str) -> None:
    victim = exchange("victim", "QX7K-M2PD", phase="filler" if phase == "filler" else "calibration")
    assert len(found(donor(), victim)) == 1


@pytest.mark.parametrize(("text", "channel"), [("Amberford Mossgate", "items"), ("Silverbrook Hazelgate.", "answer")])
def test_names_and_answers_are_likely_where_the_paired_reply_does_without(text: str, channel: str) -> None:
    reference = exchange("victim", RIGHT, arm="reference")
    (finding,) = found(donor(), exchange("victim", text), reference)
    assert (finding.certainty, finding.key) == ("likely", f"bleed/concurrent/{channel}@candidate")


def test_names_that_the_paired_reply_gives_too_are_the_models_own() -> None:
    assert found(donor(), exchange("victim", "Amberford Mossgate"),
                 exchange("victim", "Amberford Mossgate", arm="reference")) == []  # fmt: skip


def test_without_a_paired_reply_names_are_only_possible() -> None:
    failed = exchange("victim", arm="reference", outcome="timeout-read")
    assert [finding.certainty for finding in found(donor(), exchange("victim", "Amberford Mossgate"), failed)] == [
        "possible"
    ]


def test_names_that_many_prompts_share_name_nobody() -> None:
    shared = tuple(prompt(f"d{n}", items=("Amberford Mossgate",)) for n in range(3))
    seen = tuple(exchange(f"d{n}", "x", index=n + 1) for n in range(3))
    assert found(*seen, exchange("victim", "Amberford Mossgate"), prompts=(*shared, VICTIM)) == []


def test_one_donor_is_one_finding_with_all_that_matched() -> None:
    text = "4821-7730-159268\nSilverbrook Hazelgate\nQX7K-M2PD"
    (finding,) = found(donor(), exchange("victim", text), exchange("victim", RIGHT, arm="reference"))
    assert finding.donor is not None
    assert finding.donor.channel == "user"
    assert finding.evidence["spans"] == [
        ["user", "QX7K-M2PD"], ["system", "4821-7730-159268"], ["answer", "Silverbrook Hazelgate"],
    ]  # fmt: skip


def test_two_donors_are_two_findings() -> None:
    other = prompt("other", canaries=(Canary(channel="user", text="AB23-CD45"),))
    findings = found(
        donor(),
        exchange("other", "x", index=3),
        exchange("victim", "QX7K-M2PD AB23-CD45"),
        prompts=(DONOR, other, VICTIM),
    )
    assert {finding.donor.prompt for finding in findings if finding.donor} == {"donor", "other"}


def cohort_prompt(name: str, group: str) -> Prompt:
    return prompt(name, canaries=(Canary(channel="system", text=group, cohort=True),))


def test_a_cohorts_canary_names_the_cohort_and_not_a_prompt() -> None:
    prompts = (
        cohort_prompt("a", "1111-2222-333333"),
        cohort_prompt("b", "1111-2222-333333"),
        cohort_prompt("v", "9-8-7"),
    )
    (finding,) = found(
        exchange("a", "x"), exchange("b", "y", index=1), exchange("v", "1111-2222-333333", index=2), prompts=prompts
    )
    assert finding.certainty == "certain"
    assert finding.donor is not None
    assert (finding.donor.channel, finding.donor.prompt, finding.donor.when) == ("cohort", None, "concurrent")


def test_the_canary_of_the_victims_own_cohort_says_nothing() -> None:
    prompts = (cohort_prompt("a", "1111-2222-333333"), cohort_prompt("v", "1111-2222-333333"))
    assert found(exchange("a", "x"), exchange("v", "1111-2222-333333", index=2), prompts=prompts) == []


LONG = "Marigold Wexley opened the lighthouse ledger and counted forty brass lanterns"


def fitting(text: str, **more: int) -> list[Finding]:
    verbose = prompt("donor", answer=LONG, attributable=True)
    own = prompt("victim", answer="Seventeen sheep crossed the causeway before the storm", attributable=True)
    return found(
        exchange("donor", LONG, index=1),
        exchange("victim", text, at=(5, 15)),
        exchange("victim", own.answer, arm="reference"),
        prompts=(verbose, own),
    )


def test_a_wrong_answer_that_reads_like_a_neighbours_is_likely() -> None:
    (finding,) = fitting("Marigold Wexly opened the lighthouse ledger, and counted forty bras lanterns")
    assert (finding.certainty, finding.key) == ("likely", "bleed/concurrent/answer@candidate")
    assert finding.donor is not None
    assert finding.donor.prompt == "donor"
    assert "reads like" in finding.summary


@pytest.mark.parametrize(
    "text",
    [
        "Seventeen sheep crossed the causeway before the storm",
        "Seventeen sheep crossed a causeway before storm",
        "I do not know which of them it was, so I cannot tell",
        "no",
        "",
    ],
)
def test_a_wrong_answer_of_its_own_is_no_bleed(text: str) -> None:
    assert fitting(text) == []


def test_a_wrong_answer_that_fits_two_neighbours_alike_names_neither() -> None:
    twins = (prompt("a", answer=LONG + " one"), prompt("b", answer=LONG + " two"), VICTIM)
    batch = (exchange("a", "x", index=1), exchange("b", "x", index=2), exchange("victim", LONG + ","))
    assert found(*batch, prompts=twins) == []


def test_server_text_in_a_summary_is_quoted_and_clipped() -> None:
    span = "QX7K-M2PD " + "x" * 500
    (finding,) = found(
        exchange("donor", index=1), exchange("victim", "\x1b[31m " + span),
        prompts=(prompt("donor", canaries=(Canary(channel="user", text=span),)), VICTIM),
    )  # fmt: skip
    assert len(finding.summary) < 300
    assert "\x1b" not in finding.summary
