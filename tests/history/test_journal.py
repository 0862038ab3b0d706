from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.errors import HistoryError
from fuzzer.history.journal import Journal, exchanges, read_history
from fuzzer.history.records import (
    AnyRecord,
    Block,
    Counters,
    Done,
    Message,
    Opened,
    Prompt,
    Received,
    Resumed,
    Sent,
    Stage,
    TokenLogprob,
)

OPENED = Opened(run_id="r1", at_ns=1)


def sent(key: str, at: int = 10) -> Sent:
    return Sent(
        key=key, arm="candidate", endpoint="candidate", cell="c", phase="measure", block=0, index=0, prompt="p000001",
        concurrency=8, exposure=0, max_tokens=256, sent_ns=at, in_flight=1,
    )  # fmt: skip


def done(key: str, text: str = "hello") -> Done:
    return Done(key=key, min_in_flight=1, max_in_flight=8, received=Received(outcome="ok", text=text, end_ns=20))


def written(path: Path, *records: AnyRecord) -> Path:
    with Journal(path) as journal:
        for record in records:
            journal.append(record)
    return path


def test_every_kind_of_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    records: list[AnyRecord] = [
        OPENED,
        Prompt(
            id="p1", family="f", level="easy", messages=(Message(role="user", content="hi"),), answer="42",
            spec={"a": [1, None, {"b": "c"}]},
        ),
        sent("a"),
        done("a"),
        Stage(
            key="s", cell="c", arm="candidate", endpoint="candidate", phase="measure", block=0, concurrency=8,
            share_at_n=1.0, min_in_flight=8, max_in_flight=8, seconds=2.0, histogram={8: 2.0}, before=Counters(at_ns=1),
        ),
        Block(cell="c", block=0, judged_prompts=("p1",)),
        Resumed(at_ns=5),
    ]  # fmt: skip
    assert list(read_history(written(tmp_path / "history.jsonl", *records))) == records


@pytest.mark.parametrize(
    "text", ["nul \x00", "surrogate \ud800 alone", "\x1b[31mred\x1b[0m", "line\u2028sep\x85\n\r\n", "\U0001f600 ﷽", ""]
)
def test_hostile_texts_stay_one_valid_line_of_json_and_come_back_whole(tmp_path: Path, text: str) -> None:
    path = written(tmp_path / "history.jsonl", OPENED, sent("a"), done("a", text), Resumed(at_ns=9))
    lines = path.read_bytes().split(b"\n")
    assert len(lines) == 5
    assert [json.loads(line)["type"] for line in lines[:-1]] == ["opened", "sent", "done", "resumed"]
    record = list(read_history(path))[2]
    assert isinstance(record, Done)
    assert record.received.text == text


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=()), max_size=40))
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("journal") / "history.jsonl"
    written(path, OPENED, done("a", text))
    assert list(read_history(path))[1] == done("a", text)


def test_log_probabilities_that_are_no_numbers_do_not_make_the_history_unreadable(tmp_path: Path) -> None:
    token = TokenLogprob(token="x", logprob=float("-inf"), top=(("x", float("-inf")), ("y", float("nan"))))
    record = Done(
        key="a", min_in_flight=1, max_in_flight=1, received=Received(outcome="ok", end_ns=2, logprobs=(token,))
    )
    back = list(read_history(written(tmp_path / "history.jsonl", OPENED, record)))[1]
    assert isinstance(back, Done)
    assert back.received.logprobs is not None
    assert back.received.logprobs[0].logprob == float("-inf")
    assert str(back.received.logprobs[0].top[1][1]) == "nan"


def test_what_was_appended_is_in_the_file_before_the_journal_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with Journal(path) as journal:
        assert journal.empty
        journal.append(OPENED)
        journal.append(sent("a"))
        assert list(read_history(path)) == [OPENED, sent("a")]
        assert not journal.empty


def test_a_torn_last_line_is_left_out_and_resuming_cuts_it_off(tmp_path: Path) -> None:
    path = written(tmp_path / "history.jsonl", OPENED, sent("a"), done("a"))
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in range(start + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert list(read_history(path)) == [OPENED, sent("a")]
        written(path, Resumed(at_ns=7))
        assert list(read_history(path)) == [OPENED, sent("a"), Resumed(at_ns=7)]


def test_a_line_that_lost_only_its_newline_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path / "history.jsonl", OPENED, sent("a"))
    path.write_bytes(path.read_bytes()[:-1])
    assert list(read_history(path)) == [OPENED, sent("a")]
    written(path, Resumed(at_ns=7))
    assert list(read_history(path)) == [OPENED, sent("a"), Resumed(at_ns=7)]


def test_a_torn_line_longer_than_one_look_back_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path / "history.jsonl", OPENED)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"type":"done","key":"' + b"x" * 200_000)
    written(path, Resumed(at_ns=7))
    assert list(read_history(path)) == [OPENED, Resumed(at_ns=7)]


