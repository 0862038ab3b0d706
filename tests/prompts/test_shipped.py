"""The corpora that come with specfuzz: answerable, told apart, and written again by their generators."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rapidfuzz import fuzz

from benchmarks.corpora import GENERATED
from benchmarks.corpora.rows import lines
from fuzzer.history.records import Prompt
from fuzzer.prompts import PromptPool, check, corpora

HOME = Path(__file__).resolve().parents[2] / "corpora"
SIZES = {"agentic": 90, "c8-wrong-answer": 151, "gate": 200, "long-context": 30, "multilingual": 100}
COMMON = frozenset(["Conditions", "Correction", "February", "September", "November", "December"])
INVENTED = re.compile(r"\b[A-Z][a-z]{7,}\b")


def raw(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HOME / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def asked(row: dict[str, Any]) -> str:
    """What a row's user said, in order."""
    return "\n".join(said["content"] for said in row["messages"] if said["role"] == "user")


@pytest.fixture(scope="module", params=SIZES)
def shipped(request: pytest.FixtureRequest) -> list[Prompt]:
    pool = PromptPool(5, corpora=[request.param])
    return [pool.prompt(index) for index in range(SIZES[request.param])]


def test_five_corpora_come_with_specfuzz() -> None:
    assert set(corpora.shipped()) == set(SIZES)
    assert {name: PromptPool(0, corpora=[name]).size for name in SIZES} == SIZES


def test_every_answer_passes_its_own_check(shipped: list[Prompt]) -> None:
    for prompt in shipped:
        assert check(prompt, prompt.answer).value == "right", prompt.answer
        assert check(prompt, f"The answer is {prompt.answer}.").value == "verbose", prompt.answer
        assert check(prompt, "").sub_kind == "empty"


def test_no_answer_passes_for_another(shipped: list[Prompt]) -> None:
    assert len({prompt.answer.casefold() for prompt in shipped}) == len(shipped)
    for prompt, other in itertools.permutations(shipped, 2):
        assert not check(prompt, other.answer).passed, (prompt.answer, other.answer)


def test_an_earlier_turns_answer_is_recognised(shipped: list[Prompt]) -> None:
    for prompt in shipped:
        earlier = [said.content for said in prompt.messages if said.role == "assistant" and said.content]
        for said in earlier if prompt.spec["check"] != "number" else ():
            grade = check(prompt, said)
            assert not grade.passed
            assert grade.sub_kind == "wrong-last-message" or len(said) < 5, (said, prompt.answer)


@pytest.mark.parametrize("name", SIZES)
def test_rows_are_named_and_no_question_stands_twice(name: str) -> None:
    rows = raw(name)
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row["family"] and row["level"] in ("easy", "medium", "hard") for row in rows)
    assert len({json.dumps(row["messages"]) for row in rows}) == len(rows)


@pytest.mark.parametrize("name", ["gate", "multilingual"])
def test_no_handwritten_question_is_nearly_another(name: str) -> None:
    long = [text for text in map(asked, raw(name)) if len(text) > 60]  # sums differ in their numbers alone
    assert [pair for pair in itertools.combinations(long, 2) if fuzz.ratio(*pair) > 90] == []


@pytest.mark.parametrize("name", ["gate", "c8-wrong-answer"])
def test_there_are_easy_medium_and_hard_rows(name: str) -> None:
    levels = Counter(row["level"] for row in raw(name))
    assert min(levels["easy"], levels["medium"], levels["hard"]) >= 25


@pytest.mark.parametrize("name", GENERATED)
def test_the_generator_writes_the_same_bytes_again(name: str) -> None:
    assert (HOME / f"{name}.jsonl").read_text(encoding="utf-8") == lines(GENERATED[name]())


def test_an_invented_name_is_in_one_row_only() -> None:
    seen: Counter[str] = Counter()
    for row in itertools.chain(*(rows() for rows in GENERATED.values())):
        told = "\n".join(str(said["content"]) for said in row["messages"])
        seen.update(set(INVENTED.findall(told)) - COMMON)
    assert [name for name, rows in seen.items() if rows > 1] == []


def test_the_languages_are_many() -> None:
    rows = raw("multilingual")
    assert len({row["language"] for row in rows}) >= 20
    scripts = ["[А-я]", "[Α-ω]", "[א-ת]", "[ا-ي]", "[अ-ह]", "[অ-হ]", "[ก-ฮ]", "[一-龥]", "[ぁ-ん]", "[가-힣]", "[a-z]"]
    assert all(any(re.search(script, row["answer"] + asked(row)) for row in rows) for script in scripts)


def test_every_row_of_the_agentic_corpus_offers_its_tools() -> None:
    pool = PromptPool(5, corpora=["agentic"])
    for prompt in map(pool.prompt, range(SIZES["agentic"])):
        offered = {tool.name for tool in prompt.wants.tools}
        called = [call for said in prompt.messages for call in said.tool_calls]
        answered = [said.tool_call_id for said in prompt.messages if said.role == "tool"]
        assert {call.name for call in called} <= offered
        assert [call.id for call in called] == answered
        assert all(isinstance(json.loads(call.arguments), dict) for call in called)


def test_a_long_text_shares_no_sentence_with_another() -> None:
    seen: Counter[str] = Counter()
    for row in raw("long-context"):
        text = asked(row).rpartition("\n\n")[0]
        assert 1500 <= len(text) <= 9000
        seen.update(set(re.split(r"(?<=\.)\s", text)))
    assert seen.most_common(1)[0][1] == 1


@pytest.mark.parametrize("name", SIZES)
def test_a_card_tells_size_families_source_language_and_licence(name: str) -> None:
    card = (HOME / f"{name}.md").read_text(encoding="utf-8")
    assert f"# Corpus `{name}`" in card
    assert f"{SIZES[name]} rows" in card
    for row in raw(name):
        assert row["family"] in card
    for word in ("**Source**", "**Language", "**Answers**", "Apache-2.0", "**Limits**"):
        assert word in card
