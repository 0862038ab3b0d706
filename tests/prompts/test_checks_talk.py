"""Replies as models give them, at the end of a long talk, and with thinking off or on."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import check
from fuzzer.prompts.names import spans
from tests.prompts.strategies import make

TALK = make("conversation", "medium", 1)
NAME = TALK.answer
OTHER = make("conversation", "medium", 2)
EARLIER = [message.content for message in TALK.messages if message.role == "assistant"]
LISTED = [item for item in TALK.items if item not in (NAME, *EARLIER)]


def verdict(prompt: Prompt, text: str, finish_reason: str | None = None, reasoning: str = "") -> str:
    grade = check(prompt, text, finish_reason=finish_reason, reasoning=reasoning)
    return grade.sub_kind or grade.value


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", NAME.lower()),
        ("right", f"**{NAME}**."),
        ("right", f"- {NAME}"),
        ("right", f"Answer: {NAME}"),
        ("verbose", f"In the blue list, the name is {NAME}."),
        ("verbose", f"It is not {EARLIER[-1]}. It is {NAME}."),
        ("verbose", f"It is {NAME}, not {EARLIER[-1]}."),
        ("verbose", f"{NAME} comes first. The list is: {LISTED[0]}, {NAME}, {EARLIER[0]}"),
        ("verbose", f"The list is now {LISTED[0]}, {NAME}, {EARLIER[0]}.\nSo it is {NAME}."),
        ("wrong-last-message", EARLIER[-1]),
        ("wrong-last-message", f"The name is {EARLIER[0]}."),
        ("wrong-value", LISTED[0]),
        ("wrong-value", NAME[:-1]),
        ("wrong-value", NAME.split()[0]),
        ("wrong-value", f"{NAME} or {LISTED[0]}"),
        ("wrong-value", "red"),
        ("another-question", OTHER.answer),
        ("another-question", f"{NAME}, no, {OTHER.answer}"),
        ("refusal", "I'm sorry, but I do not have that list."),
        ("no-answer", "That depends on which list you mean. " * 8),
    ],
)
def test_one_name_is_extracted_before_it_is_compared(want: str, said: str) -> None:
    assert verdict(TALK, said) == want


@pytest.mark.parametrize(("level", "fewest", "most"), [("easy", 3, 3), ("medium", 5, 7), ("hard", 8, 12)])
def test_a_talk_has_so_many_turns_and_ends_with_a_change_of_list(level: Level, fewest: int, most: int) -> None:
    seen = set()
    for seed in range(60):
        prompt = make("conversation", level, seed)
        asked = [message.content for message in prompt.messages if message.role == "user"]
        seen.add(len(asked))
        assert ("No, the blue name is" if level == "easy" else "No, use the") in asked[-1]
        assert prompt.spec["value"] not in [message.content for message in prompt.messages[:-1]]
        corrected = [text for text in asked if "Correction: " in text]
        assert level != "hard" or any(f"is now {prompt.spec['value']}." in text for text in corrected)
    assert (min(seen), max(seen)) == (fewest, most)


def test_every_name_of_a_talk_is_its_own() -> None:
    names = {TALK.text[start:end] for start, end in spans(TALK.text)}
    assert names == set(TALK.items)


OFF = make("thinking", "easy", 1)
ON = make("thinking", "hard", 1)


def test_thinking_is_asked_for_and_has_room() -> None:
    assert (OFF.wants.thinking, OFF.wants.max_tokens) == ("off", None)
    assert (ON.wants.thinking, ON.wants.max_tokens) == ("on", 4096)


def test_reasoning_that_is_kept_apart_does_no_harm_whatever_it_says() -> None:
    assert verdict(ON, ON.answer, reasoning="It could be QX7K-M2PD. No.") == "right"
    assert verdict(OFF, OFF.answer, reasoning="<think>hm</think>") == "right"
    assert verdict(OFF, "", reasoning=OFF.answer) == "empty"


def test_closed_reasoning_in_the_answer_is_the_way_of_servers_without_a_channel_for_it() -> None:
    assert verdict(ON, f"<think>\nhm\n</think>\n\n{ON.answer}") == "right"
    assert verdict(ON, f"hm\n</think>\n\n{ON.answer}") == "right"


@pytest.mark.parametrize("prompt", [OFF, ON])
@pytest.mark.parametrize("form", ["<think>{}", "<think>hm</think>{}", "hm</think>\n{}", "{}</think>"])
def test_a_thinking_mark_beside_reasoning_that_is_kept_apart_is_a_leak(prompt: Prompt, form: str) -> None:
    assert verdict(prompt, form.format(prompt.answer), "stop", reasoning="So") == "dropped-constraint"


def test_reasoning_that_is_never_closed_is_a_leak_unless_it_was_cut_off() -> None:
    assert verdict(ON, f"<think>\nhm {ON.answer}", "stop") == "dropped-constraint"
    assert verdict(ON, f"<think>\nhm {ON.answer}", "length") == "runaway"


def test_a_leak_is_told_only_where_the_answer_is_no_worse() -> None:
    other = make("thinking", "hard", 2)
    assert verdict(ON, f"<think>hm</think>{other.answer}", reasoning="So") == "another-question"


def test_other_families_do_not_look_for_leaks() -> None:
    word = make("code-word", "easy", 1)
    assert verdict(word, f"<think>hm</think>{word.answer}", reasoning="So") == "right"
