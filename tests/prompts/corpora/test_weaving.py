"""Canaries are woven into a row in every channel, without changing what is asked; or it is sent as it is."""

from __future__ import annotations

import random
from typing import Any

import pytest

from fuzzer.history.records import Prompt
from fuzzer.prompts import check, corpora
from fuzzer.prompts.canary import occurs
from fuzzer.prompts.corpora.formats import read_row
from fuzzer.prompts.corpora.rows import Where
from tests.prompts.corpora.files import MAKERS, messages, own, request


def ask(raw: dict[str, Any], *, weave: bool = True, seed: int = 0) -> Prompt:
    row = read_row(raw, Where("some/where/mine.jsonl", "line", 7))
    return corpora.prompt("mine", row, random.Random(seed), "p000000", weave=weave)


def test_each_message_of_a_persons_and_the_system_message_get_a_canary() -> None:
    prompt, plain = ask(messages(0)), ask(messages(0), weave=False)
    assert [canary.channel for canary in prompt.canaries] == ["system", "history", "user"]
    tag, earlier, ticket = (canary.text for canary in prompt.canaries)
    contents = [message.content for message in prompt.messages]
    assert contents == [
        f"{plain.messages[0].content}\nSession tag: {tag}.",
        f"Ticket: {earlier}\n{plain.messages[1].content}",
        plain.messages[2].content,
        f"Ticket: {ticket}\n{plain.messages[3].content}",
    ]
    assert all(occurs(canary.text, prompt.text) for canary in prompt.canaries)
    assert not prompt.elicits


def test_a_row_without_a_system_message_gets_a_short_one() -> None:
    first, *_ = ask(own(0)).messages
    assert first.role == "system"
    assert first.content.startswith("Session tag: ")


@pytest.mark.parametrize("name", MAKERS)
def test_without_weaving_nothing_is_added(name: str) -> None:
    prompt = ask(MAKERS[name](3), weave=False)
    assert prompt.canaries == ()
    assert "Ticket" not in prompt.text
    assert "Session tag" not in prompt.text
    assert prompt.messages == read_row(MAKERS[name](3), Where("")).messages[: len(prompt.messages)]


def test_the_ticket_stands_in_the_last_message_of_a_person_not_in_a_tools_result() -> None:
    prompt = ask(request(0))
    assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "tool"]
    assert prompt.messages[1].content.startswith("Ticket: ")
    assert prompt.messages[3].content == "0:15"


def test_the_draw_of_a_turn_does_not_depend_on_weaving() -> None:
    for seed in range(12):
        woven, plain = (ask(MAKERS["sharegpt"](1), weave=weave, seed=seed) for weave in (True, False))
        assert len(woven.messages) == len(plain.messages) + 1


def test_a_prompt_says_which_row_it_is_and_is_never_attributable_by_its_answer() -> None:
    prompt = ask(own(0))
    assert prompt.spec["row"] == "mine.jsonl 7"
    assert prompt.family == "corpus/mine"
    assert not prompt.attributable


def test_an_earlier_turns_answer_is_the_wrong_last_message() -> None:
    said = [*messages(0)["messages"][:3], {"role": "user", "content": "Of which stone?"}]
    prompt = ask({"messages": said, "answer": "granite", "check": "exact"})
    assert check(prompt, "Yes, a stone one.").sub_kind == "wrong-last-message"
    assert check(prompt, "Granite.").passed