def test_zeros_that_a_crashed_file_system_left_at_the_end_count_as_torn(tmp_path: Path) -> None:
    path = written(tmp_path / "history.jsonl", OPENED)
    path.write_bytes(path.read_bytes() + b"\x00" * 512)
    assert list(read_history(path)) == [OPENED]


@pytest.mark.parametrize(
    "bad", [b"{}", b'{"type":"sent"}', b"not json", b'{"type":"unheard-of"}', b'"\xff"', b"", b"null"]
)
def test_a_bad_line_elsewhere_is_named_with_file_and_line(tmp_path: Path, bad: bytes) -> None:
    path = written(tmp_path / "history.jsonl", OPENED, sent("a"))
    path.write_bytes(path.read_bytes() + bad + b"\n" + done("a").model_dump_json().encode() + b"\n")
    with pytest.raises(HistoryError, match=r"history\.jsonl, line 3: "):
        list(read_history(path))


def test_another_version_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text('{"type":"opened","version":2,"run_id":"r","at_ns":1,"more":true}\n')
    with pytest.raises(HistoryError, match="history version 2; this specfuzz reads version 1"):
        list(read_history(path))


@pytest.mark.parametrize("content", ["", '{"type":"opened","ver'])
def test_a_history_without_a_record_says_that_nothing_was_recorded(tmp_path: Path, content: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(content)
    with pytest.raises(HistoryError, match="nothing was recorded"):
        list(read_history(path))
    with Journal(path) as journal:
        assert journal.empty


@pytest.mark.parametrize("first", ["[1]", '{"type":"block","cell":"c","block":0,"judged_prompts":[]}', "<html>"])
def test_a_file_that_does_not_begin_with_the_opening_line_is_no_history(tmp_path: Path, first: str) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(first + "\n")
    with pytest.raises(HistoryError, match="line 1: not a specfuzz history"):
        list(read_history(path))


def test_a_missing_file_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot read the history"):
        list(read_history(tmp_path / "none.jsonl"))
    with pytest.raises(HistoryError, match="cannot write the history"):
        Journal(tmp_path / "no" / "folder.jsonl")


def test_two_writers_of_one_history_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with Journal(path), pytest.raises(HistoryError, match="another process is writing"):
        Journal(path)
    Journal(path).close()


def test_a_write_that_fails_half_way_leaves_no_half_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.jsonl"
    real = os.write
    with Journal(path) as journal:
        journal.append(OPENED)
        answers = iter([7])

        def full_disk(file: int, data: memoryview) -> int:
            if (count := next(answers, None)) is None:
                raise OSError(28, "No space left on device")
            return real(file, data[:count])

        monkeypatch.setattr(os, "write", full_disk)
        with pytest.raises(HistoryError, match="No space left on device"):
            journal.append(sent("a"))
        monkeypatch.undo()
        journal.append(Resumed(at_ns=7))
    assert list(read_history(path)) == [OPENED, Resumed(at_ns=7)]


def test_exchanges_pair_what_was_sent_with_what_came_back_in_the_order_of_their_ends() -> None:
    records: list[AnyRecord] = [OPENED, sent("a"), sent("b"), done("b"), sent("c"), done("a"), done("c")]
    assert [(exchange.key, exchange.ok) for exchange in exchanges(records)] == [("b", True), ("a", True), ("c", True)]


def test_exchanges_in_flight_at_a_crash_are_lost_where_the_run_was_taken_up_again() -> None:
    records: list[AnyRecord] = [sent("a"), sent("b"), done("b"), Resumed(at_ns=7), sent("c"), sent("d"), done("d")]
    got = [(exchange.key, exchange.done is None) for exchange in exchanges(records)]
    assert got == [("b", False), ("a", True), ("d", False), ("c", True)]


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([done("a")], "without having been sent"),
        ([sent("a"), done("a"), done("a")], "or twice"),
        ([sent("a"), sent("a")], "sent twice"),
        ([sent("a"), Resumed(at_ns=7), done("a")], "without having been sent"),
    ],
)
def test_ends_that_do_not_fit_are_refused(records: list[AnyRecord], words: str) -> None:
    with pytest.raises(HistoryError, match=words):
        list(exchanges(records))


def test_a_hundred_thousand_exchanges_stream_through(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    count = 100_000
    pair = [record.model_dump_json() + "\n" for record in (sent("KEY"), done("KEY"))]
    with path.open("w") as file:
        file.write(OPENED.model_dump_json() + "\n")
        for index in range(count):
            file.writelines(line.replace("KEY", f"k{index}") for line in pair)
    assert sum(exchange.ok for exchange in exchanges(read_history(path))) == count
