"""The index: made from directories at any time, whatever became of it, and never forgetting a night by itself."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.night import Boot
from fuzzer.trend import Index, refresh
from fuzzer.trend.index import INDEX
from fuzzer.trend.schema import VERSION
from tests.report import factory as reports_factory

from .factory import BLEED, Counts, began, found, soak, write_gate, write_soak, write_unended


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    folder = tmp_path / "reports"
    for number in range(3):
        boots = [Boot(number=one, since="", why="", k=one, n=100, bad=one == 2) for one in (1, 2)]
        write_soak(folder, soak(number, [Counts(number, 500)], [found(count=4)], boots))
    write_gate(folder / "ci", reports_factory.failing(), run_id="gate-1", started=began(9))
    return folder


def ids(reports: Path) -> list[str]:
    with Index(reports) as index:
        index.refresh()
        return [night.run_id for night in index.nights()]


EVERYTHING = ["soak-000", "soak-001", "soak-002", "gate-1"]


def test_it_holds_the_counts_of_soaks_and_gates_and_a_soaks_legs_are_no_nights(reports: Path) -> None:
    with Index(reports) as index:
        assert index.refresh().read == 4
        nights = index.nights()
    assert [night.run_id for night in nights] == EVERYTHING
    last = nights[2]
    assert (last.sort, last.directory, last.verdict) == ("soak", "soak-002", "pass")
    assert [(cell.k, cell.n, cell.acceptance) for cell in last.cells] == [(2, 500, 3.1)]
    assert [(one.key, one.schedule, one.count, one.breaks) for one in last.findings] == [
        (BLEED, "closed-loop", 4, True)
    ]
    assert [(boot.number, boot.bad) for boot in last.boots] == [(1, False), (2, True)]
    gate = nights[3]
    assert (gate.directory, gate.failed) == ("ci/gate-1", (9, 444))
    assert {one.key for one in gate.findings if one.breaks} == {"bleed/concurrent/history@candidate"}


def test_only_what_is_new_or_changed_is_read_again(reports: Path) -> None:
    refresh(reports)
    assert (refresh(reports).read, refresh(reports).unchanged) == (0, 4)
    write_soak(reports, soak(1, [Counts(7, 900)]))
    write_soak(reports, soak(5, [Counts(0, 500)]))
    assert refresh(reports).read == 2
    with Index(reports) as index:
        assert {night.run_id: night.failed for night in index.nights()}["soak-001"] == (7, 900)


def test_nights_whose_directories_are_gone_stay_until_the_index_is_made_anew(reports: Path) -> None:
    refresh(reports)
    for path in sorted((reports / "soak-001").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (reports / "soak-001").rmdir()
    assert refresh(reports).gone == 1
    assert ids(reports) == EVERYTHING
    with Index(reports) as index:
        assert [night.directory for night in index.nights()][1] == ""
        assert index.refresh(rebuild=True).gone == 0
        assert [night.run_id for night in index.nights()] == ["soak-000", "soak-002", "gate-1"]


def test_a_run_that_was_moved_is_the_same_night_and_a_copy_is_named(reports: Path) -> None:
    refresh(reports)
    (reports / "soak-000").rename(reports / "old")
    assert ids(reports) == EVERYTHING
    write_soak(reports / "copies", soak(2, [Counts(2, 500)]))
    (skipped,) = refresh(reports).skipped
    assert (skipped.directory, skipped.why) == ("copies/soak-002", "is a copy of the run in soak-002")
    assert ids(reports) == EVERYTHING


def test_what_cannot_be_read_is_skipped_and_named(reports: Path) -> None:
    (reports / "soak-001" / "night.json").write_text('{"night_id": 3}', encoding="utf-8")
    (reports / "ci" / "gate-1" / "summary.json").write_bytes(b"\x00\xff{")
    write_unended(reports, "gate-2")
    (reports / "soak-002" / "night.json").unlink()
    told = refresh(reports)
    assert {one.directory for one in told.skipped} == {"soak-001", "ci/gate-1"}
    assert told.unfinished == ("gate-2", "soak-002")
    assert ids(reports) == ["soak-000"]


def test_links_are_not_followed(reports: Path, tmp_path: Path) -> None:
    write_soak(tmp_path / "elsewhere", soak(8, [Counts(0, 500)]))
    (reports / "linked").symlink_to(tmp_path / "elsewhere" / "soak-008")
    (reports / "round").symlink_to(reports)
    assert ids(reports) == EVERYTHING


@pytest.mark.parametrize("damage", ["rubbish", "empty", "cut", "flipped", "older", "foreign", "deleted"])
def test_a_damaged_or_deleted_index_is_made_anew(reports: Path, damage: str) -> None:
    refresh(reports)
    path = reports / INDEX
    whole = path.read_bytes()
    match damage:
        case "rubbish":
            path.write_bytes(b"no database at all" * 500)
        case "empty":
            path.write_bytes(b"")
        case "cut":
            path.write_bytes(whole[: len(whole) // 2])
        case "flipped":
            path.write_bytes(whole[:4096] + bytes(byte ^ 0x55 for byte in whole[4096:]))
        case "older":
            with sqlite3.connect(path) as db:
                db.executescript("DROP TABLE cells; CREATE TABLE cells (x); PRAGMA user_version = 0")
            db.close()
        case "foreign":
            with sqlite3.connect(path) as db:
                db.execute("UPDATE findings SET certainty = 'no word of ours'")
            db.close()
        case _:
            path.unlink()
    assert ids(reports) == EVERYTHING
    with Index(reports) as index:
        assert index.stored


def test_an_index_of_a_newer_specfuzz_is_left_as_it_is(reports: Path) -> None:
    refresh(reports)
    db = sqlite3.connect(reports / INDEX)
    db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    assert not refresh(reports).stored
    assert ids(reports) == EVERYTHING
    db = sqlite3.connect(reports / INDEX)
    assert db.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)
    db.close()


def test_where_it_cannot_be_written_it_is_made_in_memory(reports: Path) -> None:
    (reports / INDEX).mkdir()
    assert not refresh(reports).stored
    assert ids(reports) == EVERYTHING


def test_a_writer_that_does_not_end_keeps_nobody_from_reading(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refresh(reports)
    write_soak(reports, soak(6, [Counts(0, 500)]))
    monkeypatch.setattr("fuzzer.trend.index.BUSY", 0.0)
    writer = sqlite3.connect(reports / INDEX, isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    try:
        with Index(reports) as index:
            assert not index.refresh().stored
            assert len(index.nights()) == 5
    finally:
        writer.close()
    assert refresh(reports).stored


def test_two_readers_and_a_writer_at_once(reports: Path) -> None:
    """A process writes new nights while two threads read: every reading is of whole nights."""
    refresh(reports)
    seen: list[int] = []
    done = threading.Event()

    def look() -> None:
        with Index(reports) as index:
            while not done.is_set():
                nights = index.nights()
                assert all(night.cells for night in nights)
                seen.append(len(nights))

    readers = [threading.Thread(target=look) for _ in range(2)]
    for reader in readers:
        reader.start()
    code = (
        "import sys\nfrom pathlib import Path\nfrom fuzzer.trend import refresh\n"
        "from tests.trend.factory import Counts, soak, write_soak\nreports = Path(sys.argv[1])\n"
        "for number in range(10, 18):\n    write_soak(reports, soak(number, [Counts(0, 500)]))\n    refresh(reports)\n"
    )
    try:
        root = Path(__file__).parents[2]
        env = {**os.environ, "PYTHONPATH": str(root)}
        subprocess.run([sys.executable, "-c", code, str(reports)], check=True, env=env, timeout=120)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert seen
    assert len(ids(reports)) == len(EVERYTHING) + 8


@pytest.mark.parametrize(
    ("folder", "why"), [("nowhere", "no folder of reports here"), ("reports/soak-000", "is a run itself")]
)
def test_what_is_no_folder_of_reports_is_a_mistake(reports: Path, folder: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        refresh(reports.parent / folder)
