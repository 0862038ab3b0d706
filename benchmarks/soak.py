"""Soaks: three faults that only time shows, twenty clean nights and the one that breaks, a very long one, a real one.

    python -m benchmarks.soak faulty [--minutes 30]
    python -m benchmarks.soak nights [--clean 20] [--seconds 90]
    python -m benchmarks.soak long [--exchanges 1000000]
    python -m benchmarks.soak llama [--minutes 120]

``faulty``: one candidate bleeds in 12 of 5,000 requests, gets worse with every request of a boot, and one of its five
boots is bad; the soak must find all three and name them. ``nights``: so many clean nights without an alarm, from the
soaks and from the trend over them, then one with the rare bleed, which the trend must flag, and none before it.
``long``: a very long night against servers that answer at once; the memory of the soak must stay as it is, and its
disk within the limit. ``llama``: real llama.cpp with two candidates, n-gram and drafter, in every schedule; its
directory stays to be read. All write their results to reports/soak/; clean nights that are there are not run again.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio

from fuzzer.demo import LLAMA_FAMILIES, LLAMA_SLOTS, llama_model
from fuzzer.night import Night
from fuzzer.plan import Endpoint, Plan, Sampling, ScheduleName
from fuzzer.shapes import SHAPES
from fuzzer.sim.config import SimConfig
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer, Speculation
from fuzzer.sim.process import SimServer
from fuzzer.soak.conduct import soak
from fuzzer.soak.directory import make
from fuzzer.soak.events import LegOver, SoakEvent
from fuzzer.soak.ledger import Settings
from fuzzer.trend.story import trend

HERE = Path("reports/soak")
SCHEDULES: tuple[ScheduleName, ...] = ("closed-loop", "rounds", "burst-solo")
RARE = 12 / 5000  # of the requests
WEAR = 300  # requests after which `uptime-drift` at rate 1 has moved as far as it goes
BOOTS, BAD = 5, 3
SHORT = ("echo", "code-word", "last-message-wins", "keyed-json")  # families of short answers, to be quick
MIB = 1 << 20
MAX_DISK = 200 * MIB
SLACK = 20 * MIB  # a leg that has just ended may go over the limit before room is made
MOST_MEMORY = 400  # MiB
LIKE_A_NIGHT = 24  # a night has so many anchors, however short it is made
SPECULATIONS: tuple[Speculation, ...] = ("ngram", "draft")


def plan(candidate: SimServer, reference: SimServer, seed: int) -> Plan:
    """The plan of one night; every night asks other prompts."""
    return Plan(
        candidates=(Endpoint(name="candidate", url=candidate.url, lm_head="bf16"),),
        references=(Endpoint(name="reference", url=reference.url, lm_head="bf16"),),
        schedules=SCHEDULES,
        seed=seed,
    )


class Restarts:
    """Starts the candidate anew after each fifth of the night, between two legs; the third boot is bad."""

    def __init__(self, server: SimServer, seconds: float, expected: float) -> None:
        self._server = server
        self._seconds = seconds
        self._drift = 0.5 * WEAR / (expected / BOOTS)  # half worn out by the end of a boot
        self.boot = 0
        self.pending = True

    @property
    def config(self) -> SimConfig:
        """What the next boot runs."""
        faults = {"last-message-swap": RARE, "uptime-drift": self._drift}
        if self.boot == BAD:
            faults["collapse"] = 0.6
        return dataclasses.replace(self._server.config, faults=faults, seed=self.boot)

    async def watch(self) -> None:
        """Boot after boot, on time."""
        for self.boot in range(1, BOOTS + 1):
            await self._server.relaunch(self.config)
            await anyio.sleep(self._seconds / BOOTS)


async def faulty(minutes: float, out: Path, speed: float) -> Night:
    """One night with all three faults; ``speed`` is about how many requests a second the candidate gets."""
    seconds = minutes * 60
    clean = SimConfig(speculative=True)
    async with SimServer(clean) as candidate, SimServer(SimConfig()) as reference, anyio.create_task_group() as tasks:
        restarts = Restarts(candidate, seconds, speed * seconds)
        settings = Settings(seconds=seconds, anchor_seconds=seconds / LIKE_A_NIGHT)
        directory = make(plan(candidate, reference, 1), settings, out, "faulty")
        tasks.start_soon(restarts.watch)
        await anyio.sleep(0.2)
        night = await soak(directory, listeners=[], tell=_tell)
        tasks.cancel_scope.cancel()
    return night


async def short(number: int, seconds: float, out: Path, faults: dict[str, float]) -> Night:
    """One short night."""
    config = SimConfig(speculative=True, seed=number, faults=faults)
    async with SimServer(config) as candidate, SimServer(SimConfig(seed=number)) as reference:
        settings = Settings(seconds=seconds, anchor_seconds=seconds / 4)
        directory = make(plan(candidate, reference, number), settings, out, f"night-{number:02d}")
        return await soak(directory, listeners=[], tell=lambda _: None)


def _tell(event: SoakEvent) -> None:
    if isinstance(event, LegOver):
        leg = event.leg
        k = sum(cell.k for cell in leg.cells)
        n = sum(cell.n for cell in leg.cells)
        print(f"{leg.active:6.0f} s  leg {leg.number} ({leg.why}), boot {leg.boot}: {k} of {n}", flush=True)


def told_faulty(night: Night, seconds: float) -> tuple[list[str], list[str]]:
    """What was found, and what was missed."""
    codes = {reason.code for reason in night.reasons}
    bleeds = [found for found in night.findings if found.breaks and found.kind == "bleed"]
    bad = [boot.number for boot in night.boots if boot.bad]
    lines = [
        f"- {night.judged:,} judged answers in gated cells, {night.exchanges:,} exchanges, {len(night.legs)} legs, "
        f"{len(night.boots)} boots, {seconds:.0f} s",
        *(f"- `{reason.code}` {reason.cell}: {reason.message}" for reason in night.reasons),
    ]
    missed = []
    if not bleeds:
        missed.append("the rare bleed")
    if "drift" not in codes:
        missed.append("the drift with uptime")
    if bad != [BAD]:
        missed.append(f"the bad boot: {bad or 'none'} called bad, not boot {BAD}")
    if len(night.boots) != BOOTS:
        missed.append(f"{len(night.boots)} boots were seen, not {BOOTS}")
    if night.judged < 3000:
        missed.append(f"only {night.judged} judged answers")
    return lines, missed


def run_faulty(arguments: argparse.Namespace) -> int:
    """The night with three faults."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        night = anyio.run(faulty, arguments.minutes, Path(folder), arguments.speed)
        lines, missed = told_faulty(night, time.monotonic() - started)
    text = "\n".join([*lines, "", "Missed: " + "; ".join(missed) if missed else "All three were found and named."])
    _keep("faulty.md", f"`python -m benchmarks.soak faulty --minutes {arguments.minutes:g}`\n\n{text}\n")
    return 1 if missed else 0


