"""Retention: old runs go, the trend keeps their numbers, and nothing else is ever touched."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fuzzer.errors import HistoryError, UsageError
from fuzzer.history.appending import Appending
from fuzzer.trend import Index
from fuzzer.trend.prune import Pruned, duration, prune
from tests.report import factory as summaries

from .factory import FIRST, Counts, found, soak, touch, write_gate, write_soak, write_unended

MONTH = timedelta(days=30)
NOW = FIRST + timedelta(days=40)
OLD = FIRST.isoformat()


def pruned(reports: Path, *, now: datetime = NOW, dry_run: bool = False) -> Pruned:
    return prune(reports, MONTH, now=now, dry_run=dry_run)


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def bundle(directory: Path) -> None:
    (directory / "bundles" / "bleed-1").mkdir(parents=True)
    (directory / "bundles" / "bleed-1" / "bundle.json").write_text("{}", encoding="utf-8")


def nights(reports: Path) -> list[str]:
    with Index(reports) as index:
        index.refresh()
        return [night.run_id for night in index.nights()]


def test_old_runs_and_soaks_go_and_the_trend_keeps_their_numbers(tmp_path: Path) -> None:
    write_gate(tmp_path, summaries.passing(), run_id="gate-old", started=OLD)
    write_soak(tmp_path, soak(0, [Counts(2, 500)]))
    write_soak(tmp_path, soak(20, [Counts(0, 500)]))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file() and "soak-020" not in path.parts)
    done = pruned(tmp_path)
    assert [one.directory for one in done.removed] == ["gate-old", "soak-000"]
    assert done.freed >= size
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"soak-020"}
    assert sorted(nights(tmp_path)) == ["gate-old", "soak-000", "soak-020"]
    assert pruned(tmp_path) == Pruned((), (), ())


def test_a_dry_run_says_the_same_and_touches_nothing(tmp_path: Path) -> None:
    write_gate(tmp_path, summaries.passing(), run_id="gate-old", started=OLD)
    before = files(tmp_path)
    would = pruned(tmp_path, dry_run=True)
    assert files(tmp_path) == before
    assert pruned(tmp_path) == would
    assert would.freed > 0


def test_of_a_failing_gate_the_bundles_and_what_explains_them_stay(tmp_path: Path) -> None:
    directory = write_gate(tmp_path, summaries.failing(), run_id="gate-bad", started=OLD)
    bundle(directory)
    for name in ("findings.jsonl", "report.html", "junit.xml", "fuzz.jsonl"):
        (directory / name).write_text("x", encoding="utf-8")
    (removal,) = pruned(tmp_path).removed
    assert removal.thinned
    assert files(directory) == {
        "run.json", "summary.json", "findings.jsonl", "report.html", "bundles/bleed-1/bundle.json",
    }  # fmt: skip
    assert pruned(tmp_path).removed == ()
    assert nights(tmp_path) == ["gate-bad"]


def test_of_a_failing_soak_the_legs_that_failed_stay_with_their_bundles(tmp_path: Path) -> None:
    directory = write_soak(tmp_path, soak(0, [Counts(12, 500)], [found()], verdict="fail"))
    bad = write_gate(directory / "legs", summaries.failing(), run_id="leg-2", name="0002-rounds")
    bundle(bad)
    (directory / "soak.json").write_text("{}", encoding="utf-8")
    (removal,) = pruned(tmp_path).removed
    assert removal.thinned
    assert files(directory) == {
        "night.json", "soak.json", "legs/0002-rounds/run.json", "legs/0002-rounds/summary.json",
        "legs/0002-rounds/bundles/bleed-1/bundle.json",
    }  # fmt: skip


def test_a_run_with_bundles_keeps_them_whatever_its_verdict(tmp_path: Path) -> None:
    directory = write_gate(tmp_path, summaries.inconclusive(), run_id="gate", started=OLD)
    bundle(directory)
    pruned(tmp_path)
    assert "bundles/bleed-1/bundle.json" in files(directory)


@pytest.mark.parametrize("sort", ["gate", "soak"])
def test_what_is_being_written_stays(tmp_path: Path, sort: str) -> None:
    if sort == "gate":
        directory = write_gate(tmp_path, summaries.passing(), run_id="gate", started=OLD)
    else:
        directory = write_soak(tmp_path, soak(0, [Counts(0, 500)]))
    journal = Appending(directory / ("history.jsonl" if sort == "gate" else "soak.jsonl"))
    try:
        done = pruned(tmp_path)
        assert ([one.why for one in done.kept], done.removed) == (["is being written"], ())
        assert directory.is_dir()
    finally:
        journal.close()
    assert len(pruned(tmp_path).removed) == 1


def test_an_interrupted_run_is_kept_twice_as_long(tmp_path: Path) -> None:
    killed = write_unended(tmp_path, "gate-killed")
    broken_off = write_soak(tmp_path, soak(0, [Counts(0, 500)], verdict="fail"), journal='{"type":"began"}\n')
    for directory in (killed, broken_off):
        touch(directory, FIRST)
    done = pruned(tmp_path)
    assert done.removed == ()
    assert {one.directory: one.why.partition(":")[0] for one in done.kept} == {
        "gate-killed": "was interrupted and can be resumed", "soak-000": "was interrupted and can be resumed",
    }  # fmt: skip
    later = pruned(tmp_path, now=FIRST + timedelta(days=61))
    assert {one.directory: one.thinned for one in later.removed} == {"gate-killed": False, "soak-000": True}


def test_nothing_but_runs_is_touched_and_links_are_not_followed(tmp_path: Path) -> None:
    reports, outside = tmp_path / "reports", tmp_path / "outside"
    write_gate(outside, summaries.passing(), run_id="gate-outside", started=OLD)
    (outside / "precious.txt").write_text("x", encoding="utf-8")
    directory = write_gate(reports, summaries.passing(), run_id="gate-old", started=OLD)
    (directory / "link").symlink_to(outside)
    (reports / "linked-run").symlink_to(outside / "gate-outside")
    (reports / "notes").mkdir()
    (reports / "notes" / "summary.json").write_text("{}", encoding="utf-8")
    before = files(outside)
    assert [one.directory for one in pruned(reports).removed] == ["gate-old"]
    assert files(outside) == before
    assert {path.name for path in reports.iterdir() if path.name != "index.sqlite"} == {"linked-run", "notes"}


def test_what_cannot_be_read_or_holds_another_run_stays(tmp_path: Path) -> None:
    unread = write_gate(tmp_path, summaries.passing(), run_id="unread", started=OLD)
    (unread / "summary.json").write_text("{", encoding="utf-8")
    undated = write_gate(tmp_path, summaries.passing(), run_id="undated", started="long ago")
    holder = write_gate(tmp_path, summaries.passing(), run_id="holder", started=OLD)
    write_gate(holder, summaries.passing(), run_id="held", started=OLD)
    done = pruned(tmp_path)
    assert done.removed == ()
    assert {one.directory for one in done.kept} == {"unread", "undated", "holder"}
    assert all(directory.is_dir() for directory in (unread, undated, holder))


def test_where_the_numbers_cannot_be_kept_nothing_goes(tmp_path: Path) -> None:
    directory = write_gate(tmp_path, summaries.passing(), run_id="gate-old", started=OLD)
    (tmp_path / "index.sqlite").mkdir()
    with pytest.raises(HistoryError, match="nothing was removed"):
        pruned(tmp_path)
    assert (directory / "history.jsonl").exists()


def test_what_cannot_be_removed_is_named_and_the_rest_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = write_soak(tmp_path, soak(0, [Counts(0, 500)]))
    write_gate(tmp_path, summaries.passing(), run_id="zzz", started=OLD)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    done = pruned(tmp_path)
    assert [(one.directory, one.why) for one in done.failed] == [("soak-000", "Permission denied")]
    assert [one.directory for one in done.removed] == ["zzz"]
    assert (stuck / "night.json").exists()


@pytest.mark.parametrize(("text", "days"), [("30d", 30), ("48h", 2), (" 4w ", 28)])
def test_times_have_a_unit(text: str, days: int) -> None:
    assert duration(text) == timedelta(days=days)


@pytest.mark.parametrize("text", ["30", "d", "-1d", "1.5d", "0d", "30 days", "5m", ""])
def test_a_time_without_a_unit_is_a_mistake(text: str) -> None:
    with pytest.raises(UsageError, match="for example --keep 30d"):
        duration(text)


def test_a_clock_behind_or_a_run_of_the_future_removes_nothing(tmp_path: Path) -> None:
    write_gate(tmp_path, summaries.passing(), run_id="gate", started=(NOW + MONTH * 3).isoformat())
    assert pruned(tmp_path) == Pruned((), (), ())
    assert pruned(tmp_path, now=datetime(1970, 1, 1, tzinfo=UTC)) == Pruned((), (), ())
