"""A soak on a full disk stops with a line that says so and no pass; with room it goes on and loses nothing."""

from __future__ import annotations

import multiprocessing
import os
import resource
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import anyio
import pytest

from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.packed import lines_of
from fuzzer.manifest import HISTORY
from fuzzer.night import LEGS, Night
from fuzzer.plan import Endpoint, Plan, Policy
from fuzzer.sim.config import SimConfig
from fuzzer.soak import rotation
from fuzzer.soak.conduct import soak
from fuzzer.soak.directory import make
from fuzzer.soak.events import LegOver, SoakEvent
from fuzzer.soak.ledger import Settings, read_ledger

from .servers import Server

LEG = 8  # judged answers
KIB = 1 << 10
FAST = 0.0002  # seconds a step

_FORKS = multiprocessing.get_context("forkserver")


@dataclass(frozen=True)
class SmallDisk:
    """A file system of 8 MiB, of which so many bytes are free as it is told to leave."""

    folder: Path

    def leave(self, room: int | None) -> None:
        """None leaves all."""
        ballast = self.folder / "ballast"
        ballast.unlink(missing_ok=True)
        if room is not None:
            told = os.statvfs(self.folder)
            ballast.write_bytes(bytes(told.f_bavail * told.f_frsize - room))


@dataclass(frozen=True)
class SmallFiles:
    """No file of this process may get larger than it is told to leave; it takes no root."""

    folder: Path

    def leave(self, room: int | None) -> None:
        """None leaves the limit as it is."""
        if room is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


Disk = SmallDisk | SmallFiles


@pytest.fixture(params=[SmallDisk, SmallFiles])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "small"
    folder.mkdir()
    if request.param is SmallFiles:
        yield SmallFiles(folder)
        return
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("this user may not mount a small file system")
    yield SmallDisk(folder)
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def go_on(directory: Path, disk: Disk, room: int | None, *, after_a_leg: bool = False) -> Night:
    """Go on with the soak in a process of its own, with so much room from the beginning, or from a leg's end on."""
    ours, theirs = _FORKS.Pipe()
    process = _FORKS.Process(target=_soak, args=(directory, disk, room, after_a_leg, theirs))
    process.start()
    theirs.close()
    told = ours.recv()  # EOFError where it ended without a night
    process.join()
    return Night.model_validate_json(told)


def _soak(directory: Path, disk: Disk, room: int | None, after_a_leg: bool, channel: Connection) -> None:
    rotation.LEG_REQUESTS = (LEG, LEG)
    rotation.ANCHOR_REQUESTS = LEG

    def tell(event: SoakEvent) -> None:
        if after_a_leg and isinstance(event, LegOver):
            disk.leave(room)

    if not after_a_leg:
        disk.leave(room)
    night = anyio.run(partial(soak, directory, listeners=[], tell=tell))
    channel.send(night.model_dump_json())


def recorded(directory: Path) -> Counter[bytes]:
    """Every whole line of every history."""
    found: Counter[bytes] = Counter()
    for leg in sorted((directory / LEGS).glob("0*")):
        with lines_of(leg / HISTORY) as lines:
            found.update(line for line in lines if line.endswith(b"\n"))
    return found


def plan(candidate: Server, reference: Server) -> Plan:
    return Plan(
        candidates=(Endpoint(name="candidate", url=candidate.url, lm_head="bf16"),),
        references=(Endpoint(name="reference", url=reference.url, lm_head="bf16"),),
        schedules=("closed-loop",),
        concurrency=(1, 4),
        families=("echo", "sort"),
        policy=Policy(max_wrong_rate=0.4),
        seed=11,
    )


def test_a_full_disk_stops_the_soak_which_then_goes_on_and_loses_nothing(disk: Disk) -> None:
    ours, theirs = SimConfig(speculative=True, step_seconds=FAST), SimConfig(step_seconds=FAST)
    with Server(ours) as candidate, Server(theirs) as reference:
        directory = make(plan(candidate, reference), Settings(requests=2 * LEG), disk.folder)
        before: Counter[bytes] = Counter()
        for room, after_a_leg in ((60 * KIB, True), (4 * KIB, False)):  # in the middle of leg 2, and at once
            night = go_on(directory, disk, room, after_a_leg=after_a_leg)
            assert (night.verdict, night.exit_status) == ("inconclusive", 3)
            assert (night.reasons[0].code, [leg.number for leg in night.legs]) == ("disk", [1])
            assert night.reasons[0].message.endswith("; make room, then: specfuzz resume DIR")
            assert "\n" not in night.reasons[0].message
            after = recorded(directory)
            assert not before - after
            before = after
        night = go_on(directory, disk, None)
        assert not before - recorded(directory)
    state = read_ledger(directory)
    assert (state.finished, state.damaged, state.open, state.lost) == (True, 0, [], {})
    assert (night.verdict, [leg.number for leg in night.legs], night.judged) == ("pass", [1, 2], 2 * LEG)
    for leg in night.legs:
        each = list(exchanges(read_history(directory / LEGS / leg.run_id / HISTORY)))  # raises where one was sent twice
        assert len({one.key for one in each}) == len(each) == leg.exchanges
        assert sum(one.done is None for one in each) == leg.lost
    assert night.lost <= 2 * 4  # what was in flight when there was no room for its answer
