"""A soak that is taken up again, or looked at again, is judged no better than before."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

from fuzzer.cli.soak import place
from fuzzer.errors import UsageError
from fuzzer.manifest import HISTORY, MANIFEST
from fuzzer.night import LEGS, NIGHT, SOAK, Night, NightReason
from fuzzer.soak.conduct import soak
from fuzzer.soak.directory import make, over, write_night
from fuzzer.soak.ledger import Booted, Ended, Finished, Ledger, Process, Settings, read_ledger
from fuzzer.soak.telling import show_night
from fuzzer.trend.reading import read_night
from tests.cli.conftest import specfuzz

from .dying import die, run
from .factory import SCHEDULES, cell, leg, night, plan, state

AT = "2026-11-30T06:00:00+00:00"


def finished(folder: Path, stopped: NightReason | None) -> Path:
    """A soak that has come to its end with nothing but clean legs, 320 answers for each schedule."""
    directory = make(plan(), Settings(seconds=3600), folder, "night")
    ledger = Ledger(directory)
    ledger.write(Process(at=AT))
    for boot in state(leg(1)).boots:
        ledger.write(Booted(boot=boot))
    for number, schedule in enumerate(SCHEDULES * 5, 1):
        ledger.write(Ended(leg=leg(number, cell(schedule, 0))))
    ledger.write(Finished(at=AT, active=3600, stopped=stopped))
    ledger.close()
    return directory


def looked_at_again(directory: Path) -> Night:
    anyio.run(run, directory)
    return read_night(directory)


def test_what_ended_a_soak_stands_however_often_it_is_judged(tmp_path: Path) -> None:
    away = NightReason(code="outage", message="the candidate could not be measured when the soak ended")
    assert looked_at_again(finished(tmp_path / "clean", None)).verdict == "pass"
    directory = finished(tmp_path / "away", away)
    for _ in range(2):
        told = looked_at_again(directory)
        assert (told.verdict, told.reasons) == ("inconclusive", (away,))


def test_a_name_whose_soak_died_before_its_verdict_is_taken_up_again(tmp_path: Path) -> None:
    directory = finished(tmp_path, None)
    assert not over(directory)
    write_night(directory, night(leg(1, cell("rounds", 0))).model_copy(update={"verdict": "interrupted"}))
    assert not over(directory)
    looked_at_again(directory)
    assert over(directory)


def test_a_name_whose_soak_died_while_it_was_made_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "night" / LEGS).mkdir(parents=True)
    assert not over(make(plan(), Settings(seconds=60), tmp_path, "night"))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds something else"):
        make(plan(), Settings(seconds=60), tmp_path, "other")
    assert not (tmp_path / "other" / SOAK).exists()


def test_a_verdict_is_given_though_its_file_cannot_be_written(tmp_path: Path) -> None:
    directory = finished(tmp_path, None)
    (directory / NIGHT).mkdir()
    told = anyio.run(partial(soak, directory, listeners=[], tell=lambda _: None))
    assert show_night(directory, told, quiet=True) == 0


def test_a_mistake_in_the_options_leaves_no_directory_behind(tmp_path: Path) -> None:
    done = specfuzz("soak", "--candidate", "http://127.0.0.1:1", "--webhook", "ftp://x", "--name", "n", folder=tmp_path)
    assert (done.status, list(tmp_path.iterdir())) == (2, [])
    assert done.err.startswith("specfuzz: --webhook: this is no http(s) URL")


@pytest.mark.parametrize("name", ["a/b", "..", "", " ", "x" * 300, "a\nb", "a\0b", "\\x", "\udcff"])
def test_a_name_that_is_no_directory_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is no name of a directory"):
        place(plan(), Settings(seconds=60), tmp_path, name)


def test_a_leg_that_died_before_it_said_anything_is_begun_anew(tmp_path: Path) -> None:
    directory = make(plan(), Settings(seconds=0.5), tmp_path)
    assert die(directory, 3, torn=True) == -9  # in the first line of its history
    assert (directory / LEGS / "00001-closed-loop" / HISTORY).stat().st_size > 0
    anyio.run(run, directory)
    assert (read_ledger(directory).lost, read_night(directory).verdict) == ({}, "unavailable")


def test_a_history_whose_manifest_is_gone_is_lost_and_kept(tmp_path: Path) -> None:
    directory = make(plan(), Settings(seconds=0.5), tmp_path)
    assert die(directory, 4, torn=True) == -9
    leg_one = directory / LEGS / "00001-closed-loop"
    (leg_one / MANIFEST).unlink()
    anyio.run(run, directory)
    assert list(read_ledger(directory).lost) == [1]
    assert (leg_one / HISTORY).exists()
