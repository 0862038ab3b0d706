"""Server-sent events, split incrementally and within bounds.

Follows the WHATWG rules for lines (CR, LF or CRLF), comments, multi-line data and the byte-order mark, with two
leniencies that engines need: a last event without its blank line counts if its line is whole (or is ``[DONE]``), and
``error: {...}``, which older llama.cpp servers send, is an event of the name "error".
"""

from __future__ import annotations

from typing import NamedTuple

from fuzzer.wire.bounds import BadReplyError

DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """One event: its name ("" for the usual unnamed one) and its data, undecoded."""

    name: str
    data: bytes


class Splitter:
    """Turns chunks of bytes, however cut, into events; raises ``BadReplyError`` beyond ``line_bytes``."""

    def __init__(self, line_bytes: int) -> None:
        self._limit = line_bytes
        self._partial: list[bytes] = []
        self._partial_size = 0
        self._after_cr = False
        self._first_line = True
        self._name = ""
        self._data: list[bytes] = []
        self._data_size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that this chunk completes."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk[:1] == b"\n":
                chunk = chunk[1:]
        if not chunk:
            return []
        lines = chunk.splitlines()
        whole = chunk[-1:] in (b"\n", b"\r")
        self._after_cr = chunk[-1:] == b"\r"
        rest = b"" if whole else lines.pop()
        events: list[Event] = []
        for line in lines:
            if self._partial:
                self._hold(line)
                line = b"".join(self._partial)
                self._partial.clear()
                self._partial_size = 0
            self._line(line, events)
        if rest:
            self._hold(rest)
        return events

    def close(self) -> list[Event]:
        """The event that the end of the stream completes, if any; a torn line is dropped."""
        events: list[Event] = []
        if b"".join(self._partial).strip() in (b"data: " + DONE, b"data:" + DONE):
            self._line(b"".join(self._partial), events)
        self._dispatch(events)
        return events

    def _hold(self, piece: bytes) -> None:
        self._partial_size += len(piece)
        self._bound(self._partial_size)
        self._partial.append(piece)

    def _bound(self, size: int) -> None:
        if size > self._limit:
            raise BadReplyError("too-large", f"a line of the stream is longer than {self._limit} bytes")

    def _line(self, line: bytes, events: list[Event]) -> None:
        self._bound(len(line))
        if self._first_line:
            self._first_line = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(events)
        elif line.startswith(b"data:"):
            self._collect(line[6:] if line[5:6] == b" " else line[5:])
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode("utf-8", "replace")
        elif line.startswith(b"error:"):
            self._name = "error"
            self._collect(line[6:].strip())

    def _collect(self, data: bytes) -> None:
        self._data_size += len(data)
        self._bound(self._data_size)
        self._data.append(data)

    def _dispatch(self, events: list[Event]) -> None:
        if self._data:
            events.append(Event(self._name, b"\n".join(self._data)))
            self._data.clear()
            self._data_size = 0
        self._name = ""
