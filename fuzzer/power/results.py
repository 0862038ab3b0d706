"""The results file: a JSON line a run, appended by one process at a time, and read again so that nothing runs twice."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from fuzzer.errors import UsageError
from fuzzer.history.appending import Appending
from fuzzer.power.jobs import Job, Row

_BEGINNING = b'{"purpose"'  # of every row
_SHOWN = 5  # line numbers


class Results(NamedTuple):
    """The rows of a file, one a job, and the numbers of the lines that are none."""

    rows: list[Row]
    unreadable: tuple[int, ...]

    def told(self, path: Path) -> str:
        """One line on what was left out, "" where nothing was."""
        if not self.unreadable:
            return ""
        numbers = ", ".join(str(number) for number in self.unreadable[:_SHOWN])
        numbers += ", ..." if len(self.unreadable) > _SHOWN else ""
        return f"{path}: lines that are no whole row are left out ({numbers}); their runs count as not done"


def load(path: Path) -> Results:
    """What was measured so far; of two rows of one job, the later.

    A line that is no row (torn, not UTF-8, of another time) is left out. UsageError for a file that cannot be read, or
    that holds lines and no row: it is something else, which must not be appended to.
    """
    rows: dict[Job, Row] = {}
    unreadable = []
    lines = _lines(path)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = Row.model_validate_json(line)
        except ValidationError:
            unreadable.append(number)
        else:
            rows[row.job] = row
    first_torn = len(lines) == 1 and lines[0][: len(_BEGINNING)] == _BEGINNING[: len(lines[0])]
    if unreadable and not rows and not first_torn:
        raise UsageError(f"--out: {path} holds no row of specfuzz power; name another file")
    return Results(list(rows.values()), tuple(unreadable))


def _lines(path: Path) -> list[bytes]:
    try:
        if not path.exists():
            return []
        if not path.is_file():
            raise UsageError(f"--out: {path} is no regular file; name one, for example --out reports/power.jsonl")
        return path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"--out: cannot read {path}: {error.strerror}; name another file") from error


def writing(path: Path) -> Appending:
    """The file, open to append to and locked against a second process; half a last line is cut off.

    UsageError where it cannot be written, HistoryError where another process has it.
    """
    check_writable("--out", path)
    return Appending(path, "results file")


def append(file: Appending, row: Row) -> None:
    """Keep a row."""
    file.append(json.dumps(row.model_dump(mode="json")).encode())


def check_writable(option: str, path: Path) -> None:
    """UsageError unless the file can be written; it stays as it is, and is not made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.open("ab").close()
        else:  # its like may be made there: this very one may be another process's a moment later
            tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise unwritable(option, path, error) from error


def check_markdown(path: Path, out: Path) -> None:
    """UsageError unless the tables can be written there, before hours are spent on them."""
    if os.path.realpath(path) == os.path.realpath(out):
        raise UsageError(f"--markdown: {path} is where --out keeps the results; name another file")
    check_writable("--markdown", path)


def unwritable(option: str, path: Path, error: OSError) -> UsageError:
    """The mistake of naming a file that cannot be written."""
    return UsageError(f"{option}: cannot write {path}: {error.strerror}; name a file that can be written")
