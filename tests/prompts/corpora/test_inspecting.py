"""``specfuzz corpus check``: everything that is wrong with a corpus, what stands twice, and what looks alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuzzer.errors import UsageError
from fuzzer.prompts import corpora
from fuzzer.prompts.corpora import alike, inspecting
from fuzzer.prompts.corpora.alike import near
from fuzzer.prompts.corpora.inspecting import as_json, inspect, report
from tests.prompts.corpora.files import MAKERS, own, prompt, rows, write

HUE: dict[str, Any] = {"messages": [{"role": "user", "content": "Which hue has a ripe cherry?"}], "check": "exact"}


def told(path: Path) -> list[tuple[int, str, str]]:
    return [(fault.where.number, fault.field, fault.reason) for fault in inspect(str(path)).problems]


@pytest.mark.parametrize("name", MAKERS)
def test_a_good_file_of_any_format_is_clean(name: str, tmp_path: Path) -> None:
    found = inspect(str(write(tmp_path / "mine.jsonl", *rows(name))))
    assert found.problems == []
    assert (found.total, found.valid, found.compared) == (20, 20, 20)
    assert dict(found.formats) == {name: 20}


def test_the_shipped_corpora_are_clean() -> None:
    for name in corpora.shipped():
        found = inspect(name)
        assert (found.problems, found.near, found.shared) == ([], [], []), name


def test_everything_wrong_is_named_not_only_the_first(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    write(
        path,
        own(0),
        '{"prompt": ',
        {"messages": [{"content": "Hue?"}, {"role": "robot", "content": "x"}]},
        {**own(1), "id": "own-0"},
        {"messages": [{"role": "user", "content": ""}]},
        {**own(2), "answer": "1.5e3"},
        own(0) | {"id": "again"},
        {"text": "what is this?"},
        prompt(3),
        {**rows("ifeval")[0], "instruction_id_list": ["a:b", "c:d"]},
        {"question": "How many?", "answer": "5"},
        own(3),
    )
    path.write_bytes(path.read_bytes() + b'{"prompt": "\xff"}\n')
    found = told(path)
    assert [number for number, *_ in found] == [2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 13]
    assert [field for _, field, _ in found] == [
        "", "messages.0.role", "messages.1.role", "id", "messages.0.content", "answer", "", "", "",
        "instruction_id_list.0", "instruction_id_list.1", "answer", "",
    ]  # fmt: skip
    reasons = " | ".join(reason for *_, reason in found)
    for what in (
        "not JSON",
        "is missing",
        "'robot'",
        "id of line 1",
        "own check",
        "same question as line 1",
        "no known",
    ):
        assert what in reasons
    assert "rows before it are messages: mixed formats" in reasons
    assert "not UTF-8" in reasons


def test_a_file_that_cannot_be_read_on_keeps_what_was_found_before(tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text('[{"prompt": ""},\n{"prompt": "a"},\nnonsense]')
    assert [(number, reason.split(" (")[0]) for number, _, reason in told(path)] == [(1, "is empty"), (3, "not JSON")]
    assert "holds no rows" in told(write(tmp_path / "empty.jsonl"))[0][2]
    with pytest.raises(UsageError, match="no such file"):
        inspect(str(tmp_path / "nowhere.jsonl"))


def test_problems_are_counted_beyond_those_that_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspecting, "MOST", 3)
    found = inspect(str(write(tmp_path / "bad.jsonl", *({"prompt": ""} for _ in range(9)))))
    assert (len(found.problems), found.problem_count) == (3, 9)
    assert "  ... and 6 more" in list(report(found))


def test_near_duplicates_are_named_where_their_answers_do_not_tell_them_apart(tmp_path: Path) -> None:
    ask = "The ferry to {} leaves on Friday at noon, and the bus back leaves on Sunday. When does the ferry leave?"
    logged = [{"prompt": ask.format(town)} for town in ("Corvane", "Cor vane", "Dunmere")]
    found = inspect(str(write(tmp_path / "log.jsonl", *logged)))
    assert [(pair.first.number, pair.second.number) for pair in found.near] == [(1, 2), (1, 3), (2, 3)]
    answered = [
        {"messages": [{"role": "user", "content": ask.format(town)}], "answer": answer, "check": "exact"}
        for town, answer in (("Corvane", "Friday"), ("Dunmere", "Monday"), ("Eskwick", "friday"))
    ]
    found = inspect(str(write(tmp_path / "own.jsonl", *answered)))
    assert [(pair.first.number, pair.second.number) for pair in found.near] == [(1, 3)]
    assert found.problem_count == 0


def test_rows_of_one_answer_are_named_together(tmp_path: Path) -> None:
    hues = [
        {**HUE, "answer": "red"},
        {**HUE, "messages": [{"role": "user", "content": "And of a fire engine in a picture book?"}], "answer": "Red"},
        {**HUE, "messages": [{"role": "user", "content": "And a clear sky at noon in June?"}], "answer": "blue"},
        {"messages": [{"role": "user", "content": "Say nothing that can be checked."}]},
    ]
    found = inspect(str(write(tmp_path / "mine.jsonl", *hues)))
    assert [[where.number for where in each.rows] for each in found.shared] == [[1, 2]]
    assert (found.valid, found.checkable) == (4, 3)
    instructed = [{**rows("ifeval")[0], "key": at, "prompt": f"Task {at * 7919}: what is known?"} for at in range(3)]
    (group,) = inspect(str(write(tmp_path / "ifeval.jsonl", *instructed))).shared
    assert len(group.rows) == 3


def test_what_was_found_can_be_read_by_machines(tmp_path: Path) -> None:
    found = as_json(inspect(str(write(tmp_path / "bad.jsonl", {"prompt": ""}, prompt(1)))))
    assert json.loads(json.dumps(found)) == found
    assert (found["formats"], found["checks"]) == ({"prompt": 1}, {"": 1})
    assert (found["total"], found["valid"], found["checkable"], found["problem_count"]) == (2, 1, 0, 1)
    where = {"source": str(tmp_path / "bad.jsonl"), "unit": "line", "number": 1}
    assert found["problems"] == [{"where": where, "field": "prompt", "reason": "is empty"}]


def test_near_finds_pairs_in_languages_without_spaces_and_ignores_what_is_only_related() -> None:
    texts = [
        "今日は天気がとても良いので、川沿いを散歩しながら古い橋の写真を撮りに行きましょう。",
        "今日は天気がとても良いので、川沿いを散歩しながら古い塔の写真を撮りに行きましょう。",
        "明日は雨が降るらしいので、家で本を読むことにします。",
        "",
        "a",
    ]
    assert [(pair.first, pair.second) for pair in near(texts)] == [(0, 1)]


def test_rows_of_one_template_are_compared_within_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "MOST", 10)
    assert len(near([f"Ada has {at} bells. How many more than Ben, who has {at % 7}?" for at in range(100)])) == 10
