"""Servers that go away in the night: restarted, standing still, or not there; the night tells of it and goes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import anyio
import pytest

from fuzzer.events import Event, ExchangeDone, ExchangeSent, StageStarted
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Prompt
from fuzzer.manifest import HISTORY
from fuzzer.night import LEGS, CellCount, Leg, Night
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.soak import conduct, rotation
from fuzzer.soak.conduct import soak
from fuzzer.soak.directory import make
from fuzzer.soak.events import LegBegan, LegOver, OutageSeen, SoakEvent
from fuzzer.soak.ledger import Choice, Settings, read_ledger

from .servers import Server

LEVEL = 8
LEG = 16  # judged answers
FEW = 8  # of them, where that is enough
CONTROL = 4
PAUSE = 0.3  # seconds
CANDIDATE = SimConfig(speculative=True, step_seconds=0.0002)
REFERENCE = SimConfig(step_seconds=0.0002)

Heard = Event | SoakEvent
Script = Generator[None, Heard, None]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Legs of a second, and a new look at an end that is away soon after the last."""
    sized(LEG, monkeypatch)
    monkeypatch.setattr(rotation, "LEG_CONTROL", CONTROL)
    monkeypatch.setattr(conduct, "PAUSES", (PAUSE,))


def sized(answers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Legs of so many judged answers."""
    monkeypatch.setattr(rotation, "LEG_REQUESTS", (answers, answers))
    monkeypatch.setattr(rotation, "ANCHOR_REQUESTS", answers)


def plan(candidate: Server, reference: Server, **update: object) -> Plan:
    given: dict[str, object] = {
        "candidates": (Endpoint(name="candidate", url=candidate.url, lm_head="bf16"),),
        "references": (Endpoint(name="reference", url=reference.url, lm_head="bf16"),),
        "schedules": ("closed-loop", "rounds"),
        "concurrency": (1, LEVEL),
        "families": ("echo", "sort"),
        "policy": Policy(max_wrong_rate=0.4),
        "seed": 11,
    }
    return Plan.model_validate(given | update)


def lasting(answers: int) -> Settings:
    """Until so many answers have counted; five minutes bound what goes wrong."""
    return Settings(requests=answers, seconds=300)


def until(wanted: Callable[[Heard], bool]) -> Script:
    """Let events pass, up to the wanted one."""
    while not wanted((yield)):
        pass


def leg_over(event: Heard) -> bool:
    return isinstance(event, LegOver)


def away(event: Heard) -> bool:
    return isinstance(event, OutageSeen) and not event.over


def measuring(level: int) -> Callable[[Heard], bool]:
    """The candidate's measured requests at this concurrency begin."""
    return lambda event: (
        isinstance(event, StageStarted)
        and (event.arm, event.phase, event.concurrency) == ("candidate", "measure", level)
    )


def requests(outcome: str, count: int) -> Script:
    """Until so many requests of the candidate have ended so."""
    for _ in range(count):
        yield from until(
            lambda event: isinstance(event, ExchangeDone) and (event.arm, event.outcome) == ("candidate", outcome)
        )


def soaked(directory: Path, script: Script) -> Night:
    """A whole soak, to whose events the script listens; the script must have come to its end."""
    over = False
    next(script)

    def hear(event: Heard) -> None:
        nonlocal over
        if not over:
            try:
                script.send(event)
            except StopIteration:
                over = True

    async def run() -> Night:
        return await soak(directory, listeners=[hear], tell=hear)

    night = anyio.run(run)
    assert over
    return night


def gated(leg: Leg) -> CellCount:
    return next(cell for cell in leg.cells if cell.role == "gated")


def check_nothing_lost_or_judged_twice(directory: Path, night: Night) -> None:
    """Every request of the night is recorded to its end, and no prompt is judged twice in cells alike."""
    asked: Counter[tuple[str, str, str]] = Counter()
    for leg in night.legs:
        records = list(read_history(directory / LEGS / leg.run_id / HISTORY))
        texts = {one.id: str(one.messages) for one in records if isinstance(one, Prompt)}
        each = list(exchanges(records))  # raises where one was sent twice
        assert len({one.key for one in each}) == len(each) == leg.exchanges
        assert all(one.done is not None for one in each)
        measured = (one.sent for one in each if one.sent.phase == "measure")
        asked.update((sent.cell, sent.arm, texts[sent.prompt]) for sent in measured)
    assert set(asked.values()) == {1}
    assert night.judged == sum(gated(leg).n for leg in night.legs if gated(leg).counted)
    assert night.lost == 0


def restarts(server: Server) -> Script:
    """Between two legs, in the middle of one, and so that a leg finds nobody: five boots after the first."""
    yield from until(leg_over)
    server.kill()
    server.boot()
    yield from until(measuring(LEVEL))  # leg 2: it is back at once
    yield from requests("ok", 1)
    server.kill()
    server.boot()
    yield from until(leg_over)
    yield from until(measuring(LEVEL))  # leg 3: it is back when some have found nobody
    yield from requests("ok", 1)
    server.kill()
    yield from requests("connect", LEVEL // 2)
    server.boot()
    yield from until(leg_over)
    yield from until(leg_over)  # leg 4 is clean
    server.kill()  # leg 5 finds nobody
    yield from until(away)
    server.boot()
    yield from until(measuring(1))  # leg 6, in which it stays away
    server.kill()
    yield from until(leg_over)
    server.boot()


def test_a_leg_that_had_no_time_is_no_outage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night of slow engines ends in the middle of a leg's preflight; both ends are there."""

    left = iter((None, 0.001))  # the second leg has a millisecond

    def hurried(choice: Choice, base: Plan, seconds: float | None) -> Plan:
        return rotation.leg_plan(choice, base, next(left, seconds))

    monkeypatch.setattr(conduct, "leg_plan", hurried)
    with Server(CANDIDATE) as candidate, Server(REFERENCE) as reference:
        directory = make(plan(candidate, reference), lasting(2 * LEG), tmp_path)
        heard: list[SoakEvent] = []

        async def run() -> Night:
            return await soak(directory, listeners=[], tell=heard.append)

        night = anyio.run(run)
    assert read_ledger(directory).void == {2}
    assert not night.outages
    assert not any(isinstance(event, OutageSeen) for event in heard)
    assert "outage" not in {reason.code for reason in night.reasons}


def test_restarted_five_times_the_night_has_six_boots_and_what_it_missed_counts_for_nothing(tmp_path: Path) -> None:
    with Server(CANDIDATE) as candidate, Server(REFERENCE) as reference:
        directory = make(plan(candidate, reference), lasting(3 * LEG), tmp_path)
        night = soaked(directory, restarts(candidate))
    check_nothing_lost_or_judged_twice(directory, night)
    assert night.verdict == "pass"
    assert [boot.number for boot in night.boots] == [1, 2, 3, 4, 5, 6]
    legs = {leg.number: leg for leg in night.legs}
    assert [leg.boot for leg in night.legs] == [1, 3, 4, 4, 5, 6]
    assert read_ledger(directory).void == {5}
    missed = (2, 3, 6)
    for number in missed:
        assert (legs[number].verdict, gated(legs[number]).counted) == ("inconclusive", False)
        assert legs[number].reasons
    assert any(reason.startswith("outage: ") for reason in legs[6].reasons)
    assert all(gated(leg).k == 0 for leg in night.legs if leg.number not in missed)
    assert [outage.end for outage in night.outages] == ["the candidate"] * 2  # for leg 5, and in leg 6
    assert night.judged == 3 * LEG


def recovery(server: Server) -> Script:
    """Only the second boot of three is faulty, and it dies in the middle of its only leg."""
    yield from until(leg_over)
    server.kill()
    server.boot(faults={"last-message-swap": 0.5})
    yield from until(measuring(LEVEL))
    yield from requests("ok", 1)
    server.kill()
    server.boot(faults={})


def test_a_fault_that_a_restart_cures_still_fails_the_night(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sized(FEW, monkeypatch)
    with Server(CANDIDATE) as candidate, Server(REFERENCE) as reference:
        directory = make(plan(candidate, reference), lasting(2 * FEW), tmp_path)
        night = soaked(directory, recovery(candidate))
    check_nothing_lost_or_judged_twice(directory, night)
    told = [(leg.boot, leg.verdict, gated(leg).counted) for leg in night.legs]
    assert told[:3] == [(1, "pass", True), (3, "fail", False), (3, "pass", True)]
    assert (night.verdict, night.exit_status) == ("fail", 1)
    assert {(found.kind, found.first, found.last) for found in night.findings if found.breaks} == {("bleed", 2, 2)}


def standstill(server: Server) -> Script:
    """It stops when a leg's measured requests begin to leave, until most of them have timed out."""
    yield from until(leg_over)
    yield from until(measuring(LEVEL))
    yield from until(lambda event: isinstance(event, ExchangeSent) and event.phase == "measure")
    server.stop()
    yield from requests("timeout-read", LEVEL + LEVEL // 2)
    server.go_on()


def test_a_server_that_stands_still_for_a_while_breaks_no_night(tmp_path: Path) -> None:
    with Server(CANDIDATE) as candidate, Server(REFERENCE) as reference:
        asked = plan(candidate, reference, sampling=Sampling(timeout=1.5))
        directory = make(asked, lasting(2 * LEG), tmp_path)
        night = soaked(directory, standstill(candidate))
    check_nothing_lost_or_judged_twice(directory, night)
    assert night.verdict == "pass"
    still = night.legs[1]
    assert (still.verdict, gated(still).counted) == ("inconclusive", False)
    assert any("timed out and the candidate gave no sign of life" in reason for reason in still.reasons)
    (outage,) = night.outages
    assert (outage.end, "no sign of life" in outage.why) == ("the candidate", True)
    assert outage.seconds >= 0.75  # as long as half of the time-out, at least
    assert outage.since < still.ended
    assert ("service/hang/timeout-read@candidate", 2, 2) in {(one.key, one.first, one.last) for one in night.findings}
    assert (len(night.boots), night.judged) == (1, 2 * LEG)


def absences(*servers: Server) -> Script:
    """One after the other is away when a leg begins, and for two looks at least."""
    for server in servers:
        yield from until(leg_over)
        server.kill()
        yield from until(away)
        yield from until(lambda event: isinstance(event, LegBegan))
        yield from until(lambda event: isinstance(event, LegBegan))
        server.boot()


def test_an_end_that_is_away_for_a_while_is_waited_for_and_the_night_tells_how_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized(FEW, monkeypatch)
    with Server(CANDIDATE) as candidate, Server(REFERENCE) as reference:
        directory = make(plan(candidate, reference), lasting(3 * FEW), tmp_path)
        night = soaked(directory, absences(candidate, reference))
    check_nothing_lost_or_judged_twice(directory, night)
    assert night.verdict == "pass"
    assert [outage.end for outage in night.outages] == ["the candidate", "the reference"]
    assert all(outage.seconds >= 2 * PAUSE and "no connection" in outage.why for outage in night.outages)
    assert all(cell.counted and gated(leg).n == FEW for leg in night.legs for cell in leg.cells)
    assert len(read_ledger(directory).void) >= 4
    assert night.judged == 3 * FEW