def run_nights(arguments: argparse.Namespace) -> int:
    """The clean nights, the one with the fault, and what the trend makes of them."""
    rows = _rows()
    nights = HERE / "nights"  # not kept in the repository: the index and the rows are
    nights.mkdir(parents=True, exist_ok=True)
    for number in range(1, arguments.clean + 2):
        last = number == arguments.clean + 1
        directory = nights / f"night-{number:02d}"
        if (directory / "night.json").exists() and number in rows:
            continue
        shutil.rmtree(directory, ignore_errors=True)
        night = anyio.run(short, number, arguments.seconds, nights, {"last-message-swap": 0.02} if last else {})
        rows[number] = {
            "night": number,
            "planted": last,
            "verdict": night.verdict,
            "judged": night.judged,
            "failed": sum(cell.k for cell in night.cells if cell.role == "gated"),
            "exchanges": night.exchanges,
            "reasons": [f"{reason.code}: {reason.message}" for reason in night.reasons if reason.code != "passed"],
        }
        _write_rows(rows)
        print(rows[number], flush=True)
    story = trend(nights, rebuild=True)
    flagged = [night.run_id for night in story.nights if night.standing == "flagged"]
    alarms = [row["night"] for row in rows.values() if row["verdict"] == "fail" and not row["planted"]]
    judged: Sequence[int] = [row["judged"] for row in rows.values() if not row["planted"]]
    wanted = [f"night-{arguments.clean + 1:02d}"]
    text = "\n".join(
        [
            f"`python -m benchmarks.soak nights --clean {arguments.clean} --seconds {arguments.seconds:g}`",
            "",
            f"- clean nights: {len(judged)}, of {min(judged)} to {max(judged)} judged answers each; called faulty: "
            f"{alarms or 'none'}",
            f"- flagged by the trend: {', '.join(flagged) or 'none'} (the fault was switched on for {wanted[0]})",
        ]
    )
    _keep("nights.md", text + "\n")
    return int(bool(alarms) or flagged != wanted)


