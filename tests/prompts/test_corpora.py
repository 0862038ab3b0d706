from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from fuzzer.errors import UsageError
from fuzzer.prompts import PromptPool, check, corpora
from fuzzer.prompts.canary import occurs

SIZE = 200  # rows of the shipped corpus "gate"
GOOD: dict[str, Any] = {"messages": [{"role": "user", "content": "Hue?"}], "answer": "red", "check": "exact"}


def write(path: Path, *rows: object) -> str:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def gate() -> PromptPool:
    return PromptPool(3, corpora=["gate"])


def test_a_row_gets_a_ticket_and_is_not_attributable(gate: PromptPool) -> None:
    tickets = set()
    for prompt in map(gate.prompt, range(SIZE)):
        ticket = next(canary for canary in prompt.canaries if canary.channel == "user")
        assert prompt.messages[-1].content.startswith(f"Ticket: {ticket.text}\n")
        assert not prompt.attributable
        tickets.add(ticket.text)
    assert len(tickets) == SIZE


def test_a_corpus_ends(gate: PromptPool) -> None:
    with pytest.raises(IndexError):
        gate.prompt(SIZE)
    assert not gate.filler(1000).family.startswith(corpora.PREFIX)


def test_the_seed_decides_the_order_and_the_tickets(gate: PromptPool) -> None:
    again, other = PromptPool(3, corpora=["gate"]), PromptPool(4, corpora=["gate"])
    assert [again.prompt(index) for index in range(SIZE)] == [gate.prompt(index) for index in range(SIZE)]
    assert [other.prompt(index).answer for index in range(SIZE)] != [gate.prompt(index).answer for index in range(SIZE)]


def test_with_families_every_second_prompt_is_a_row_and_there_is_no_end(gate: PromptPool) -> None:
    both = PromptPool(3, families=["echo"], corpora=["gate"])
    assert both.size is None
    asked = [both.prompt(index) for index in range(2 * SIZE + 2)]
    assert [prompt.answer for prompt in asked[: 2 * SIZE : 2]] == [gate.prompt(index).answer for index in range(SIZE)]
    assert {prompt.family for prompt in (*asked[1::2], asked[2 * SIZE])} == {"echo"}


def test_a_corpus_of_ones_own(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.jsonl",
        GOOD,
        "",
        {**GOOD, "answer": "1,200.50", "check": "number", "level": "easy", "extra": 1},
        {**GOOD, "answer": "one; two, too", "check": "list"},
    )
    pool = PromptPool(0, corpora=[path])
    rows = {str(prompt.spec["check"]): prompt for prompt in map(pool.prompt, range(3))}
    assert rows["exact"].level == "hard"
    assert rows["number"].level == "easy"
    assert check(rows["number"], "1200.5").value == "right"
    assert check(rows["list"], "- one\n- two, too").value == "right"
    assert rows["list"].family == "corpus/mine"
    assert all(occurs(canary.text, rows["exact"].text) for canary in rows["exact"].canaries)


