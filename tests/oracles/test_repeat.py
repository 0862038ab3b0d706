"""Run-to-run variation at temperature 0: beyond the reference's own it is told, once; noise on both sides is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.oracles import repeat
from tests.oracles.factory import World, exchange, prompt

PROMPTS = tuple(prompt(f"p{index:06d}") for index in range(48))


def passes(arm: Arm, varied: Iterable[int]) -> list[Exchange]:
    changed = set(varied)
    return [
        exchange(
            known.id,
            "another answer" if second and index in changed else "the answer",
            arm=arm,
            index=index,
            phase="calibration",
            pass_index=second,
            exposure=second + 1,
        )
        for second in (0, 1)
        for index, known in enumerate(PROMPTS)
    ]


def found(ours: Iterable[int], theirs: Iterable[int], so_far: Counter[str] | None = None) -> list[Finding]:
    world = World(PROMPTS, (*passes("candidate", ours), *passes("reference", theirs)))
    context = world.context()
    context.so_far = Counter() if so_far is None else so_far
    return list(repeat.judge(world.batch, context))


def test_a_candidate_that_varies_where_its_reference_repeats_itself_is_one_finding() -> None:
    (finding,) = found(range(14), ())
    assert finding.key == "divergence/run-to-run@candidate"
    assert "14 of 48 prompts" in finding.summary
    assert "the reference varies on 0" in finding.summary


def test_noise_that_both_sides_show_is_none() -> None:
    assert found(range(14), range(10, 24)) == []
    assert found(range(5), ()) == []
    assert found((), range(14)) == []


def test_it_is_told_once_over_all_the_blocks_of_a_level() -> None:
    so_far: Counter[str] = Counter()
    assert found(range(6), (), so_far) == []
    (finding,) = found(range(6), (), so_far)
    assert "12 of 96 prompts" in finding.summary
    assert found(range(6), (), so_far) == []


def test_a_reference_that_varies_a_little_leaves_it_to_the_noise_floor() -> None:
    assert found(range(30), (40,)) == []
