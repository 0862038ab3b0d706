"""Rows of every format are read as they are; what is wrong with one is named by its field."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from fuzzer.errors import UsageError
from fuzzer.history.records import Message, Prompt
from fuzzer.prompts import check, corpora
from fuzzer.prompts.corpora.formats import FORMATS, read_row
from fuzzer.prompts.corpora.rows import Row, RowError, Where
from tests.prompts.corpora.files import MAKERS, ROWS, messages, mt_bench, request, rows, sharegpt, write

CHECKABLE = {"own", "ifeval", "gsm8k", "humaneval", "mbpp"}


def read(raw: dict[str, Any]) -> Row:
    return read_row(raw, Where("here"))


def ask(row: Row, seed: int = 0, *, weave: bool = False) -> Prompt:
    return corpora.prompt("test", row, random.Random(seed), "p000000", weave=weave)


def said(*turns: tuple[str, str]) -> tuple[Message, ...]:
    return tuple(Message.model_validate({"role": role, "content": content}) for role, content in turns)


@pytest.mark.parametrize("name", [*MAKERS, "request"])
def test_twenty_rows_of_each_format_are_told_by_their_fields(name: str, tmp_path: Path) -> None:
    loaded = corpora.load(str(write(tmp_path / "mine.jsonl", *rows(name))))
    assert len(loaded.rows) == ROWS
    assert {row.format for row in loaded.rows} == {"messages" if name == "request" else name}
    assert {row.checkable for row in loaded.rows} == {name in CHECKABLE}
    for row in loaded.rows:
        prompt = ask(row)
        assert prompt.checkable == row.checkable
        assert prompt.messages[-1].role in ("user", "tool")
        assert not row.answer or check(prompt, row.answer).passed


def test_every_format_shows_an_example_that_it_reads() -> None:
    import json

    for name, shown in FORMATS.items():
        assert read(json.loads(shown.example)).format == name


def test_the_guide_tells_of_every_format() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "corpora.md").read_text(encoding="utf-8")
    assert [name for name in FORMATS if f"| `{name}` |" not in guide] == []


def test_an_answer_in_a_log_is_no_answer_key_and_is_not_sent() -> None:
    prompt = ask(read(messages(4)))
    assert prompt.messages == said(
        ("system", "You help travellers. Be brief."),
        ("user", "Is there a bridge at Eskwick?"),
        ("assistant", "Yes, a stone one."),
        ("user", "How would I cross with 7 carts?"),
    )
    assert not prompt.checkable
    assert check(prompt, "One by one.").value == "unchecked"


def test_a_traffic_logs_request_keeps_tools_and_calls_and_loses_its_sampling() -> None:
    prompt = ask(read(request(2)))
    user, call, result = prompt.messages
    assert user.content == "When is high tide at Corvane?"
    assert (call.content, call.tool_calls[0].name, call.tool_calls[0].arguments) == ("", "tide", '{"town": "Corvane"}')
    assert (result.role, result.tool_call_id, result.content) == ("tool", "c1", "2:15")
    assert [tool.name for tool in prompt.wants.tools] == ["tide"]
    assert prompt.wants.max_tokens == 62


@pytest.mark.parametrize(
    ("body", "wants"),
    [
        ({"max_tokens": 4096}, {"max_tokens": None}),
        ({"max_completion_tokens": 9}, {"max_tokens": 9}),
        ({"max_tokens": -1}, {"max_tokens": None}),
        ({"tool_choice": "none"}, {"tools": ()}),
        ({"tool_choice": "required"}, {"tool_choice": "required"}),
        ({"tool_choice": {"type": "function", "function": {"name": "tide"}}}, {"tool_choice": "required"}),
        ({"response_format": {"type": "text"}}, {"json_schema": None}),
        ({"response_format": {"type": "json_object"}}, {"json_schema": {"type": "object"}}),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "array"}}}},
            {"json_schema": {"type": "array"}},
        ),
    ],
)
def test_what_a_request_wants_beside_its_messages_is_kept(body: dict[str, Any], wants: dict[str, Any]) -> None:
    raw = request(0)["request"]["body"]
    found = ask(read({**raw, **body})).wants
    assert {name: getattr(found, name) for name in wants} == wants


@pytest.mark.parametrize(
    "row",
    [
        {"body": {"messages": [{"role": "user", "content": "Hue?"}], "model": "m"}, "custom_id": "7", "method": "POST"},
        {"request": {"messages": [{"role": "user", "content": "Hue?"}]}, "id": "7"},
        {"request": '{"messages": [{"role": "user", "content": "Hue?"}]}', "id": 7},
        {"messages": '[{"role": "user", "content": "Hue?"}]', "id": 7},
        {"messages": [{"role": "user", "content": "Hue?"}], "tools": None, "request": None, "id": "7"},
        {"request": {"body": {"model": "m", "prompt": "Hue?"}}, "id": 7},
    ],
)
def test_a_request_may_lie_below_other_fields_or_in_a_cell(row: dict[str, Any]) -> None:
    found = read(row)
    assert found.messages == said(("user", "Hue?"))
    assert found.id == "7"


@pytest.mark.parametrize("more", [{"turns": 3}, {"question": "x"}, {"code": 200}, {"prompt": "x", "kwargs": {}}])
def test_other_fields_of_a_log_do_not_make_it_another_format(more: dict[str, Any]) -> None:
    assert read({**messages(0), **more}).format == "messages"


@pytest.mark.parametrize(
    "last", [{}, {"content": None}, {"content": [{"type": "audio"}]}, {"content": "", "refusal": "No."}]
)
def test_what_the_model_said_last_may_be_anything(last: dict[str, Any]) -> None:
    said_last = {"role": "assistant", **last}
    assert read({"messages": [{"role": "user", "content": "Hue?"}, said_last]}).messages == said(("user", "Hue?"))


def test_sharegpt_asks_a_turn_drawn_by_seed_with_the_history_before_it() -> None:
    row = read(sharegpt(3))
    asked = {ask(row, seed).messages for seed in range(40)}
    assert {len(each) for each in asked} == {1, 3, 5}
    longest = max(asked, key=len)
    assert longest[1] == Message(role="assistant", content="A warm coat and good shoes.")
    assert ask(row, 7) == ask(row, 7)


def test_sharegpt_leaves_out_what_the_model_says_first() -> None:
    turns = [("gpt", "Welcome!"), ("user", "Hue?"), ("chatgpt", "Red.")]
    row = read({"system": "Be brief.", "conversations": [{"from": who, "value": what} for who, what in turns]})
    assert ask(row).messages == said(("system", "Be brief."), ("user", "Hue?"))
    assert read({"conversations": [{"role": "user", "content": "Hue?"}]}).messages == said(("user", "Hue?"))


def test_mt_bench_asks_the_second_turn_only_behind_a_reference_answer() -> None:
    without, with_one = read(mt_bench(2)), read(mt_bench(3))
    assert {len(ask(without, seed).messages) for seed in range(20)} == {1}
    assert {len(ask(with_one, seed).messages) for seed in range(20)} == {1, 3}


def test_gsm8k_compares_the_number_behind_the_hashes() -> None:
    prompt = ask(read({"question": "How many?", "answer": "Two of 600.\n#### 1,200"}))
    assert check(prompt, "That makes 2 * 600 = 1200.").passed
    assert check(prompt, "1,201").sub_kind == "wrong-value"


def test_ifeval_takes_arguments_that_are_null_as_not_given() -> None:
    row = {
        "prompt": "Name a river without commas.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{"keyword": None, "num_words": None}],
    }
    prompt = ask(read(row))
    assert check(prompt, "The Elbe is one.").passed
    assert check(prompt, "The Elbe, for one.").sub_kind == "dropped-constraint"


def test_mbpp_asks_for_a_name_only_where_the_description_gives_one() -> None:
    row = {"task_id": 1, "code": "def double(x):\n    return 2 * x\n", "test_list": ["assert double(2) == 4"]}
    named = ask(read({**row, "prompt": "Write double(x)."}))
    nameless = ask(read({**row, "text": "Write a function that doubles."}))
    other = "def twice(x):\n    return x + x\n"
    assert check(nameless, other).passed
    assert not check(named, other).passed


GOOD = {"role": "user", "content": "Hue?"}
IFEVAL = rows("ifeval")[0]
HUMAN = rows("humaneval")[0]
MBPP = rows("mbpp")[0]


@pytest.mark.parametrize(
    ("row", "field", "what"),
    [
        ({"text": "Hue?"}, "", "of no known format"),
        ({}, "", "of no known format"),
        ({"messages": [{"content": "Hue?"}]}, "messages.0.role", "is missing"),
        ({"messages": [{"role": "robot", "content": "Hue?"}]}, "messages.0.role", "'robot'"),
        ({"messages": [{"role": "user"}]}, "messages.0.content", "is missing"),
        ({"messages": [{"role": "user", "content": " \n"}]}, "messages.0.content", "is empty"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content", "not a text"),
        ({"messages": [{"role": "user", "content": "a\ud800"}]}, "messages", "surrogate"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content", "'image_url'"),
        ({"messages": ["Hue?"]}, "messages.0", "not an object"),
        ({"messages": "Hue?"}, "messages", "not a list"),
        ({"messages": []}, "messages", "is empty"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages", "no message of a user's"),
        ({"messages": [GOOD, {"role": "system", "content": "x"}]}, "messages", "last message"),
        ({"messages": [GOOD], "max_tokens": "many"}, "max_tokens", "not a whole number"),
        ({"prompt": "Hue?", "output_tokens": 0}, "output_tokens", "greater than or equal to 1"),
        ({"messages": [GOOD], "tools": [{"function": {}}]}, "tools.0.function.name", "is missing"),
        ({"conversations": []}, "conversations", "is empty"),
        ({"conversations": [{"from": "human", "value": ""}]}, "conversations.0.value", "is empty"),
        ({"conversations": [{"from": "cat", "value": "x"}]}, "conversations.0.from", "'cat'"),
        ({"conversations": [{"from": "human"}]}, "conversations.0.value", "is missing"),
        ({"conversations": [{"from": "gpt", "value": "x"}]}, "conversations", "no message of a user's"),
        ({"prompt": "\t"}, "prompt", "is empty"),
        ({"prompt": ["Hue?"]}, "prompt", "not a text"),
        ({"prompt": "Hue?", "output_tokens": "many"}, "output_tokens", "not a whole number"),
        (
            {**IFEVAL, "instruction_id_list": ["punctuation:none", "keywords:existence"]},
            "instruction_id_list.0",
            "none",
        ),
        ({**IFEVAL, "kwargs": [{}, {}]}, "kwargs.1", "keywords"),
        ({**IFEVAL, "kwargs": [{}]}, "kwargs", "1 entries for 2"),
        ({"key": 1, "prompt": "Hue?", "kwargs": [{}]}, "instruction_id_list", "is missing"),
        ({"question": "How many?", "answer": "It is 5."}, "answer", "no ####"),
        ({"question": "How many?", "answer": "#### many"}, "answer", "not a number"),
        ({"question": "How many?"}, "answer", "is missing"),
        ({"turns": ["Hue?", ""]}, "turns.1", "is empty"),
        ({"turns": []}, "turns", "is empty"),
        ({**HUMAN, "entry_point": "no name"}, "entry_point", "no name"),
        ({**HUMAN, "entry_point": "other"}, "canonical_solution", "does not define other"),
        ({**MBPP, "code": "def times_0(x) return"}, "code", "no Python"),
        ({**MBPP, "test_list": ["assert other(1) == 1"]}, "test_list", "no test calls"),
    ],
)
def test_what_is_wrong_with_a_row_is_named_by_its_field(row: dict[str, Any], field: str, what: str) -> None:
    with pytest.raises(RowError) as refused:
        read(row)
    (name, reason), *_ = refused.value.faults
    assert name == field
    assert what in reason
    assert "\n" not in reason


def test_all_that_is_wrong_with_a_row_is_named() -> None:
    with pytest.raises(RowError) as refused:
        read({"messages": [{"role": "robot", "content": "x"}, {"role": "user"}], "answer": "", "check": "fuzzy"})
    assert [field for field, _ in refused.value.faults] == ["messages.0.role", "messages.1.content", "answer", "check"]


def test_an_answer_that_its_own_check_refuses_is_a_mistake(tmp_path: Path) -> None:
    good = {"messages": [GOOD], "answer": "red", "check": "exact"}
    corpora.load(str(write(tmp_path / "good.jsonl", good)))
    for bad in (
        {"answer": "`red`"},
        {"answer": "1.5e3", "check": "number"},
        {"answer": "*red*, blue", "check": "list"},
    ):
        path = write(tmp_path / "bad.jsonl", good, {**good, **bad})
        with pytest.raises(UsageError, match=r"bad\.jsonl, line 2: answer: its own check"):
            corpora.load(str(path))


def test_the_same_id_twice_is_a_mistake_but_not_in_a_log(tmp_path: Path) -> None:
    twice = [*rows("ifeval", 3), {**rows("ifeval")[3], "key": 101}]
    with pytest.raises(UsageError, match="line 4: key: '101' is the id of line 2, too"):
        corpora.load(str(write(tmp_path / "twice.jsonl", *twice)))
    corpora.load(str(write(tmp_path / "log.jsonl", {**messages(0), "id": "a"}, {**messages(1), "id": "a"})))


def test_the_first_of_many_mistakes_is_told_with_their_number(tmp_path: Path) -> None:
    path = write(tmp_path / "bad.jsonl", rows("prompt")[0], {"prompt": ""}, {"prompt": ""}, "nonsense")
    with pytest.raises(UsageError, match=r"line 2: prompt: is empty \(and 2 more: specfuzz corpus check"):
        corpora.load(str(path))
