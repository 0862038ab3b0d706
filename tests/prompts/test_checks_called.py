"""Replies as models give them, to questions that are answered by a call of a function."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fuzzer.history.records import Level, Prompt, ToolCall
from fuzzer.prompts import canonical, check
from fuzzer.prompts.canary import occurs
from tests.prompts.strategies import CALLING, make

EASY = make("tool-call", "easy", 1)
HARD = make("tool-call", "hard", 1)
OTHER = make("tool-call", "hard", 2)
CALL: Any = HARD.spec["call"]
ARGUMENTS = CALL["arguments"]
NAME = CALL["name"]
WHO, CODE, NUMBER = ARGUMENTS
EARLIER = next(message for message in HARD.messages if message.tool_calls).tool_calls[0]
UNUSED = next(tool.name for tool in HARD.wants.tools if tool.name not in (NAME, EARLIER.name))


def call(arguments: object = ARGUMENTS, name: str = NAME) -> ToolCall:
    return ToolCall(name=name, arguments=arguments if isinstance(arguments, str) else json.dumps(arguments), id="c")


def verdict(*calls: ToolCall, text: str = "", finish_reason: str = "tool_calls", prompt: Prompt = HARD) -> str:
    grade = check(prompt, text, finish_reason=finish_reason, calls=calls)
    return grade.sub_kind or grade.value


@given(st.sampled_from(CALLING), st.integers(0, 2**32))
def test_the_canonical_call_is_right_and_another_prompts_is_not(kind: tuple[str, Level], seed: int) -> None:
    prompt, other = make(*kind, seed), make(*kind, seed + 1)
    parts = [set(" ".join(each.items).split()) for each in (prompt, other)]
    assume(parts[0].isdisjoint(parts[1]))  # a name that shares a part may be a miscopy
    text, calls = canonical(prompt)
    assert (text, len(calls), calls[0].arguments) == ("", 1, prompt.answer)
    assert verdict(*calls, prompt=prompt) == "right"
    assert verdict(*canonical(other)[1], prompt=prompt) == "another-question"
    (offered,) = [tool for tool in prompt.wants.tools if tool.name == calls[0].name]
    assert Draft202012Validator(offered.parameters).is_valid(json.loads(prompt.answer))


@given(st.sampled_from(CALLING), st.integers(0, 2**32))
def test_all_that_the_call_holds_stands_in_the_last_message(kind: tuple[str, Level], seed: int) -> None:
    prompt = make(*kind, seed)
    asked = prompt.messages[-1].content
    assert all(str(part) in asked for part in json.loads(prompt.answer).values())
    held = {canary.channel for canary in prompt.canaries if occurs(canary.text, prompt.answer)}
    assert held == set(prompt.elicits)
    assert len(prompt.wants.tools) == {"easy": 1, "medium": 2, "hard": 3}[prompt.level]


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps(ARGUMENTS, indent=4),
        json.dumps(ARGUMENTS, separators=(",", ":")),
        json.dumps(dict(reversed(ARGUMENTS.items()))),
        ARGUMENTS | {NUMBER: float(ARGUMENTS[NUMBER])},
    ],
)
def test_another_layout_of_the_arguments_is_right(arguments: object) -> None:
    assert verdict(call(arguments)) == "right"


def test_words_beside_the_call_and_a_number_as_text_are_verbose() -> None:
    assert verdict(call(), text="I will do that for you.") == "verbose"
    assert verdict(call(), text="\n") == "right"
    assert verdict(call(ARGUMENTS | {NUMBER: str(ARGUMENTS[NUMBER])})) == "verbose"


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("wrong-tool", call(name=UNUSED)),
        ("wrong-tool", call(name=EARLIER.name)),
        ("wrong-tool", call(name="made_up")),
        ("wrong-tool", call(name="")),
        ("wrong-last-message", EARLIER),
        ("wrong-last-message", call(EARLIER.arguments)),
        ("another-question", canonical(OTHER)[1][0]),
        ("another-question", call(OTHER.answer)),
        ("another-question", call(ARGUMENTS | {WHO: OTHER.items[0]})),
        ("another-question", call(ARGUMENTS | {CODE: "QX7K-M2PD"})),
        ("dropped-constraint", call({WHO: ARGUMENTS[WHO], NUMBER: ARGUMENTS[NUMBER]})),
        ("dropped-constraint", call({})),
        ("wrong-value", call(ARGUMENTS | {NUMBER: ARGUMENTS[NUMBER] + 1})),
        ("wrong-value", call(ARGUMENTS | {WHO: ARGUMENTS[WHO].lower()})),
        ("wrong-value", call(ARGUMENTS | {WHO: ARGUMENTS[WHO][:-1]})),
        ("wrong-value", call(ARGUMENTS | {"extra": 1})),
        ("wrong-value", call(HARD.answer[:-1])),
        ("wrong-value", call("")),
        ("wrong-value", call("[1]")),
        ("wrong-value", call("not json")),
        ("wrong-value", call("[" * 100_000)),
        ("wrong-value", call(HARD.answer + " " * 1_000_000)),
    ],
)
def test_what_is_wrong_with_a_call_is_told(want: str, said: ToolCall) -> None:
    assert verdict(said) == want


def test_a_second_call_is_one_too_many() -> None:
    assert verdict(call(), call()) == "wrong-value"
    assert verdict(call(), call(name=UNUSED)) == "wrong-tool"
    assert verdict(call(), EARLIER) == "wrong-last-message"
    assert verdict(call(), canonical(OTHER)[1][0]) == "another-question"


@pytest.mark.parametrize(
    "text",
    [
        HARD.answer,
        f"```json\n{HARD.answer}\n```",
        f'<tool_call>\n{{"name": "{NAME}", "arguments": {HARD.answer}}}\n</tool_call>',
        f'{{"name": "{NAME}", "parameters": {HARD.answer}}}',
        f"{NAME}({WHO}={ARGUMENTS[WHO]!r}, {CODE}={ARGUMENTS[CODE]!r}, {NUMBER}={ARGUMENTS[NUMBER]})",
    ],
)
def test_a_call_that_is_only_written_has_dropped_a_constraint(text: str) -> None:
    assert verdict(text=text, finish_reason="stop") == "dropped-constraint"


@pytest.mark.parametrize(
    ("want", "text", "finish_reason"),
    [
        ("missing-call", "Done.", "stop"),
        ("missing-call", "I have done that for you. " * 20, "stop"),
        ("missing-call", f"{ARGUMENTS[WHO]} it is.", "stop"),
        ("another-question", f"{OTHER.items[0]} it is.", "stop"),
        ("wrong-last-message", EARLIER.arguments, "stop"),
        ("refusal", "I'm sorry, but I cannot call functions.", "stop"),
        ("empty", "", "stop"),
        ("runaway", "Let me see. " * 50, "length"),
    ],
)
def test_words_without_a_call_are_told_apart(want: str, text: str, finish_reason: str) -> None:
    assert verdict(text=text, finish_reason=finish_reason) == want


def test_a_call_that_was_cut_off_is_a_runaway() -> None:
    assert verdict(call(HARD.answer[:-3]), finish_reason="length") == "runaway"


@given(st.text(max_size=50), st.text(max_size=50), st.text(max_size=50))
def test_no_reply_makes_the_check_fail(name: str, arguments: str, text: str) -> None:
    assert not check(HARD, text, calls=(ToolCall(name=name, arguments=arguments),)).passed
    assert not check(HARD, text).passed


def test_a_call_where_none_was_asked_for_is_no_answer_in_words() -> None:
    assert not check(make("code-word", "easy", 1), "", calls=(call(),)).passed
