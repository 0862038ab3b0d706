from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.sim.channels import Channels, Part

CALL = '<tool_call>\n{"name": "book", "arguments": {"who": "A \\"{\\" B", "at": {"hour": 7}}}\n</tool_call>'
ARGUMENTS = '{"who": "A \\"{\\" B", "at": {"hour": 7}}'


def read(text: str, *, tools: bool = True, sizes: tuple[int, ...] = ()) -> list[Part]:
    """All parts, those of one kind in a row joined; ``sizes`` are the lengths of the pieces it comes in."""
    channels, parts, at = Channels(tools=tools), list[Part](), 0
    for size in sizes:
        parts += channels.feed(text[at : at + size], over=False)
        at += size
    parts += channels.feed(text[at:], over=True)
    joined: list[Part] = []
    for part in parts:
        if joined and joined[-1][::2] == part[::2]:
            joined[-1] = part._replace(text=joined[-1].text + part.text)
        else:
            joined.append(part)
    return joined


@pytest.mark.parametrize("seed", range(20))
def test_a_text_has_the_same_parts_in_whatever_pieces_it_comes(seed: int) -> None:
    rng = random.Random(seed)
    sizes = tuple(rng.randrange(0, 12) for _ in range(40))
    assert read(f"<think>\nI see.\n</think>\n\nWell. {CALL}\n{CALL}", sizes=sizes) == [
        Part("reasoning", "I see.\n"),
        Part("content", "Well. "),
        Part("name", "book", 0),
        Part("arguments", ARGUMENTS, 0),
        Part("name", "book", 1),
        Part("arguments", ARGUMENTS, 1),
    ]


def test_without_tools_a_call_is_content() -> None:
    assert read(CALL, tools=False) == [Part("content", CALL)]


@pytest.mark.parametrize(
    "text",
    ["Plain.", "a < b", "<thin", "<tool_cal", "<tool_call>no json</tool_call>", '<tool_call>\n{"name": 3', " \n"],
)
def test_what_is_no_sound_block_stays_content(text: str) -> None:
    assert read(text) == [Part("content", text)]


def test_reasoning_that_never_ends_stays_reasoning() -> None:
    assert read("<think>\nI see. So") == [Part("reasoning", "I see. So")]


def test_thinking_marks_in_mid_answer_stay_content() -> None:
    assert read("So <think>be it</think>") == [Part("content", "So <think>be it</think>")]


def test_arguments_that_break_off_are_told_as_far_as_they_came() -> None:
    assert read(CALL[:60]) == [Part("name", "book", 0), Part("arguments", CALL[42:60], 0)]


def test_a_call_that_is_not_closed_ends_with_the_reply() -> None:
    assert read(CALL.removesuffix("\n</tool_call>")) == [Part("name", "book", 0), Part("arguments", ARGUMENTS, 0)]


@given(st.text(alphabet='<think>/tool_call{}" \n', max_size=60), st.lists(st.integers(0, 5), max_size=12))
def test_any_text_is_read(text: str, sizes: list[int]) -> None:
    assert read(text, sizes=tuple(sizes)) == read(text)
