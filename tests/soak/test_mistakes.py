"""What a full disk looks like to a soak, and what is a bug."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from fuzzer.errors import HistoryError, UsageError
from fuzzer.soak.mistakes import disk_full, mistake_of

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "history.jsonl")


def test_a_full_disk_is_known_in_whatever_it_comes_wrapped() -> None:
    wrapped = ExceptionGroup("tasks", [ExceptionGroup("more", [FULL, HistoryError("no more")]), FULL])
    for error in (FULL, wrapped, HistoryError(f"history.jsonl: cannot write the history: {FULL.strerror}")):
        assert disk_full(mistake_of(error, Path("night")))
    assert str(mistake_of(FULL, Path("night"))) == "history.jsonl: cannot go on: No space left on device"


def test_other_mistakes_are_told_as_they_are() -> None:
    mistake = UsageError("--model: say which")
    assert mistake_of(ExceptionGroup("tasks", [mistake]), Path("night")) is mistake
    assert not disk_full(mistake)


def test_a_bug_is_never_told_as_a_mistake() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        mistake_of(ExceptionGroup("tasks", [FULL, ZeroDivisionError()]), Path("night"))
    assert caught.group_contains(ZeroDivisionError)
    assert not caught.group_contains(OSError)
