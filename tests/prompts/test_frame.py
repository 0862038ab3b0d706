from __future__ import annotations

import pytest

from fuzzer.history.records import Level, Prompt, ToolCall
from fuzzer.prompts.canary import MARK
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.frame import GUIDE, Task, Used, frame

CALL = ToolCall(name="find_row", arguments='{"row": 7}', id="call_1")
USED = Used(question="Find row 7.", call=CALL, result='{"found": true}', answer="Found it.")


def framed(level: Level, task: Task, seed: int = 1) -> Prompt:
    return frame("family", Draws(seed, "p", 0), "p0", level, task)


def task(**changes: object) -> Task:
    return Task(**({"ask": "What?", "answer": "{}", "spec": {}} | changes))  # type: ignore[arg-type]  # the tests' own


def test_a_bare_hard_prompt_asks_for_the_answer_alone_under_the_long_system_message() -> None:
    prompt = framed("hard", task(framed=False))
    system, last = prompt.messages
    assert system.content.startswith(GUIDE)
    assert last.content.endswith("\nWhat?")
    assert "three lines" not in prompt.text
    assert (prompt.answer, prompt.spec["frame"]) == ("{}", [])
    assert [mark.channel for mark in prompt.canaries] == ["system", "user"]


@pytest.mark.parametrize("level", ["easy", "medium"])
def test_the_flag_changes_nothing_in_short_prompts(level: Level) -> None:
    assert framed(level, task(framed=False)) == framed(level, task())


def test_a_hard_prompt_is_framed_unless_told_otherwise() -> None:
    prompt = framed("hard", task())
    assert "three lines" in prompt.messages[-1].content
    assert len(prompt.answer.split("\n")) == 3


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
@pytest.mark.parametrize("bare", [True, False])
def test_an_earlier_call_stands_in_the_history_with_its_result(level: Level, bare: bool) -> None:
    prompt = framed(level, task(earlier=(("Who?", "Ann"),), used=(USED,), framed=not bare))
    roles = [message.role for message in prompt.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "user"]
    asked, calling, result, said = prompt.messages[3:7]
    assert asked.content.endswith("\nFind row 7.")
    assert MARK.search(asked.content)
    assert (calling.content, calling.tool_calls) == ("", (CALL,))
    assert (result.content, result.tool_call_id) == ('{"found": true}', "call_1")
    assert said.content == "Found it."
    assert prompt.spec["decoys"] == ["Ann", '{"row": 7}']
    assert {mark.channel for mark in prompt.canaries} == {"system", "history", "user"}


def test_the_case_number_stands_in_the_first_message_whatever_kind_of_turn_that_is() -> None:
    by_case = [framed("hard", task(used=(USED,)), seed) for seed in range(20)]
    firsts = [prompt.messages[1].content for prompt in by_case if "case number" in prompt.messages[-1].content]
    assert firsts
    assert all(content.startswith("Case number: ") and content.endswith("Find row 7.") for content in firsts)
