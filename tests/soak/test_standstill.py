"""How long a server stood still: over stages, for each candidate apart, and over the death of the soak."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from fuzzer.events import ExchangeDone, LoadSeen, StageStarted
from fuzzer.soak import liveness
from fuzzer.soak.events import OutageSeen, SoakEvent
from fuzzer.soak.ledger import Ended, Ledger, Silent, read_ledger
from fuzzer.soak.liveness import Liveness, Silences, Standstill
from fuzzer.soak.outages import Outages

from .factory import cell, leg
from .test_ledger import began

TIMEOUT = 20.0
EPOCH = 1_800_000_000.0
CELL, OTHER = "one/bf16/c8/rounds", "two/bf16/c8/rounds"


@dataclass
class Clock:
    """Seconds since the leg began."""

    now: float = 0.0
    kept: list[tuple[str, str, int]] = field(default_factory=list)

    def listen(self, known: Silences | None = None) -> Liveness:
        return Liveness(TIMEOUT, known or {}, lambda *told: self.kept.append(told))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    told = SimpleNamespace(monotonic=lambda: 5000.0 + made.now, time=lambda: EPOCH + made.now)
    monkeypatch.setattr(liveness, "time", told)
    return made


def stage(heard: Liveness, clock: Clock, at: float, arm: str = "candidate", *, of: str = CELL) -> None:
    clock.now = at
    heard(StageStarted(of, arm, "measure", 0, 16, 8))


def alive(heard: Liveness, clock: Clock, at: float) -> None:
    clock.now = at
    heard(LoadSeen("candidate", 8.0, 0.0, None))


def timed_out(heard: Liveness, clock: Clock, *at: float) -> None:
    for clock.now in at:
        for _ in range(8):
            heard(ExchangeDone("candidate", "measure", "timeout-read"))


def test_a_standstill_is_as_long_as_between_two_signs_of_life_whatever_was_asked_meanwhile(clock: Clock) -> None:
    heard = clock.listen()
    stage(heard, clock, 0)
    alive(heard, clock, 1)
    timed_out(heard, clock, 21, 41)
    stage(heard, clock, 42, "reference")
    stage(heard, clock, 65)
    alive(heard, clock, 65.5)
    assert heard.stood(CELL, "candidate") == Standstill(EPOCH + 1, 64.5, over=True)
    assert heard.stood(CELL, "reference") is None


def test_one_that_lasts_began_with_the_last_sign_of_life(clock: Clock) -> None:
    heard = clock.listen()
    stage(heard, clock, 0)
    alive(heard, clock, 1)
    for begin in (1, 60, 120):
        stage(heard, clock, begin)
        timed_out(heard, clock, begin + 21, begin + 41)
    clock.now = 170
    assert heard.stood(CELL, "candidate") == Standstill(EPOCH + 1, 169, over=False)


def test_the_time_in_which_nobody_asked_is_no_standstill(clock: Clock) -> None:
    heard = clock.listen()
    stage(heard, clock, 0)
    alive(heard, clock, 1)
    stage(heard, clock, 2, "reference")
    stage(heard, clock, 100)
    timed_out(heard, clock, 120)
    alive(heard, clock, 130)
    assert heard.stood(CELL, "candidate") == Standstill(EPOCH + 100, 30, over=True)


def test_another_candidate_revives_nobody(clock: Clock) -> None:
    heard = clock.listen()
    stage(heard, clock, 0)
    alive(heard, clock, 1)
    timed_out(heard, clock, 21)
    stage(heard, clock, 30, of=OTHER)
    alive(heard, clock, 31)
    still = heard.stood(CELL, "candidate")
    assert still is not None
    assert (still.seconds, still.over) == (30, False)
    assert heard.stood(OTHER, "candidate") is None


def test_silences_outlive_the_process_that_counted_them(clock: Clock, tmp_path: Path) -> None:
    heard = clock.listen()
    stage(heard, clock, 0)
    alive(heard, clock, 1)
    timed_out(heard, clock, 21)
    ledger = Ledger(tmp_path)
    ledger.write(began(1))
    for where, arm, count in clock.kept:
        ledger.write(Silent(number=1, cell=where, arm=arm, requests=count))
    ledger.close()
    known = read_ledger(tmp_path).silences[1]
    assert known == {(CELL, "candidate"): 8}
    again = clock.listen(known)
    stage(again, clock, 30)
    alive(again, clock, 31)
    timed_out(again, clock, 51)
    assert again.silences[CELL, "candidate"] == 16
    ledger = Ledger(tmp_path)
    ledger.write(Ended(leg=leg(1, cell("rounds", 0))))
    ledger.close()
    assert read_ledger(tmp_path).silences == {}


# --- outages


def outages(folder: Path, at: float) -> tuple[Outages, Ledger, list[SoakEvent]]:
    ledger, told = Ledger(folder), list[SoakEvent]()
    return Outages(ledger, told.append, lambda: at), ledger, told


def lasts(made: Outages) -> bool:
    """Whether there would be something to say if the soak ended now."""
    return made.reason is not None


def test_an_outage_goes_on_in_the_next_process_and_is_told_once(tmp_path: Path) -> None:
    first, ledger, _ = outages(tmp_path, 100.0)
    first.away("the candidate", "no connection", "2026-11-30T10:00:00+00:00", 90.0)
    ledger.close()
    second, ledger, told = outages(tmp_path, 100.0)
    assert lasts(second)
    second.away("the candidate", "no connection", "2026-11-30T11:00:00+00:00", 101.0)
    assert told == []
    second.back(130.0)
    ledger.close()
    (outage,) = read_ledger(tmp_path).outages.values()
    assert (outage.since, outage.seconds) == ("2026-11-30T10:00:00+00:00", 40.0)
    assert [event.over for event in told if isinstance(event, OutageSeen)] == [True]
    third, ledger, _ = outages(tmp_path, 130.0)
    ledger.close()
    assert not lasts(third)


def test_a_standstill_that_is_over_keeps_no_end_away(tmp_path: Path) -> None:
    made, ledger, told = outages(tmp_path, 200.0)
    made.missed("the candidate", "no sign of life", "later", Standstill(EPOCH, 61.04, over=True))
    assert not lasts(made)
    assert [event.over for event in told if isinstance(event, OutageSeen)] == [False, True]
    made.missed("the candidate", "no sign of life", "later", Standstill(EPOCH, 30.0, over=False))
    assert lasts(made)
    ledger.close()
    assert sorted(outage.seconds for outage in read_ledger(tmp_path).outages.values()) == [30.0]
