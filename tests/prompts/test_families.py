from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import FAMILIES, check, describe
from fuzzer.prompts.canary import CODE, MARK, occurs
from tests.prompts.strategies import KINDS, make, prompts

WRAPPINGS = (
    "Sure! The answer is:\n\n{}\n\nI hope that helps.",
    "Let me think about that. It is easy enough.\n\n{}",
    "{}\n\nLet me know if there is anything else.",
)
FORMS = ("{}", "  {}\n", "**{}**", "```\n{}\n```", '"{}"', "{}.", "Answer: {}", "`{}`")


@given(prompts())
@settings(max_examples=200)
def test_the_canonical_answer_is_right(prompt: Prompt) -> None:
    assert check(prompt, prompt.answer).value == "right"


@given(prompts(), st.sampled_from(FORMS))
@settings(max_examples=300)
def test_the_answer_alone_is_right_in_whatever_dress(prompt: Prompt, form: str) -> None:
    assert check(prompt, form.format(prompt.answer)).value == "right"


@given(prompts(), st.sampled_from(WRAPPINGS))
@settings(max_examples=300)
def test_verbose_but_right_is_right(prompt: Prompt, wrapping: str) -> None:
    assert check(prompt, wrapping.format(prompt.answer)).value == "verbose"


@given(prompts())
@settings(max_examples=200)
def test_restating_the_question_before_the_answer_does_no_harm(prompt: Prompt) -> None:
    restated = f"You asked:\n{prompt.messages[-1].content}\n\nThe answer is:\n{prompt.answer}"
    assert check(prompt, restated).value == "verbose"


@given(prompts(), prompts())
@settings(max_examples=300, derandomize=True)
def test_another_prompts_answer_is_wrong(prompt: Prompt, other: Prompt) -> None:
    assume(prompt.id != other.id and not _same_number(prompt, other))  # the same index draws the same names
    grade = check(prompt, other.answer)
    assert grade.value == "wrong"
    meant = prompt.spec.get("meanings")
    if meant and meant == other.spec.get("meanings"):  # the right word in another language
        assert grade.sub_kind == "dropped-constraint"
    else:
        assert grade.sub_kind in ("another-question", "wrong-value")


@given(st.sampled_from(KINDS), st.integers(0, 2**32))
@settings(max_examples=300, derandomize=True)
def test_another_answer_of_the_same_kind_is_recognised_as_another_question(kind: tuple[str, Level], seed: int) -> None:
    prompt, other = make(*kind, seed), make(*kind, seed + 1)
    assume(other.attributable)
    assert check(prompt, other.answer).sub_kind == "another-question"


@given(st.sampled_from(KINDS), st.integers(0, 2**32))
@settings(max_examples=300, derandomize=True)
def test_both_answers_with_the_other_one_last_are_wrong(kind: tuple[str, Level], seed: int) -> None:
    prompt, other = make(*kind, seed), make(*kind, seed + 1)
    assume(not _same_number(prompt, other))
    assert check(prompt, f"{prompt.answer}\n\n{other.answer}").value == "wrong"


@given(prompts(), st.data())
@settings(max_examples=300)
def test_a_mutated_answer_is_wrong(prompt: Prompt, data: st.DataObject) -> None:
    at = data.draw(st.sampled_from([index for index, char in enumerate(prompt.answer) if char.isalnum()]))
    said = prompt.answer[at]
    other = data.draw(st.sampled_from([char for char in "bcdfgjkm246789" if char != said.lower()]))
    mutated = prompt.answer[:at] + other + prompt.answer[at + 1 :]
    assert not check(prompt, mutated).passed


