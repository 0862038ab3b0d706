from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.history.records import Prompt, ToolCall
from fuzzer.prompts import check
from fuzzer.prompts.draws import Draws
from fuzzer.prompts.families import FAMILIES
from fuzzer.prompts.pool import PromptPool
from fuzzer.sim.answer import Slot, text_of
from fuzzer.sim.channels import Channels
from fuzzer.sim.config import SimConfig
from fuzzer.sim.request import parse_chat
from fuzzer.sim.solver import solve
from fuzzer.wire.dialects import OPENAI
from fuzzer.wire.params import Params
from tests.prompts.strategies import CALLING, KINDS, make

MIXED = [PromptPool(seed=11).prompt(index) for index in range(500)]
BY_KIND: dict[tuple[str, str], Prompt] = {(name, level): make(name, level, 12) for name, level in (*KINDS, *CALLING)}


def chat(prompt: Prompt) -> tuple[tuple[str, str], ...]:
    """The prompt as the engine reads it from a request."""
    params = Params(max_tokens=9, thinking=prompt.wants.thinking or "auto", wants=prompt.wants)
    body = OPENAI.body(None, prompt.messages, params)
    return parse_chat(json.dumps(body).encode(), SimConfig()).messages


def passed(prompt: Prompt, text: str) -> bool:
    """Whether the model's text is right once it stands in a reply."""
    channels = Channels(tools=bool(prompt.wants.tools))
    parts = channels.feed(text, over=True)
    said = {kind: "".join(part.text for part in parts if part.kind == kind) for kind in ("content", "reasoning")}
    calls = [
        ToolCall(
            name="".join(part.text for part in parts if (part.kind, part.call) == ("name", call)),
            arguments="".join(part.text for part in parts if (part.kind, part.call) == ("arguments", call)),
        )
        for call in range(channels.calls)
    ]
    reason = "tool_calls" if calls else "stop"
    grade = check(prompt, said["content"], finish_reason=reason, calls=calls, reasoning=said["reasoning"])
    return grade.passed


def test_every_question_of_the_pool_is_answered_right() -> None:
    wrong = [(prompt.family, prompt.level) for prompt in MIXED if not passed(prompt, text_of(solve(chat(prompt))))]
    assert wrong == []


def test_every_family_and_level_is_answered_right() -> None:
    asked = [make(*kind, seed) for kind in (*KINDS, *CALLING) for seed in range(6)]
    assert {(prompt.family, prompt.level) for prompt in asked} == {
        (name, level) for name, family in FAMILIES.items() for level in family.levels
    }
    assert [prompt for prompt in asked if not passed(prompt, text_of(solve(chat(prompt))))] == []


def test_a_code_is_found_in_a_very_long_text() -> None:
    prompt = FAMILIES["needle"].generate(Draws(4, "p", 1, pad=30_000), "p000001", "hard")
    assert passed(prompt, text_of(solve(chat(prompt))))


def variants(slots: tuple[Slot, ...], content: bool) -> Iterator[str]:
    """The answer with one slot said in each of its other ways."""
    for place, slot in enumerate(slots):
        for other in slot.alternatives if slot.content is content else ():
            yield text_of((*slots[:place], Slot(other), *slots[place + 1 :]))


@pytest.mark.parametrize("kind", list(BY_KIND))
def test_other_wordings_are_still_right(kind: tuple[str, str]) -> None:
    prompt = BY_KIND[kind]
    slots = solve(chat(prompt))
    texts = list(variants(slots, content=False))
    everything = text_of(Slot(slot.text if slot.content else (*slot.alternatives, slot.text)[0]) for slot in slots)
    assert texts
    assert [text for text in (*texts, everything) if not passed(prompt, text)] == []


@pytest.mark.parametrize("kind", list(BY_KIND))
def test_mistakes_in_content_are_wrong(kind: tuple[str, str]) -> None:
    prompt = BY_KIND[kind]
    texts = list(variants(solve(chat(prompt)), content=True))
    assert texts
    assert [text for text in texts if passed(prompt, text)] == []


def test_a_question_in_a_foreign_chat_gets_some_answer() -> None:
    for own, other in itertools.product(BY_KIND.values(), BY_KIND.values()):
        assert text_of(solve((*chat(own)[:-1], chat(other)[-1]))).strip()


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()), max_size=4))
def test_any_chat_gets_an_answer(messages: list[tuple[str, str]]) -> None:
    assert text_of(solve(tuple(messages))).strip()


def test_an_unknown_message_is_said_back() -> None:
    assert text_of(solve((("user", "It rains. Why do cats purr?"),))) == "You said: Why do cats purr."