@dataclass(slots=True)
class Gauge:
    """Looks at the soak's memory (MiB) and disk (bytes) after each leg, and ends it after so many exchanges."""

    exchanges: int
    rows: list[tuple[int, float, int, float]] = field(default_factory=list)

    def __call__(self, event: SoakEvent) -> None:
        """Take one event of the soak."""
        if isinstance(event, LegOver):
            night = event.night
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
            self.rows.append(
                (night.exchanges, pages * os.sysconf("SC_PAGE_SIZE") / MIB, night.bytes_kept, night.active)
            )
            if len(self.rows) % 20 == 0:
                print(self.rows[-1], flush=True)
            if night.exchanges >= self.exchanges:
                os.kill(os.getpid(), signal.SIGTERM)

    def at(self, exchanges: int) -> tuple[int, float, int, float]:
        """The first look after so many exchanges."""
        return next((row for row in self.rows if row[0] >= exchanges), self.rows[-1])


async def endless(gauge: Gauge, out: Path) -> Night:
    """A night against servers that take no time to think."""
    fast = SimConfig(speculative=True, step_seconds=0)
    async with SimServer(fast) as candidate, SimServer(SimConfig(step_seconds=0)) as reference:
        settings = Settings(seconds=24 * 3600, max_disk=MAX_DISK)
        asked = plan(candidate, reference, 1).model_copy(update={"families": SHORT})
        directory = make(asked, settings, out, "long")
        return await soak(directory, listeners=[], tell=gauge)


def run_long(arguments: argparse.Namespace) -> int:
    """The very long night."""
    gauge = Gauge(arguments.exchanges)
    with tempfile.TemporaryDirectory() as folder:
        night = anyio.run(endless, gauge, Path(folder))
    early, last = gauge.at(arguments.exchanges // 10), gauge.rows[-1]
    most = max(row[1] for row in gauge.rows)
    disk = max(row[2] for row in gauge.rows)
    growth = last[1] / early[1] - 1
    text = "\n".join(
        [
            f"`python -m benchmarks.soak long --exchanges {arguments.exchanges}`",
            "",
            f"- {night.exchanges:,} exchanges in {len(night.legs)} legs, {last[3]:,.0f} s "
            f"({night.exchanges / last[3]:.0f} a second), {night.judged:,} judged answers; {len(night.dropped)} legs "
            "lost their bulk to the disk limit",
            f"- resident memory {early[1]:.0f} MiB after {early[0]:,} exchanges, {last[1]:.0f} MiB at the end "
            f"({growth:+.1%}), {most:.0f} MiB at most",
            f"- disk {disk / MIB:.0f} MiB at most, of {MAX_DISK / MIB:.0f} allowed",
            f"- verdict {night.verdict}: {night.reasons[0].message}",
        ]
    )
    _keep("long.md", text + "\n")
    return int(growth > 0.1 or most > MOST_MEMORY or disk > MAX_DISK + SLACK)


async def real(minutes: float, out: Path, seed: int) -> Night:
    """A night of real llama.cpp: what SmolLM2 can do, asked in every schedule of every candidate."""
    model = llama_model(None)
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(LlamaServer(LlamaConfig(model, slots=LLAMA_SLOTS, speculation=kind)))
            for kind in (*SPECULATIONS, None)
        ]
        asked = Plan(
            candidates=tuple(
                Endpoint(name=kind, url=server.url) for kind, server in zip(SPECULATIONS, servers, strict=False)
            ),
            references=(Endpoint(name="reference", url=servers[-1].url),),
            schedules=tuple(SHAPES),
            concurrency=(1, LLAMA_SLOTS),
            families=LLAMA_FAMILIES,
            sampling=Sampling(timeout=300),
            seed=seed,
        )
        seconds = minutes * 60
        shutil.rmtree(out / "llama", ignore_errors=True)
        directory = make(asked, Settings(seconds=seconds, anchor_seconds=seconds / 2), out, "llama")
        return await soak(directory, listeners=[], tell=_tell)


