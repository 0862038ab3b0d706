"""Penalties that are silently dropped: told from twins, one plain and one penalised, against the reference."""

from __future__ import annotations

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.history.schedule import Overrides
from fuzzer.oracles import penalties
from tests.oracles.factory import World, exchange, prompt

PROMPTS = tuple(prompt(f"f{1_200_000 + index}") for index in range(14))
PENALISED = Overrides(max_tokens=48, presence_penalty=2.0, frequency_penalty=2.0)


def twins(arm: Arm, changed: int) -> list[Exchange]:
    told = []
    for index, known in enumerate(PROMPTS):
        plain, other = "so it is", "so it was" if index < changed else "so it is"
        for place, (text, overrides) in enumerate(((plain, Overrides(max_tokens=48)), (other, PENALISED))):
            told.append(
                exchange(known.id, text, arm=arm, phase="neighbour", index=2 * index + place, overrides=overrides)
            )
    return told


def found(candidate: int, reference: int) -> list[Finding]:
    world = World(PROMPTS, (*twins("candidate", candidate), *twins("reference", reference)))
    return list(penalties.judge(world.batch, world.context()))


def test_penalties_that_change_both_sides_are_heeded() -> None:
    assert found(14, 14) == []
    assert found(0, 0) == []


def test_penalties_that_change_the_reference_only_are_not() -> None:
    (told,) = found(0, 12)
    assert (told.kind, told.sub_kind, told.certainty) == ("self-consistency", "penalties-ignored", "certain")


def test_a_candidate_that_heeds_some_is_less_sure() -> None:
    (told,) = found(2, 14)
    assert told.certainty == "likely"
    assert found(0, 6) == []
