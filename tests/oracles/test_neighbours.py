"""Neighbours are looked at for bleed, and blamed for nothing that their own parameters do."""

from __future__ import annotations

import pytest

from fuzzer.finding import Finding
from fuzzer.history.records import Canary, Exchange, TokenLogprob
from fuzzer.history.schedule import Overrides
from fuzzer.oracles import bleed, corruption, selfcheck, service, wrong
from tests.oracles.factory import World, exchange, prompt

VICTIM = prompt("p000001", canaries=(Canary(channel="user", text="4821-7730-159268"),))
NEIGHBOUR = prompt("f1200001", canaries=(Canary(channel="user", text="1111-2222-333333"),))
HOT = Overrides(temperature=1.0)


def found(oracle: object, *exchanges: Exchange) -> list[Finding]:
    world = World((VICTIM, NEIGHBOUR), exchanges)
    return list(oracle.judge(world.batch, world.context()))  # type: ignore[attr-defined]  # modules of one shape


def hot(text: str, **more: object) -> Exchange:
    return exchange("f1200001", text, phase="neighbour", index=9, overrides=HOT, **more)  # type: ignore[arg-type]


def test_a_victim_that_carries_its_neighbours_content_names_it_and_the_other_way_round() -> None:
    victim = exchange("p000001", "It is 1111-2222-333333.")
    (told,) = found(bleed, victim, hot("fine"))
    assert (told.certainty, told.donor and told.donor.prompt, told.sub_kind) == ("certain", "f1200001", "concurrent")
    (told,) = found(bleed, exchange("p000001", "fine"), hot("It is 4821-7730-159268."))
    assert (told.certainty, told.phase, told.donor and told.donor.prompt) == ("certain", "neighbour", "p000001")


def test_a_cancelled_neighbour_is_no_service_failure_but_what_it_said_is_looked_at() -> None:
    cancelled = hot("It is 4821-7730-159268.", outcome="cancelled", finish=None)
    assert found(service, cancelled) == []
    assert [told.kind for told in found(bleed, exchange("p000001", "fine"), cancelled)] == ["bleed"]


def test_a_neighbour_that_both_ends_refuse_is_no_finding() -> None:
    refused = exchange("f1200001", phase="neighbour", outcome="refused", overrides=HOT)
    both = exchange("f1200001", phase="neighbour", outcome="refused", overrides=HOT, arm="reference")
    assert found(service, refused, both) == []
    fine = exchange("f1200001", "fine", phase="neighbour", overrides=HOT, arm="reference")
    (told,) = found(service, refused, fine)
    assert told.certainty == "certain"


def test_a_sampled_reply_may_be_any_text() -> None:
    below = TokenLogprob(token="b", logprob=-2.0, top=(("a", -0.5), ("b", -2.0)))
    assert found(selfcheck, hot("b", logprobs=[below])) == []
    assert found(corruption, hot("<|im_end|> а<|im_start|>")) == []
    greedy = exchange("f1200001", "b", phase="neighbour", logprobs=[below], overrides=Overrides(logprobs=2))
    assert [told.sub_kind for told in found(selfcheck, greedy)] == ["argmax"]


def test_several_choices_share_one_usage() -> None:
    two = Overrides(temperature=1.0, n=2)
    shared = exchange("f1200001", "ab", phase="neighbour", ids=(1, 2), completion=5, overrides=two, max_tokens=4)
    assert found(selfcheck, shared) == []
    alone = exchange("f1200001", "ab", phase="neighbour", ids=(1, 2), completion=5)
    assert [told.sub_kind for told in found(selfcheck, alone)] == ["token-count"]


@pytest.mark.parametrize(
    ("text", "kinds"), [("one", []), ("", []), ("one\ntwo", ["stop-string"])], ids=("cut", "at once", "late")
)
def test_no_reply_goes_on_past_its_stop_string(text: str, kinds: list[str]) -> None:
    stopped = exchange("f1200001", text, phase="neighbour", completion=3, overrides=Overrides(stop=("\n",)))
    assert [told.sub_kind for told in found(selfcheck, stopped)] == kinds
    assert all(told.certainty == "certain" for told in found(selfcheck, stopped))


def test_of_two_stop_strings_in_one_step_an_engine_may_cut_at_the_second() -> None:
    """It looks for them in the order given: here it cut at the "e" of one token, and left the blank before it."""
    both = Overrides(stop=("e", " "))
    assert found(selfcheck, exchange("f1200001", "Stormstorm Upp", phase="neighbour", overrides=both)) == []
    text = f"Stormstorm U{'p' * 70}"
    assert [
        told.sub_kind for told in found(selfcheck, exchange("f1200001", text, phase="neighbour", overrides=both))
    ] == ["stop-string"]


def test_a_reply_that_its_stop_string_cut_is_not_truncated() -> None:
    cut = exchange("f1200001", '{"name"', phase="neighbour", overrides=Overrides(stop=(":",)))
    assert found(corruption, cut) == []


def test_a_victim_asked_otherwise_is_wrong_only_where_the_reference_is_right() -> None:
    padded = Overrides(pad=16, pad_key="k")
    ours = exchange("p000001", "nonsense", overrides=padded)
    theirs = exchange("p000001", "nonsense", arm="reference", overrides=padded)
    right = exchange("p000001", VICTIM.answer, arm="reference", overrides=padded)
    assert found(wrong, ours) == []
    assert found(wrong, ours, theirs) == []
    assert [told.kind for told in found(wrong, ours, right)] == ["wrong-answer"]
