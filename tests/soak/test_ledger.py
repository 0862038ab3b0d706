"""The ledger: whole after a crash, honest about damage, one writer."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import HistoryError
from fuzzer.night import LEDGER
from fuzzer.soak.ledger import Began, Ended, Ledger, Lost, Process, read_ledger, read_soak, write_soak

from .factory import cell, leg, soak


def began(number: int) -> Began:
    return Began(
        number=number, run_id=f"{number:05d}-rounds", purpose="sweep", why="rotation", schedule="rounds",
        concurrency=8, families=(), seed=number, requests=64, boot=1, at="2026-11-29T22:00:00+00:00",
        active=float(number),
    )  # fmt: skip


def filled(folder: Path) -> list[bytes]:
    ledger = Ledger(folder)
    for number in range(1, 5):
        ledger.write(began(number))
        if number < 4:
            ledger.write(Ended(leg=leg(number, cell("rounds", number))))
    ledger.close()
    return (folder / LEDGER).read_bytes().splitlines(keepends=True)


def test_what_was_written_is_read_again_and_the_open_leg_is_known(tmp_path: Path) -> None:
    filled(tmp_path)
    found = read_ledger(tmp_path)
    assert [one.number for one in found.ordered] == [1, 2, 3]
    assert [one.number for one in found.open] == [4]
    assert (found.damaged, found.finished, found.active) == (0, False, 180.0)


def test_a_flipped_bit_costs_a_line_that_is_counted_and_never_a_wrong_number(tmp_path: Path) -> None:
    lines = filled(tmp_path)
    for place, line in enumerate(lines):
        for at in range(10, len(line) - 1, 37):
            bad = line[:at] + bytes([line[at] ^ 2]) + line[at + 1 :]
            (tmp_path / LEDGER).write_bytes(b"".join([*lines[:place], bad, *lines[place + 1 :]]))
            found = read_ledger(tmp_path)
            assert found.damaged >= 1
            assert all(found.legs[one].cells[0].k == one for one in found.legs)


def test_a_leg_whose_end_is_damaged_counts_as_open_and_is_looked_into_again(tmp_path: Path) -> None:
    lines = filled(tmp_path)
    (tmp_path / LEDGER).write_bytes(b"".join([*lines[:3], lines[3].replace(b"rounds", b"rounds!"), *lines[4:]]))
    assert [one.number for one in read_ledger(tmp_path).open] == [2, 4]


def test_a_torn_end_is_mended_when_it_is_opened_again(tmp_path: Path) -> None:
    lines = filled(tmp_path)
    (tmp_path / LEDGER).write_bytes(b"".join(lines)[:-30])
    ledger = Ledger(tmp_path)
    ledger.write(Process(at="later"))
    ledger.write(Lost(number=4, why="gone"))
    ledger.close()
    found = read_ledger(tmp_path)
    assert (found.damaged, found.processes, [one.number for one in found.open]) == (0, 1, [])


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    with pytest.raises(HistoryError, match="another process"):
        Ledger(tmp_path)
    ledger.close()


def test_a_directory_that_is_no_soak_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no soak here"):
        read_soak(tmp_path)
    write_soak(tmp_path, soak())
    assert read_soak(tmp_path).plan == soak().plan
    (tmp_path / "soak.json").write_text('{"version": 1}')
    with pytest.raises(HistoryError, match="not a soak of specfuzz"):
        read_soak(tmp_path)
