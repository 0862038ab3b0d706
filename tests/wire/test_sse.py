from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.wire.bounds import BadReplyError
from fuzzer.wire.sse import Event, Splitter


def split(*chunks: bytes, limit: int = 1000) -> list[Event]:
    splitter = Splitter(limit)
    events = [event for chunk in chunks for event in splitter.feed(chunk)]
    return events + splitter.close()


@pytest.mark.parametrize("ending", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_counts(ending: bytes) -> None:
    stream = ending.join([b"data: one", b"", b"data: two", b"", b""])
    assert split(stream) == [Event("", b"one"), Event("", b"two")]


def test_comments_ids_and_unknown_fields_are_passed_over() -> None:
    assert split(b": ping\n\nid: 7\nretry: 10\nwhat: ever\ndata: x\n\n") == [Event("", b"x")]


def test_data_over_several_lines_is_one_event() -> None:
    assert split(b"data: a\ndata:b\ndata:  c\n\n") == [Event("", b"a\nb\n c")]


def test_an_event_carries_its_name_and_only_its_own() -> None:
    assert split(b"event: error\ndata: x\n\ndata: y\n\n") == [Event("error", b"x"), Event("", b"y")]


def test_the_error_field_of_old_llama_cpp_is_an_event() -> None:
    assert split(b'error: {"code":500}\n\n') == [Event("error", b'{"code":500}')]


def test_a_byte_order_mark_is_not_part_of_the_first_line() -> None:
    assert split(b"\xef", b"\xbb", b"\xbf", b"data: x\n\n") == [Event("", b"x")]


def test_a_last_event_needs_no_blank_line_but_a_torn_one_is_dropped() -> None:
    assert split(b"data: x\n") == [Event("", b"x")]
    assert split(b"data: x\n\ndata: {torn") == [Event("", b"x")]
    assert split(b"data: [DONE]") == [Event("", b"[DONE]")]


def test_a_long_line_is_refused_before_it_has_all_come() -> None:
    splitter = Splitter(100)
    splitter.feed(b"data: " + b"x" * 90)
    with pytest.raises(BadReplyError, match="longer than 100 bytes"):
        splitter.feed(b"x" * 90)


def test_many_short_lines_of_one_event_are_bounded_too() -> None:
    with pytest.raises(BadReplyError):
        split(b"data: 0123456789\n" * 11, limit=100)


LINES = st.sampled_from(
    [
        b"data: a",
        b"data:{}",
        b"data",
        b"event: e",
        b"error: x",
        b"",
        b"",
        b": c",
        b"\xef\xbb\xbfdata: b",
        b"data: [DONE]",
    ]
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b"\n", b"\r", b"\r\n"])).map(b"".join)).map(b"".join)


@settings(deadline=None)
@given(stream=st.one_of(STREAMS, st.binary(max_size=60)), cuts=st.lists(st.integers(0, 200), max_size=30))
def test_any_chunking_gives_the_same_events(stream: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut <= len(stream)), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges)]
    assert split(*chunks) == split(stream) == split(*(bytes([byte]) for byte in stream))
