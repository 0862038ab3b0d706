"""A corpus is found by name, path, folder or hub id; what cannot be read is told in one line with its place."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from fuzzer.errors import UsageError
from fuzzer.prompts import corpora
from fuzzer.prompts.corpora import jsontext, tables
from tests.prompts.corpora.files import messages, rows, write

HUE: dict[str, Any] = {"messages": [{"role": "user", "content": "Hue?"}], "answer": "red", "check": "exact"}


def asked(corpus: object) -> list[str]:
    return [row.messages[-1].content for row in corpora.load(str(corpus)).rows]


def refusal(corpus: object) -> str:
    with pytest.raises(UsageError) as refused:
        corpora.load(str(corpus))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_json_lines_may_have_blank_lines_a_mark_and_rows_of_unlike_shape(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    lines = [
        json.dumps(each)
        for each in (HUE, {"prompt": "Hue?"}, {"turns": ["Hue?"]}, {"question": "a\u2028b", "answer": "#### 1"})
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines).encode())
    loaded = corpora.load(str(path))
    assert [row.where.number for row in loaded.rows] == [1, 3, 5, 7]
    assert [row.format for row in loaded.rows] == ["own", "prompt", "mt-bench", "gsm8k"]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_array_is_read_item_by_item(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(rows("sharegpt") * 40, indent=indent), encoding="utf-8")
    loaded = corpora.load(str(path))
    assert loaded.total == 800
    assert loaded.rows[21].messages == loaded.rows[1].messages
    assert loaded.rows[0].where.number == (2 if indent else 1)
    path.write_text("[]")
    assert "holds no rows" in refusal(path)


def test_an_item_longer_than_what_is_read_at_once_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    long = [{"prompt": f'{letter}\\"é' * 40_000} for letter in "abc"]
    path.write_text(json.dumps(long, ensure_ascii=False), encoding="utf-8")
    assert asked(path) == [row["prompt"] for row in long]


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('[{"prompt": "a"},\n{"prompt": "b"', 2, "not JSON"),
        ('[{"prompt": "a"},\n\n {"prompt": "b"}', 3, "ends without ]"),
        ('[{"prompt": "a"}\n{"prompt": "b"}]', 2, "where , or ] should be"),
        ('[{"prompt": "a"},\n{"prompt"; "b"}, {"prompt": "' + "c" * 200_000 + '"}]', 2, "not JSON"),
        ('[{"prompt": "a"},\n{"prompt": "b",\n"prompt": "c"}]', 2, "stands twice"),
        ('[{"prompt": "a"},\n7]', 2, "not a JSON object but a number"),
        ('[{"prompt": "a"},\n{"prompt": ""}]', 2, "prompt: is empty"),
    ],
)
def test_a_mistake_in_an_array_has_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    told = refusal(path)
    assert f"bad.json, line {line}: " in told
    assert what in told


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b'{"prompt": "a"', "not JSON"),
        (b"{'prompt': 'a'}", "not JSON"),
        (b'{"prompt": "a"} {"prompt": "b"}', "not JSON"),
        (b'"prompt"', "not a JSON object but a text"),
        (b'{"prompt": "\xe9"}', "not UTF-8"),
        (b'{"prompt": "a", "prompt": "b"}', "'prompt' stands twice"),
        (b'{"prompt": "a", "score": NaN}', "NaN is no JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"prompt": ' + b"7" * 9_000 + b"}", "not JSON"),
    ],
)
def test_a_line_that_is_no_object_is_refused_with_its_number(tmp_path: Path, line: bytes, what: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b'{"prompt": "a"}\n\n' + line + b'\n{"prompt": "c"}\n')
    told = refusal(path)
    assert "bad.jsonl, line 3: " in told
    assert what in told


def test_a_line_that_never_ends_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsontext, "LONGEST", 1000)
    assert "line 2: longer than" in refusal(write(tmp_path / "bad.jsonl", {"prompt": "a"}, {"prompt": "b" * 2000}))


def test_csv_cells_are_texts_and_may_hold_json(tmp_path: Path) -> None:
    path = tmp_path / "mine[1].csv"
    path.write_text(
        "messages,answer,check,level,note\n"
        '"[{""role"": ""user"", ""content"": ""How, and\\nwhy?""}]",007,exact,,"N\nA"\n'
        '"[{""role"": ""user"", ""content"": ""Sum?""}]",5,number,easy,\n',
        encoding="utf-8-sig",
    )
    first, second = corpora.load(str(path)).rows
    assert (first.messages[0].content, first.answer, first.level) == ("How, and\nwhy?", "007", "hard")
    assert (second.answer, second.level) == ("5", "easy")
    assert str(second.where).endswith("mine[1].csv, row 2")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"prompt,prompt\na,b\n", "'prompt' stands twice"),
        (b"prompt,id\na,1\nb,2,3\n", "cannot be read"),
        (b"prompt\n\xe9\n", "not UTF-8"),
        (b"prompt,id\na,1\n,2\n", "row 2"),
        (b"", "holds no rows"),
        (b"prompt\n", "holds no rows"),
    ],
)
def test_a_bad_csv_is_refused(tmp_path: Path, text: bytes, what: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(text)
    assert what in refusal(path)


def test_parquet_is_read_with_its_lists_and_objects(tmp_path: Path) -> None:
    import datasets

    path = tmp_path / "mine.parquet"
    talks = [{**row, "conversations": row["conversations"][: 2 + at % 3]} for at, row in enumerate(rows("sharegpt"))]
    datasets.Dataset.from_list(talks).to_parquet(str(path))
    assert asked(path)[:3] == [
        "What should I pack for Altmark?",
        "And how do I carry 3 ropes?",
        "And how do I carry 4 jars?",
    ]
    ifeval = tmp_path / "ifeval.parquet"
    datasets.Dataset.from_list(rows("ifeval")).to_parquet(str(ifeval))
    assert {row.check for row in corpora.load(str(ifeval)).rows} == {"ifeval"}
    log = tmp_path / "log.parquet"
    datasets.Dataset.from_list([row["request"]["body"] for row in rows("request")]).to_parquet(str(log))
    tools = [row.wants.tools[0].parameters["properties"] for row in corpora.load(str(log)).rows[:2]]
    assert tools == [{"place": {"type": "string"}}, {"town": {"type": "string"}}]
    path.write_bytes(b"PAR1 or not")
    assert "mine.parquet: cannot be read" in refusal(path)


def test_a_folder_is_all_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "set"
    (folder / "b").mkdir(parents=True)
    write(folder / "one.jsonl", HUE)
    write(folder / "b" / "two.json", {"prompt": "Shade?"})
    (folder / "three.csv").write_text("prompt\nTint?\n")
    (folder / "README.md").write_text("not a corpus")
    loaded = corpora.load(str(folder))
    assert loaded.name == "set"
    assert sorted(row.messages[-1].content for row in loaded.rows) == ["Hue?", "Shade?", "Tint?"]
    write(folder / "b" / "two.json", {"prompt": ""})
    assert "two.json, line 1: prompt: is empty" in refusal(folder)


def test_a_name_is_looked_for_in_the_working_directory_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert corpora.added() == ()
    (tmp_path / "corpora").mkdir()
    write(tmp_path / "corpora" / "gate.jsonl", HUE)
    assert corpora.added() == ("gate",)
    assert corpora.load("gate").total == 1


@pytest.mark.parametrize(
    ("corpus", "what"),
    [
        ("gaet", "is unknown; give "),
        ("./nowhere", "no such file or folder"),
        ("nowhere.jsonl", "no such file or folder"),
        ("./notes.txt", "the name ends in none of"),
        ("./empty", "the folder holds no"),
        ("hf:", "hf:OWNER/NAME"),
        ("hf:a/b/c", "hf:OWNER/NAME"),
    ],
)
def test_what_is_no_corpus_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, corpus: str, what: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    assert what in refusal(corpus)


def test_a_hub_data_set_is_streamed_from_the_split_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name stands in for the hub: the library reads both in the same way."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "someone" / "talks"
    home.mkdir(parents=True)
    write(home / "train.jsonl", *rows("prompt", 3))
    write(home / "test.jsonl", *rows("prompt", 5)[3:])
    assert asked("hf:someone/talks@train")[0] == "Describe the market of Altmark."
    loaded = corpora.load("hf:someone/talks")
    assert (loaded.name, loaded.total) == ("talks", 2)
    assert str(loaded.rows[0].where) == "hf:someone/talks@test, row 1"
    assert "Available splits" in refusal("hf:someone/talks@dev")


def test_without_a_network_a_hub_data_set_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    import datasets

    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("Couldn't reach 'someone/talks' on the Hub (LocalEntryNotFoundError)")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)
    assert "the hub cannot be reached" in refusal("hf:someone/talks")
    monkeypatch.setattr(
        datasets, "load_dataset", lambda *_, **__: _raise(datasets.exceptions.DatasetNotFoundError("no"))
    )
    assert "has no such data set" in refusal("hf:someone/talks")
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: _raise(ValueError("Config name is missing.\n['a']")))
    assert "Config name is missing. ['a']" in refusal("hf:someone/talks")
    assert capfd.readouterr() == ("", "")


def _raise(error: Exception) -> None:
    raise error


def test_of_a_hub_data_set_no_more_rows_are_streamed_than_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tables, "SCAN", 7)
    (tmp_path / "someone").mkdir()
    (tmp_path / "someone" / "talks").mkdir()
    write(tmp_path / "someone" / "talks" / "train.jsonl", *rows("prompt"))
    assert corpora.load("hf:someone/talks").total == 7


def test_local_files_need_no_network_and_say_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    write(tmp_path / "mine.jsonl", messages(0))
    (tmp_path / "mine.csv").write_text("prompt\nHue?\n")
    assert corpora.load(str(tmp_path)).total == 2
    (tmp_path / "mine.csv").write_text("prompt\nHue?,\n")
    refusal(tmp_path)
    assert capfd.readouterr() == ("", "")
