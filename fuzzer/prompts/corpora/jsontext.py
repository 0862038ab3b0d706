"""JSON files, read by our own reader: rows may be of unlike shape, and what is wrong has a line number."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from fuzzer.prompts.corpora.rows import Raw, RowError, SourceError, Where

LONGEST = 64 << 20  # bytes of a line, or characters of an array's item: what is longer is no row
_BATCH = 1_000
_CHUNK = 1 << 16
_TAIL = 16  # characters: a mistake this near to the end of what was read may be only a part that is still to come
_BOM = b"\xef\xbb\xbf"
_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Entry:
    """A row as it lies in its source; a line of JSON is parsed only when it is chosen."""

    where: Where
    data: object

    def fields(self) -> Raw:
        """Its fields; RowError if it is no JSON object."""
        value = parse(self.data) if isinstance(self.data, bytes) else self.data
        if not isinstance(value, dict):
            raise RowError(("", f"not a JSON object but {_kind(value)}"))
        return value


def parse(line: bytes) -> object:
    """The value of a line of JSON; RowError says what is wrong with it."""
    try:
        return _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RowError(("", f"not UTF-8 ({error.reason} at byte {error.start + 1}); save the file as UTF-8")) from None
    except json.JSONDecodeError as error:
        raise RowError(("", f"not JSON ({error.msg} at character {error.pos + 1})")) from None
    except RecursionError:
        raise RowError(("", "not JSON that can be read: it is nested too deep")) from None
    except ValueError as error:
        raise RowError(("", f"not JSON ({error})")) from None


def read_json(path: Path) -> Iterator[Sequence[Entry]]:
    """The entries of a file of JSON lines, or of one JSON array, in batches; SourceError where it cannot be read on."""
    with path.open("rb") as file:
        head = file.read(_CHUNK).removeprefix(_BOM).lstrip()
        file.seek(0)
        if not head.startswith(b"[") or path.suffix in (".jsonl", ".ndjson"):
            yield from _batches(_lines(path, file))
            return
    with path.open(encoding="utf-8-sig", newline="") as text:
        yield from _batches(iter(_Array(path, text)))


def _batches(entries: Iterator[Entry]) -> Iterator[Sequence[Entry]]:
    batch: list[Entry] = []
    try:
        for entry in entries:
            batch.append(entry)
            if len(batch) == _BATCH:
                yield batch
                batch = []
    except SourceError:
        yield batch
        raise
    yield batch


def _lines(path: Path, file: BinaryIO) -> Iterator[Entry]:
    number = 0
    while line := file.readline(LONGEST):
        number += 1
        where = Where(str(path), "line", number)
        if len(line) == LONGEST:
            raise SourceError(where, f"longer than {LONGEST >> 20} MiB; a row is one line of JSON")
        line = line.removeprefix(_BOM) if number == 1 else line
        if line.strip():
            yield Entry(where, line)


class _Array:
    """The items of one JSON array, parsed one after the other from a window of the file."""

    def __init__(self, path: Path, file: TextIO) -> None:
        self._path, self._file = path, file
        self._text, self._at, self._line = "", 0, 1

    def __iter__(self) -> Iterator[Entry]:
        self._next()  # the bracket that told that this is an array
        if self._peek() == "]":
            return
        while True:
            self._peek()
            yield Entry(Where(str(self._path), "line", self._line), self._item())
            closing = self._next()
            if closing == "]":
                return
            if closing != ",":
                raise self._error("the array ends without ]" if not closing else f"{closing!r} where , or ] should be")

    def _peek(self) -> str:
        """The next character that is not blank, or "" at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._line += self._text[self._at] == "\n"
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _next(self) -> str:
        character = self._peek()
        self._at += len(character)
        return character

    def _item(self) -> object:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if not self._cut_off(error) or not self._more():
                    line = self._line + self._text.count("\n", self._at, error.pos)
                    raise self._error(f"not JSON ({error.msg})", line) from None
            except RowError as error:
                raise self._error(str(error)) from None
            except (ValueError, RecursionError) as error:
                raise self._error(f"not JSON ({error})") from None
            else:
                self._line += self._text.count("\n", self._at, end)
                self._at = end
                return value

    def _cut_off(self, error: json.JSONDecodeError) -> bool:
        """Whether the mistake may be only that the rest was not read yet."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _TAIL

    def _more(self) -> bool:
        """Read on, twice as far as what is still open; False at the end of the file."""
        left = self._text[self._at :]
        if len(left) > LONGEST:
            raise self._error(f"an item is longer than {LONGEST >> 20} Mi characters")
        try:
            read = self._file.read(max(_CHUNK, len(left)))
        except UnicodeDecodeError as error:
            raise self._error(f"not UTF-8 from here on ({error.reason}); save the file as UTF-8") from None
        self._text, self._at = left + read, 0
        return read != ""

    def _error(self, reason: str, line: int | None = None) -> SourceError:
        return SourceError(Where(str(self._path), "line", line or self._line), reason)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RowError(("", f"the field {twice!r} stands twice in one object"))
    return found


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _kind(value: object) -> str:
    names = {"list": "an array", "str": "a text", "NoneType": "null", "bool": "true or false"}
    return names.get(type(value).__name__, "a number")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number)