@given(prompts(), st.integers(2, 12))
@settings(max_examples=300)
def test_an_answer_cut_short_is_not_right(prompt: Prompt, kept: int) -> None:
    cut = prompt.answer[: -max(1, len(prompt.answer) // kept)]
    assert not check(prompt, cut).passed
    assert check(prompt, cut, finish_reason="length").value in ("none", "wrong")


@given(prompts())
def test_saying_nothing_is_empty(prompt: Prompt) -> None:
    for nothing in ("", " \n\t", "\u200b\ufeff"):
        grade = check(prompt, nothing)
        assert (grade.value, grade.sub_kind) == ("none", "empty")


@given(prompts())
def test_a_refusal_is_a_refusal(prompt: Prompt) -> None:
    grade = check(prompt, "I'm sorry, but I can't help with that request.")
    assert (grade.value, grade.sub_kind) == ("none", "refusal")


@given(prompts())
def test_a_right_answer_is_right_even_if_the_reply_was_cut_off_later(prompt: Prompt) -> None:
    assert check(prompt, f"{prompt.answer}\n\nAnd another thing that", finish_reason="length").value == "verbose"


@given(prompts())
def test_talk_that_never_gets_to_an_answer_is_a_runaway(prompt: Prompt) -> None:
    talk = "well let us see how one would go about it " * 40
    assert check(prompt, talk, finish_reason="length").sub_kind == "runaway"
    assert check(prompt, talk).sub_kind == "no-answer"


@given(prompts())
def test_a_framed_answer_without_its_marks_has_dropped_a_constraint(prompt: Prompt) -> None:
    assume(prompt.spec["frame"])
    first, *middle, last = prompt.answer.split("\n")
    core = "\n".join(middle)
    for said in (core, f"{first}\n{core}", f"{core}\n{last}"):
        assert check(prompt, said).sub_kind == "dropped-constraint"


@given(prompts())
def test_an_earlier_turns_answer_is_recognised(prompt: Prompt) -> None:
    earlier = [
        message.content for message in prompt.messages if message.role == "assistant" and message.content != "Yes."
    ]
    for said in earlier:
        assert check(prompt, said).sub_kind == "wrong-last-message"


@given(prompts(), st.text())
@settings(max_examples=300)
def test_no_text_makes_a_check_fail(prompt: Prompt, text: str) -> None:
    assert check(prompt, text).value in ("wrong", "none")


@given(prompts(), st.text(max_size=20), st.text(max_size=20))
@settings(max_examples=300)
def test_no_surroundings_make_a_check_fail(prompt: Prompt, before: str, after: str) -> None:
    assert check(prompt, f"{before}\n{prompt.answer}\n{after}").value in ("right", "verbose", "wrong")


@given(st.sampled_from(KINDS), st.integers(0, 2**32))
@settings(max_examples=100)
def test_the_same_seed_gives_the_same_prompt(kind: tuple[str, Level], seed: int) -> None:
    assert make(*kind, seed).model_dump_json() == make(*kind, seed).model_dump_json()


@given(prompts())
@settings(max_examples=200)
def test_canaries_stand_where_they_say(prompt: Prompt) -> None:
    system, *history, last = prompt.messages
    places = {"system": system.content, "history": "\n".join(each.content for each in history), "user": last.content}
    for canary in prompt.canaries:
        assert occurs(canary.text, places[canary.channel])
        assert CODE.fullmatch(canary.text) or MARK.fullmatch(canary.text)
        assert [channel for channel, text in places.items() if occurs(canary.text, text)] in (
            [canary.channel],
            ["history"],
        )
    channels = {canary.channel for canary in prompt.canaries}
    assert channels == {"system", "user"} | ({"history"} if history else set())


@given(prompts())
@settings(max_examples=200)
def test_elicited_channels_are_those_whose_canaries_the_answer_holds(prompt: Prompt) -> None:
    held = {canary.channel for canary in prompt.canaries if occurs(canary.text, prompt.answer)}
    if prompt.spec["frame"]:
        assert set(prompt.elicits) == held | {"user"}
    else:
        assert held == (set(prompt.elicits) if prompt.attributable else set())


@given(prompts())
@settings(max_examples=200)
def test_items_are_long_and_in_the_prompt(prompt: Prompt) -> None:
    assert all(len(item) >= 8 and item in prompt.text for item in prompt.items)


@given(prompts())
@settings(max_examples=100)
def test_easy_answers_are_short(prompt: Prompt) -> None:
    if prompt.level == "easy":
        assert len(prompt.answer) < 120


RULES: tuple[tuple[str, Callable[[tuple[str, ...], re.Match[str]], bool]], ...] = (
    (r"(.+) came before (.+)", lambda order, match: order.index(match[1]) < order.index(match[2])),
    (r"(.+) came directly after (.+)", lambda order, match: order.index(match[1]) - order.index(match[2]) == 1),
    (
        r"(.+) did not come (first|second|third|last)",
        lambda order, match: order[("first", "second", "third", "last").index(match[2])] != match[1],
    ),
)


def _holds(sentence: str, order: tuple[str, ...]) -> bool:
    for pattern, holds in RULES:
        if match := re.fullmatch(pattern, sentence):
            return holds(order, match)
    raise AssertionError(sentence)


@pytest.mark.parametrize("level", ["easy", "hard"])
def test_an_ordering_has_exactly_one_solution(level: Level) -> None:
    for seed in range(150):
        prompt = make("ordering", level, seed)
        lines = prompt.messages[-1].content.split("\n")
        riders = lines[1].removeprefix("Four riders reached the goal: ").removesuffix(".").split(", ")
        sentences = lines[2].removesuffix(".").split(". ")
        solutions = [
            ", ".join(order)
            for order in itertools.permutations(riders)
            if all(_holds(sentence, order) for sentence in sentences)
        ]
        assert len(solutions) == 1
        assert solutions[0] in prompt.answer


def test_every_family_describes_itself() -> None:
    rows = describe()
    assert [row.name for row in rows] == list(FAMILIES)
    assert all(row.summary and row.exposes and len(row.levels) >= 2 for row in rows)
    assert sum(weight for row in rows for weight in row.shares.values()) == pytest.approx(100)


def test_generation_takes_nothing_from_outside() -> None:
    random.seed(1)
    first = make("ordering", "hard", 5)
    random.seed(2)
    assert make("ordering", "hard", 5) == first


def _same_number(prompt: Prompt, other: Prompt) -> bool:
    value, theirs = prompt.spec["value"], other.spec["value"]
    return value == theirs or prompt.family == other.family == "count-on"
