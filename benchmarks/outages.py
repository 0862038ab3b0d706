"""A soak whose servers stand still, go away and die: a minute of SIGSTOP, two minutes without reference, five restarts.

    python -m benchmarks.outages [--minutes 8]

The pair is healthy, so the night must pass; all outages and boots must be told of, every request be recorded to its
end, and no prompt be judged twice in cells alike. Writes reports/soak/outages.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import anyio

from fuzzer.events import Event, StageStarted
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Prompt
from fuzzer.manifest import HISTORY
from fuzzer.night import LEGS, Night
from fuzzer.plan import Endpoint, Plan, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.soak.conduct import soak
from fuzzer.soak.directory import make
from fuzzer.soak.events import LegOver, SoakEvent
from fuzzer.soak.ledger import Settings

REPORT = Path("reports/soak/outages.md")
TIMEOUT = 20.0  # seconds for one request
STILL, GONE = 60.0, 120.0  # seconds
RESTARTS = 5


class Host:
    """A simulated engine that can be killed and booted again at its own address."""

    def __init__(self, config: SimConfig) -> None:
        self._config = config
        self._stack = AsyncExitStack()
        self._server = SimServer(config)
        self.url = ""

    async def boot(self) -> None:
        """Start a process; again at the same address."""
        self._server = await self._stack.enter_async_context(SimServer(self._config))
        self.url = self._server.url
        self._config = dataclasses.replace(self._config, port=urlsplit(self.url).port or 0)

    async def kill(self) -> None:
        """End it as kill -9 does."""
        await self._server.close()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        if self._server.pid is not None:
            os.kill(self._server.pid, number)

    async def aclose(self) -> None:
        """End it for good."""
        await self._stack.aclose()


class Script:
    """What happens to the servers, each thing at a moment of the soak that it tells itself."""

    def __init__(self, candidate: Host, reference: Host) -> None:
        self._candidate = candidate
        self._reference = reference
        self._over = anyio.Event()
        self._measuring = anyio.Event()
        self.done = False

    def hear(self, event: Event | SoakEvent) -> None:
        """Take an event of the soak or of a leg."""
        match event:
            case LegOver(leg):
                print(
                    f"{leg.active:5.0f} s  leg {leg.number}, boot {leg.boot}: {leg.verdict} {leg.reasons}", flush=True
                )
                self._over.set()
            case StageStarted(arm="candidate", phase="measure", concurrency=level) if level > 1:
                self._measuring.set()
            case _:
                pass

    async def run(self) -> None:
        """All of it, one after the other."""
        await self._leg()
        await self._middle()
        self._candidate.signal(signal.SIGSTOP)
        await anyio.sleep(STILL)
        self._candidate.signal(signal.SIGCONT)
        await self._leg()
        await self._leg()
        await self._reference.kill()
        await anyio.sleep(GONE)
        await self._reference.boot()
        await self._leg()
        for place in range(RESTARTS):
            await self._leg()
            if place % 2:
                await self._middle()
            await self._candidate.kill()
            await self._candidate.boot()
        await self._leg()
        self.done = True

    async def _leg(self) -> None:
        """Until the present leg is over."""
        self._over = anyio.Event()
        await self._over.wait()

    async def _middle(self) -> None:
        """Until the candidate is measured at the level."""
        self._measuring = anyio.Event()
        await self._measuring.wait()


def told(directory: Path, night: Night) -> Iterator[str]:
    """What is wrong with the night, line by line."""
    asked: Counter[tuple[str, str, str]] = Counter()
    for leg in night.legs:
        records = list(read_history(directory / LEGS / leg.run_id / HISTORY))
        texts = {one.id: str(one.messages) for one in records if isinstance(one, Prompt)}
        each = list(exchanges(records))
        if not len({one.key for one in each}) == len(each) == leg.exchanges:
            yield f"leg {leg.number}: {len(each)} exchanges are recorded, {leg.exchanges} counted"
        if lost := sum(one.done is None for one in each):
            yield f"leg {leg.number}: {lost} requests have no end"
        if leg.purpose == "sweep":  # the anchor asks the same again
            measured = (one.sent for one in each if one.sent.phase == "measure")
            asked.update((sent.cell, sent.arm, texts[sent.prompt]) for sent in measured)
    if twice := sum(count > 1 for count in asked.values()):
        yield f"{twice} prompts were judged twice"
    if night.verdict != "pass":
        yield f"verdict {night.verdict}: {night.reasons[0].message}"
    if len(night.boots) != RESTARTS + 1:
        yield f"{len(night.boots)} boots were seen, not {RESTARTS + 1}"
    for end, least in (("the candidate", STILL), ("the reference", GONE)):
        if not any(outage.end == end and outage.seconds >= least * 0.8 for outage in night.outages):
            yield f"no outage of {least:.0f} s of {end} is told of"


async def run(minutes: float, out: Path) -> tuple[Night, list[str]]:
    """The soak and its script."""
    candidate, reference = Host(SimConfig(speculative=True)), Host(SimConfig())
    try:
        await candidate.boot()
        await reference.boot()
        plan = Plan(
            candidates=(Endpoint(name="candidate", url=candidate.url, lm_head="bf16"),),
            references=(Endpoint(name="reference", url=reference.url, lm_head="bf16"),),
            schedules=("closed-loop", "rounds"),
            sampling=Sampling(timeout=TIMEOUT),
            seed=1,
        )
        directory = make(plan, Settings(seconds=minutes * 60), out, "outages")
        script = Script(candidate, reference)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(script.run)
            night = await soak(directory, listeners=[script.hear], tell=script.hear)
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await candidate.aclose()
            await reference.aclose()
    wrong = [*told(directory, night), *([] if script.done else ["the time was over before all had happened"])]
    return night, wrong


def main() -> None:
    """Run it; exit status 1 where the night is not what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        night, wrong = anyio.run(run, arguments.minutes, Path(folder))
    counted = sum(any(cell.counted for cell in leg.cells if cell.role == "gated") for leg in night.legs)
    text = "\n".join(
        [
            f"`python -m benchmarks.outages --minutes {arguments.minutes:g}`",
            "",
            f"- {night.active:.0f} s, {len(night.legs)} legs of which {counted} count, {night.exchanges:,} exchanges, "
            f"{night.judged:,} judged answers, {len(night.boots)} boots, verdict {night.verdict}",
            *(f"- {outage.end} away for {outage.seconds:.0f} s: {outage.why}" for outage in night.outages),
            *(
                f"- leg {leg.number} ({leg.verdict}): {leg.reasons[0]}"
                for leg in night.legs
                if leg.verdict != "pass" and leg.reasons
            ),
            "",
            "Wrong: " + "; ".join(wrong) if wrong else "The night passed, and told of all that had happened.",
            "",
        ]
    )
    REPORT.parent.mkdir(parents=True, exist_ok=True)
    REPORT.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
