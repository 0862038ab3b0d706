"""Neighbour independence: copies of one prompt answered otherwise, as a rate beyond the reference's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.history.schedule import Overrides
from fuzzer.oracles import independence
from tests.oracles.factory import World, exchange, prompt

PROMPTS = tuple(prompt(f"p{index:06d}") for index in range(16))


def copies(arm: Arm, varied: Collection[int], second: Overrides | None = None) -> list[Exchange]:
    """Every prompt twice in a block; the second reply differs for some."""
    asked = second if second is not None else Overrides()
    return [
        exchange(
            known.id,
            "something else" if copy and index in varied else "the answer",
            arm=arm,
            index=2 * index + copy,
            stream=asked.stream is not False or not copy,
            overrides=asked if copy else Overrides(),
            tag="warm" if copy else "cold",
        )
        for index, known in enumerate(PROMPTS)
        for copy in (0, 1)
    ]


def found(candidate: list[Exchange], reference: list[Exchange], so_far: Counter[str] | None = None) -> list[Finding]:
    world = World(PROMPTS, (*candidate, *reference))
    context = world.context()
    if so_far is not None:
        context.so_far = so_far
    return list(independence.judge(world.batch, context))


def test_equal_copies_are_clean() -> None:
    assert found(copies("candidate", ()), copies("reference", ())) == []


def test_a_candidate_that_varies_where_the_reference_does_not_is_told_once_and_never_as_certain() -> None:
    (told,) = found(copies("candidate", range(12)), copies("reference", ()))
    assert (told.kind, told.certainty) == ("independence", "possible")
    assert told.evidence["only_candidate"] == 12
    assert told.evidence["differ_in"] == ["cache"]


def test_what_the_reference_does_as_well_is_batch_noise() -> None:
    assert found(copies("candidate", range(12)), copies("reference", range(12))) == []
    assert found(copies("candidate", range(4)), copies("reference", ())) == []


def test_blocks_add_up() -> None:
    so_far: Counter[str] = Counter()
    assert found(copies("candidate", range(6)), copies("reference", ()), so_far) == []
    (told,) = found(copies("candidate", range(6)), copies("reference", ()), so_far)
    assert told.evidence["only_candidate"] == 12


def test_streamed_and_not_are_copies_but_what_is_asked_otherwise_is_not() -> None:
    streamed = Overrides(stream=False)
    (told,) = found(copies("candidate", range(16), streamed), copies("reference", (), streamed))
    assert "stream" in str(told.evidence["differ_in"])
    cut = Overrides(max_tokens=2)
    assert found(copies("candidate", range(16), cut), copies("reference", (), cut)) == []