def test_a_corpus_in_parquet(tmp_path: Path) -> None:
    import datasets

    path = tmp_path / "mine.parquet"
    datasets.Dataset.from_list([GOOD, {**GOOD, "answer": "blue"}]).to_parquet(str(path))
    pool = PromptPool(0, corpora=[str(path)])
    assert {pool.prompt(index).answer for index in range(2)} == {"red", "blue"}


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("{not json", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        ({"messages": GOOD["messages"], "check": "exact"}, "answer"),
        ({**GOOD, "answer": 5}, "answer"),
        ({**GOOD, "answer": ""}, "answer"),
        ({**GOOD, "answer": "a\nb"}, "one line"),
        ({**GOOD, "check": "regex"}, "check"),
        ({**GOOD, "answer": "many", "check": "number"}, "not a number"),
        ({**GOOD, "answer": "one", "check": "list"}, "two items"),
        ({**GOOD, "level": "silly"}, "level"),
        ({**GOOD, "messages": []}, "messages"),
        ({**GOOD, "messages": [{"role": "robot", "content": "x"}]}, "role"),
        ({**GOOD, "messages": [{"role": "user", "content": ""}]}, "content"),
        ({**GOOD, "messages": [*GOOD["messages"], {"role": "assistant", "content": "x"}]}, "last message"),
        ({**GOOD, "messages": [*GOOD["messages"], {"role": "system", "content": "x"}, *GOOD["messages"]]}, "system"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_reason(tmp_path: Path, row: object, what: str) -> None:
    path = write(tmp_path / "bad.jsonl", GOOD, "", row)
    with pytest.raises(UsageError) as refused:
        PromptPool(0, corpora=[path])
    assert path in str(refused.value)
    assert "line 3" in str(refused.value)
    assert what in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="gate"):
        PromptPool(0, corpora=["gaet"])
    with pytest.raises(UsageError, match="no such file"):
        PromptPool(0, corpora=[str(tmp_path / "none.jsonl")])
    with pytest.raises(UsageError, match="no rows"):
        PromptPool(0, corpora=[write(tmp_path / "empty.jsonl", "")])
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(GOOD).encode() + b'\n{"\xe9": 1}\n')
    with pytest.raises(UsageError, match="UTF-8"):
        PromptPool(0, corpora=[str(tmp_path / "latin.jsonl")])
    (tmp_path / "array.jsonl").write_text(json.dumps([GOOD, GOOD], indent=1))
    with pytest.raises(UsageError):
        PromptPool(0, corpora=[str(tmp_path / "array.jsonl")])


def test_loading_needs_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert PromptPool(0, corpora=["gate", write(tmp_path / "mine.jsonl", GOOD)]).size == SIZE + 1


def test_loading_says_nothing(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    PromptPool(0, corpora=[write(tmp_path / "mine.jsonl", GOOD)])
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("want", "said"),
    [
        ("right", "Red."),
        ("verbose", "The hue is red."),
        ("verbose", "red\n\nThat is the hue of most barns."),
        ("verbose", "Some say blue, but the answer is red."),
        ("wrong-value", "reddish"),
        ("wrong-value", "red or blue"),
        ("wrong-value", "red, blue"),
        ("wrong-value", "blue"),
    ],
)
def test_an_exact_answer(tmp_path: Path, want: str, said: str) -> None:
    prompt = PromptPool(0, corpora=[write(tmp_path / "mine.jsonl", GOOD)]).prompt(0)
    grade = check(prompt, said)
    assert (grade.sub_kind or grade.value) == want


@pytest.mark.parametrize(
    ("answer", "said", "good"),
    [
        ("北極星丸", "北極星丸です。", True),
        ("北極星丸", "答えは北極星丸です。", True),
        ("북두칠성", "북두칠성입니다.", True),
        ("ธารทอง", "คำตอบคือธารทอง", True),
        ("北極星丸", "北極星です。", False),
        ("東", "東京", False),
        ("東", "東です。", True),
        ("red", "redです", True),
        ("red", "redder", False),
    ],
)
def test_an_exact_answer_in_a_script_without_spaces(tmp_path: Path, answer: str, said: str, good: bool) -> None:
    prompt = PromptPool(0, corpora=[write(tmp_path / "mine.jsonl", {**GOOD, "answer": answer})]).prompt(0)
    assert check(prompt, said).passed == good


@pytest.mark.parametrize(
    ("answer", "said", "good"),
    [
        ("don't", "don’t", True),
        ("don’t", "don't", True),
        ("don't", "dont", False),
        ("Paris", "Paris? No, Lyon.", False),
        ("Paris", "Paris. Wait, no: Lyon.", False),
        ("Paris", "Paris. No doubt.", True),
    ],
)
def test_an_exact_answer_and_what_is_said_after_it(tmp_path: Path, answer: str, said: str, good: bool) -> None:
    prompt = PromptPool(0, corpora=[write(tmp_path / "mine.jsonl", {**GOOD, "answer": answer})]).prompt(0)
    assert check(prompt, said).passed == good