def run_llama(arguments: argparse.Namespace) -> int:
    """The night of a real engine, leg by leg."""
    night = anyio.run(real, arguments.minutes, HERE, arguments.seed)
    legs = Counter(leg.schedule for leg in night.legs)
    text = "\n".join(
        [
            f"`python -m benchmarks.soak llama --minutes {arguments.minutes:g} --seed {arguments.seed}`",
            "",
            f"- {night.active:,.0f} s at work, {len(night.legs)} legs, {night.exchanges:,} exchanges, {night.judged:,} "
            f"judged answers, verdict {night.verdict}",
            *(f"- `{reason.code}` {reason.cell}: {reason.message}" for reason in night.reasons),
            "",
            "| cell | wrong | judged | reference | acceptance |",
            "|---|---|---|---|---|",
            *(
                f"| {cell.key} | {cell.k} | {cell.n} | {cell.reference_k} of {cell.reference_n} | "
                f"{'' if cell.acceptance is None else f'{cell.acceptance:.2f}'} |"
                for cell in night.cells
            ),
            "",
            "Legs: " + ", ".join(f"{schedule} {count}" for schedule, count in legs.items()),
            "",
            *(
                f"- {found.kind} ({found.certainty}) {found.count} x {found.key}: {found.example}"
                for found in night.findings
            ),
        ]
    )
    _keep("llama.md", text + "\n")
    return int(night.verdict == "fail" or set(legs) != set(SHAPES))


def _rows() -> dict[int, dict[str, Any]]:
    path = HERE / "nights.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {row["night"]: row for row in map(json.loads, lines)}


def _write_rows(rows: dict[int, dict[str, Any]]) -> None:
    text = "".join(json.dumps(rows[number]) + "\n" for number in sorted(rows))
    (HERE / "nights.jsonl").write_text(text, encoding="utf-8")


def _keep(name: str, text: str) -> None:
    HERE.mkdir(parents=True, exist_ok=True)
    (HERE / name).write_text(text, encoding="utf-8")
    print(text)


def main() -> None:
    """Run one of the four; exit status 1 where something was missed or a clean night raised an alarm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(required=True)
    broken = ways.add_parser("faulty")
    broken.add_argument("--minutes", type=float, default=30)
    broken.add_argument("--speed", type=float, default=30, help="requests a second that the candidate gets, about")
    broken.set_defaults(run=run_faulty)
    many = ways.add_parser("nights")
    many.add_argument("--clean", type=int, default=20)
    many.add_argument("--seconds", type=float, default=90)
    many.set_defaults(run=run_nights)
    long = ways.add_parser("long")
    long.add_argument("--exchanges", type=int, default=1_000_000)
    long.set_defaults(run=run_long)
    llama = ways.add_parser("llama")
    llama.add_argument("--minutes", type=float, default=120)
    llama.add_argument("--seed", type=int, default=1)
    llama.set_defaults(run=run_llama)
    arguments = parser.parse_args()
    sys.exit(arguments.run(arguments))


if __name__ == "__main__":
    main()
