"""A compressed history reads like the plain one, and a damaged one is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import HistoryError
from fuzzer.history.journal import Journal, read_history
from fuzzer.history.packed import pack, packed, recorded
from fuzzer.history.records import Opened, Resumed


@pytest.fixture
def history(tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    with Journal(path) as journal:
        journal.append(Opened(run_id="run", at_ns=1))
        for moment in range(2, 2000):
            journal.append(Resumed(at_ns=moment))
    return path


def test_a_compressed_history_is_smaller_and_reads_the_same(history: Path) -> None:
    before, size = list(read_history(history)), history.stat().st_size
    assert pack(history) < size / 5
    assert (history.exists(), packed(history).exists(), recorded(history)) == (False, True, True)
    assert list(read_history(history)) == before


def test_a_flipped_bit_or_a_cut_end_of_a_compressed_history_is_told(history: Path) -> None:
    pack(history)
    whole = packed(history).read_bytes()
    for damaged in (whole[:-9], whole[:700] + bytes([whole[700] ^ 4]) + whole[701:], whole[:3], b""):
        packed(history).write_bytes(damaged)
        with pytest.raises(HistoryError, match=r"history\.jsonl"):
            list(read_history(history))


def test_a_crash_between_compressing_and_removing_leaves_one_whole_history(history: Path) -> None:
    before, plain = list(read_history(history)), history.read_bytes()
    pack(history)
    history.write_bytes(plain)  # as if it had not been removed yet
    assert list(read_history(history)) == before
    pack(history)
    assert not history.exists()
    assert list(read_history(history)) == before


def test_what_cannot_be_compressed_stays_as_it_is(history: Path) -> None:
    target = packed(history)
    target.mkdir()  # stands in its way
    with pytest.raises(HistoryError, match="cannot compress"):
        pack(history)
    assert history.exists()
    assert [path.name for path in history.parent.iterdir() if path.name.startswith(".")] == []
