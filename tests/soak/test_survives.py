"""A soak survives its own death, at any line: nothing recorded is lost, sent twice or judged twice."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import anyio

from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.packed import lines_of
from fuzzer.manifest import FINDINGS, HISTORY, MANIFEST
from fuzzer.night import LEDGER, LEGS, SOAK
from fuzzer.plan import Endpoint, Plan
from fuzzer.soak.directory import make
from fuzzer.soak.ledger import Settings, read_ledger
from fuzzer.trend.reading import read_night
from tests.cli.conftest import Serve

from .dying import die, run

DEATHS = 50


def plan(candidate: str, reference: str) -> Plan:
    return Plan(
        candidates=(Endpoint(name="candidate", url=candidate, lm_head="bf16"),),
        references=(Endpoint(name="reference", url=reference, lm_head="bf16"),),
        schedules=("closed-loop", "rounds"),
        families=("echo", "sort"),
        seed=11,
    )


def recorded(directory: Path) -> list[bytes]:
    """Every whole line of every history."""
    found: list[bytes] = []
    for leg in sorted((directory / LEGS).iterdir()):
        if leg.is_dir():
            with lines_of(leg / HISTORY) as lines:
                found += [line for line in lines if line.endswith(b"\n")]
    return found


def findings(directory: Path) -> list[tuple[str, str]]:
    lines = (directory / FINDINGS).read_text().splitlines() if (directory / FINDINGS).exists() else []
    return [(told["leg"], f"{told['key']} {told['exchange']} {told['cell']} {told['summary']}")
            for told in map(json.loads, lines)]  # fmt: skip


def test_killed_fifty_times_it_loses_nothing_and_judges_nothing_twice(tmp_path: Path, serve: Serve) -> None:
    candidate = serve("serve-sim", "--speculative", "--fault", "last-message-swap", "--rate", "0.1")
    directory = make(plan(candidate, serve("serve-sim")), Settings(requests=60, anchor_seconds=5), tmp_path)
    rng = random.Random(4)
    before: list[bytes] = []
    for death in range(DEATHS):
        assert die(directory, rng.randint(1, 100), torn=death % 2 == 0) == -9
        after = recorded(directory)
        assert not Counter(before) - Counter(after)
        seen = findings(directory)
        assert len(set(seen)) == len(seen)
        before = after
    anyio.run(run, directory)
    state, night = read_ledger(directory), read_night(directory)
    assert (state.finished, state.damaged, state.open, state.lost) == (True, 0, [], {})
    assert state.processes == DEATHS + 1 == night.processes
    assert night.verdict == "fail"  # what was seen before a crash still breaks the night after it
    assert sorted(leg.number for leg in night.legs) == sorted(state.known) == sorted(range(1, len(night.legs) + 1))
    lost = 0
    for leg in night.legs:
        each = list(exchanges(read_history(directory / LEGS / leg.run_id / HISTORY)))  # raises where one was sent twice
        assert len({one.key for one in each}) == len(each) == leg.exchanges
        lost += sum(one.done is None for one in each)
    assert lost == night.lost > 0
    assert night.judged >= 60


def test_damage_never_lets_a_night_pass_and_what_can_be_read_still_counts(tmp_path: Path, serve: Serve) -> None:
    pair = plan(serve("serve-sim", "--speculative"), serve("serve-sim"))
    lenient = pair.policy.model_copy(update={"max_wrong_rate": 0.2})
    small = pair.model_copy(update={"schedules": ("closed-loop",), "policy": lenient})
    directory = make(small, Settings(requests=30), tmp_path)
    assert die(directory, 200, torn=False) == -9
    flip(directory / LEGS / "00001-closed-loop" / HISTORY, b'"calibration"')
    anyio.run(run, directory)
    night = read_night(directory)
    assert (night.verdict, [leg.number for leg in night.legs], night.judged) == ("inconclusive", [2], 32)
    assert any("leg 1 is lost" in reason.message for reason in night.reasons)
    flip(directory / LEDGER, b'"ended"')
    anyio.run(run, directory)
    again = read_night(directory)
    assert (again.verdict, [leg.number for leg in again.legs], again.judged) == ("inconclusive", [2], 32)
    assert again.cells == night.cells
    assert any("soak.jsonl cannot be read" in reason.message for reason in again.reasons)
    (directory / LEDGER).unlink()
    anyio.run(run, directory)
    anew = read_night(directory)
    assert (anew.verdict, [leg.number for leg in anew.legs], anew.judged) == ("inconclusive", [2], 32)
    assert any("leg 1 is lost" in reason.message for reason in anew.reasons)
    assert any("soak.jsonl has lost 2 legs" in reason.message for reason in anew.reasons)


def flip(path: Path, at: bytes) -> None:
    """Flip a bit inside the first place that reads so."""
    whole = path.read_bytes()
    place = whole.index(at) + 1
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])


def test_what_was_recorded_stays_though_the_server_is_away_when_the_soak_goes_on(tmp_path: Path, serve: Serve) -> None:
    there = plan(serve("serve-sim", "--speculative"), serve("serve-sim"))
    directory = make(there, Settings(seconds=0.5), tmp_path)
    assert die(directory, 60, torn=False) == -9
    before = recorded(directory)
    for path in (directory / SOAK, directory / LEGS / "00001-closed-loop" / MANIFEST):
        text = path.read_text()
        for end in (*there.candidates, *there.references):
            text = text.replace(f'"{end.url}', '"http://127.0.0.1:1')
        path.write_text(text)
    anyio.run(run, directory)
    assert len(before) > 10
    assert not Counter(before) - Counter(recorded(directory))
    night = read_night(directory)
    assert (night.verdict, [leg.verdict for leg in night.legs]) == ("inconclusive", ["unavailable"])
