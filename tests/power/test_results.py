from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuzzer.errors import HistoryError, UsageError
from fuzzer.power.jobs import Row
from fuzzer.power.results import append, check_markdown, load, writing

from .factory import row


def keep(path: Path, *rows: Row) -> None:
    with writing(path) as file:
        for one in rows:
            append(file, one)


def test_no_results_are_no_rows(tmp_path: Path) -> None:
    assert load(tmp_path / "nothing.jsonl") == ([], ())


def test_half_a_last_line_is_left_out_and_the_next_row_stands_on_its_own(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    keep(path, row(seed=0), row(seed=1))
    with path.open("ab") as file:
        file.write(b'{"purpose": "find", "fault": "col')
    assert [one.seed for one in load(path).rows] == [0, 1]
    assert load(path).unreadable == (3,)
    keep(path, row(seed=2))
    assert [one.seed for one in load(path).rows] == [0, 1, 2]
    assert load(path).unreadable == ()


def test_bytes_that_are_no_text_cost_their_line_only_and_are_told(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    keep(path, row(seed=0))
    with path.open("ab") as file:
        file.write(b'{"purpose": "find\xff\xfe"}\n')
    keep(path, row(seed=1))
    kept = load(path)
    assert [one.seed for one in kept.rows] == [0, 1]
    assert kept.told(path) == f"{path}: lines that are no whole row are left out (2); their runs count as not done"


def test_a_torn_first_row_is_no_other_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"purp')
    keep(path, row(seed=0))
    assert [one.seed for one in load(path).rows] == [0]


@pytest.mark.parametrize("content", [b"# Notes\n\nof mine\n", b"half a note", b"\x89PNG\r\n\x1a\n\xff", b"{}\n"])
def test_a_file_of_something_else_is_refused_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "mine"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=r"--out: .*mine holds no row of specfuzz power; name another file"):
        load(path)
    assert path.read_bytes() == content


def test_of_two_rows_of_one_run_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    keep(path, row(seed=0, found=False), row(seed=1), row(seed=0, found=True))
    assert [(one.seed, one.found) for one in load(path).rows] == [(0, True), (1, True)]


def test_rows_from_before_program_states_were_noted_are_read(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    old = row(seed=0).model_dump(mode="json")
    del old["program"]
    path.write_text(json.dumps(old) + "\n", encoding="utf-8")
    assert [one.program for one in load(path).rows] == [""]


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with writing(path), pytest.raises(HistoryError, match="another process is writing this results file"):
        writing(path)
    keep(path, row(seed=0))  # the first has let go of it


def test_a_directory_holds_no_results(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--out: .* is no regular file"):
        load(tmp_path)


def test_a_results_file_below_a_file_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"--out: cannot write .*results.jsonl"):
        writing(tmp_path / "file" / "results.jsonl")


def test_a_place_for_the_tables_is_looked_at_and_left_as_it_was(tmp_path: Path) -> None:
    out, there = tmp_path / "rows.jsonl", tmp_path / "there.md"
    there.write_text("the last table", encoding="utf-8")
    check_markdown(there, out)
    check_markdown(tmp_path / "fresh.md", out)
    assert there.read_text(encoding="utf-8") == "the last table"
    assert not (tmp_path / "fresh.md").exists()


def test_tables_that_would_overwrite_the_results_are_a_mistake(tmp_path: Path) -> None:
    keep(tmp_path / "rows.jsonl", row())
    (tmp_path / "link.md").symlink_to(tmp_path / "rows.jsonl")
    with pytest.raises(UsageError, match=r"--markdown: .* is where --out keeps the results"):
        check_markdown(tmp_path / "link.md", tmp_path / "rows.jsonl")
