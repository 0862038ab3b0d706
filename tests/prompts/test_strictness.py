"""Right answers in whatever dress are right, and answers that are subtly wrong are not, in the same dress."""

from __future__ import annotations

import itertools

import pytest

from fuzzer.history.records import Level
from fuzzer.prompts import check
from tests.prompts import spoils
from tests.prompts.dress import WHOLE_STYLES, question, request
from tests.prompts.samples import right_ones, rng, told, wrong_ones
from tests.prompts.strategies import KINDS, make
from tests.prompts.styles import CORE_STYLES, core, marks, render, suits

SAMPLE = 300
ALLOWED = 1  # of 300, either way

REFUSALS = (
    "I'm sorry, but I can't help with that request.",
    "I cannot answer that.",
    "As an AI language model, I am not able to do this.",
    "I apologize, but I am unable to share such information.",
    "Sorry, I can’t do that.",
    "I don't know.",
    "I do not have access to that information. Please ask somebody else who has.",
)


def test_rewritten_right_answers_are_right() -> None:
    misjudged = [told(*each) for each in right_ones(SAMPLE, 1) if not check(each[0], each[1].text).passed]
    assert len(misjudged) <= ALLOWED, misjudged


def test_subtly_wrong_answers_are_not_right() -> None:
    misjudged = [told(*each) for each in wrong_ones(SAMPLE, 1) if check(each[0], each[1].text).passed]
    assert len(misjudged) <= ALLOWED, misjudged


@pytest.mark.parametrize("style", CORE_STYLES)
def test_each_style_of_an_answer_is_right(style: str) -> None:
    for family, level in KINDS:
        prompt = make(family, level, style)
        if suits(style, core(prompt), family):
            said = render(prompt, core(prompt), marks(prompt), rng(style, family, level), style, "")
            assert check(prompt, said.text).passed, told(prompt, said)


@pytest.mark.parametrize("style", WHOLE_STYLES)
def test_each_style_of_a_reply_is_right(style: str) -> None:
    for kind in KINDS:
        prompt = make(*kind, style)
        said = render(prompt, core(prompt), marks(prompt), rng(style, *kind), "plain", style)
        assert check(prompt, said.text).passed, told(prompt, said)


@pytest.mark.parametrize("spoil", [*spoils.SPOILS, *spoils.FRAME_SPOILS])
def test_each_subtle_fault_is_not_right(spoil: str) -> None:
    source = rng(spoil)
    for kind, turn in itertools.product(KINDS, range(3)):
        prompt, other = make(*kind, f"{spoil}/{turn}"), make(*kind, f"{spoil}/{turn}/other")
        spoilt = spoils.spoil(prompt, other, source, spoil) if spoil in spoils.kinds(prompt) else None
        if spoilt is not None:
            said = render(prompt, spoilt.core, spoilt.marks, source, "" if turn else "plain", None if turn else "")
            assert not check(prompt, said.text).passed, told(prompt, said)


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
def test_the_question_alone_is_no_answer(kind: tuple[str, Level]) -> None:
    prompt = make(*kind, 1)
    asked = question(prompt)
    for said in (asked, f"You asked: {asked}", f"> {asked}", request(asked)):
        grade = check(prompt, said)
        if kind[0] not in spoils.ECHO_IS_AN_ANSWER:
            assert not grade.passed, said
            assert grade.sub_kind in ("no-answer", "wrong-value", "dropped-constraint")


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
def test_a_refusal_is_no_answer_and_no_wrong_one(kind: tuple[str, Level]) -> None:
    prompt = make(*kind, 1)
    for said in REFUSALS:
        grade = check(prompt, said)
        assert (grade.value, grade.sub_kind) == ("none", "refusal"), said
    assert check(prompt, f"I'm sorry for the delay.\n{prompt.answer}").passed


@pytest.mark.parametrize("kind", KINDS, ids="/".join)
def test_an_answer_that_was_cut_off_is_a_runaway(kind: tuple[str, Level]) -> None:
    prompt = make(*kind, 1)
    asked = question(prompt)
    for said in (f"Let me repeat the question first. {asked[: len(asked) // 2]}", "Sure! Let me think step by step. "):
        grade = check(prompt, said, finish_reason="length")
        assert (grade.value, grade.sub_kind) == ("none", "runaway"), said
    assert check(prompt, f"{prompt.answer}\n\nLet me explain how", finish_reason="length").passed
