"""The oracles over the prompts that are really asked: every family, easy and hard, each with its own checker."""

from __future__ import annotations

import random
from functools import cache

from fuzzer import prompts
from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange, Prompt
from fuzzer.oracles import ORACLES
from fuzzer.prompts import PromptPool, canonical
from tests.oracles.factory import World, exchange

COUNT = 400
LATER = 20  # exchanges after which a prompt has finished


@cache
def asked() -> tuple[Prompt, ...]:
    pool = PromptPool(seed=11)
    return tuple(pool.prompt(index) for index in range(COUNT))


def answered(prompt: Prompt, said: str, arm: Arm, index: int) -> Exchange:
    """An exchange with this answer: as text, or as the arguments of the prompt's function where it asks for a call."""
    at = (index, index + 8)
    _, calls = canonical(prompt)
    if not calls:
        return exchange(prompt.id, said, arm=arm, index=index, at=at)
    called = tuple(call.model_copy(update={"arguments": said}) for call in calls)
    return exchange(prompt.id, calls=called, finish="tool_calls", arm=arm, index=index, at=at)


def judged(replies: list[str]) -> list[Finding]:
    """The findings where the reference is right and the candidate answers so, eight in flight at a time."""
    exchanges = []
    for index, (prompt, reply) in enumerate(zip(asked(), replies, strict=True)):
        exchanges.append(answered(prompt, reply, "candidate", index))
        exchanges.append(answered(prompt, prompt.answer, "reference", index))
    world = World(asked(), tuple(exchanges), check=prompts.check)
    context = world.context()
    return [finding for oracle in ORACLES.values() for finding in oracle.judge(world.batch, context)]


def test_right_answers_are_clean() -> None:
    assert judged([prompt.answer for prompt in asked()]) == []


def test_slips_in_an_answer_of_ones_own_are_wrong_but_never_bleed() -> None:
    rng = random.Random(5)
    replies = []
    for prompt in asked():
        letters = list(prompt.answer)
        for _ in range(3):
            letters[rng.randrange(len(letters))] = rng.choice("abcxyz0189")
        replies.append("".join(letters))
    findings = judged(replies)
    assert sum(finding.kind == "wrong-answer" for finding in findings) > 0.95 * COUNT
    assert {finding.kind for finding in findings} <= {"wrong-answer", "corruption"}
    assert {finding.certainty for finding in findings} == {"likely"}


def test_a_neighbours_answer_is_bleed_from_that_neighbour_alone() -> None:
    replies = [asked()[index - 1 if index else 1].answer for index in range(COUNT)]
    bleeds = [finding for finding in judged(replies) if finding.kind == "bleed"]
    assert len(bleeds) > 0.9 * COUNT
    assert sum(finding.certainty == "certain" for finding in bleeds) > 0.6 * COUNT
    for finding in bleeds:
        place = [prompt.id for prompt in asked()].index(finding.prompt or "")
        assert finding.donor is not None
        assert finding.donor.when == "concurrent"
        assert finding.donor.prompt == asked()[place - 1 if place else 1].id


def test_a_finished_requests_answer_is_stale_bleed() -> None:
    replies = [asked()[max(index - LATER, 0)].answer for index in range(COUNT)]
    late = {prompt.id for prompt in asked()[LATER:]}
    bleeds = [finding for finding in judged(replies) if finding.kind == "bleed" and finding.prompt in late]
    assert len(bleeds) > 0.9 * len(late)
    assert {finding.sub_kind for finding in bleeds} == {"stale"}
