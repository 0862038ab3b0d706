"""The soak's conductor: leg after leg until the time is over, through outages, restarts and its own death.

What has happened stands in the ledger before anything follows from it, so that another process can go on at any point:
a leg that was broken off is resumed, one that had ended but was not counted is judged again from its history.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from fuzzer.embedding import Embedding, on_signals
from fuzzer.errors import HistoryError, SpecfuzzError, UsageError
from fuzzer.events import Listener
from fuzzer.history.packed import packed
from fuzzer.manifest import HISTORY
from fuzzer.night import LEGS, Boot, Leg, Night, NightReason
from fuzzer.report.files import SUMMARY
from fuzzer.repro.collect import bundle_run, wanted
from fuzzer.run import Run, gate, go_on, with_headers
from fuzzer.soak import disk
from fuzzer.soak.boots import BootWatch
from fuzzer.soak.counting import CANDIDATE, SILENT, UNREACHED, absent, counted, end_of
from fuzzer.soak.directory import (
    bundles_of,
    ended_summary,
    found,
    leg_directories,
    redact_leg,
    unsent,
    write_leg,
    write_night,
)
from fuzzer.soak.events import (
    BootSeen,
    BulkDropped,
    LegBegan,
    LegOver,
    NightJudged,
    SoakStarted,
    Tell,
)
from fuzzer.soak.findings import FindingLog
from fuzzer.soak.ledger import (
    Began,
    Booted,
    Dropped,
    Ended,
    Finished,
    Ledger,
    Lost,
    Process,
    Silent,
    SoakManifest,
    Void,
    leg_name,
    now,
    read_soak,
)
from fuzzer.soak.liveness import Liveness
from fuzzer.soak.mistakes import disk_full, mistake_of
from fuzzer.soak.outages import Outages
from fuzzer.soak.pooled import fresh
from fuzzer.soak.rotation import choose, leg_plan
from fuzzer.soak.verdict import Ending, judged
from fuzzer.summary import Summary

PAUSES = (5.0, 10.0, 20.0, 40.0, 60.0)  # seconds between two looks at an end that is away; the last one stays
FIRST_TRIES = 5  # to measure anything at all
LEAST_SECONDS = 60.0  # for a leg, however little is left: a soak ends with whole legs


async def soak(
    directory: Path, *, listeners: Sequence[Listener], tell: Tell, headers: Mapping[str, str] | None = None
) -> Night:
    """Begin a soak that was made, or go on with one, until it is over, broken off by a signal, or cannot go on.

    ``listeners`` hear the events of every leg, ``tell`` those of the soak. Returns the night as it stands in
    ``night.json``. Raises HistoryError for a directory that cannot be read or that another process writes.
    """
    manifest = read_soak(directory)
    with ExitStack() as stack:
        ledger = Ledger(directory)
        stack.callback(ledger.close)
        findings = FindingLog(directory, redacted=manifest.plan.redact_content)
        stack.callback(findings.close)
        conductor = _Conductor(directory, manifest, ledger, findings, tell, [*listeners], dict(headers or {}))
        return await conductor.run()


@dataclass(slots=True)
class _Conductor:
    directory: Path
    soak: SoakManifest
    ledger: Ledger
    findings: FindingLog
    tell: Tell
    listeners: list[Listener]
    headers: dict[str, str]
    stop: anyio.Event = field(default_factory=anyio.Event)
    boots: BootWatch = field(init=False)
    liveness: Liveness = field(init=False)
    outages: Outages = field(init=False)
    bundles: dict[str, str] = field(default_factory=dict)
    partial: Leg | None = None
    stopped: NightReason | None = None
    unavailable: bool = False
    _worked: bool = False
    _since: float = field(default_factory=time.monotonic)
    _before: float = 0.0

    async def run(self) -> Night:
        """All legs; a signal breaks the one off that is running."""
        state = self.ledger.state
        self._before = state.active
        self.boots = BootWatch(state.boot, state.counters, self._booted)
        self.outages = Outages(self.ledger, self.tell, lambda: self.active)
        self.bundles = bundles_of(self.directory)
        self.stopped = state.stopped  # a soak that is over is not judged better for being looked at again
        self.tell(SoakStarted(self.soak, str(self.directory), state.processes > 0, tuple(state.ordered)))
        mistake: SpecfuzzError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(on_signals, self.stop.set)  # an impatient second one must cost no verdict
            try:
                await self._go_on()
            except (SpecfuzzError, OSError, BaseExceptionGroup) as error:
                mistake = mistake_of(error, self.directory)  # raised below: this task group would wrap it
            full = mistake is not None and self._full(mistake)
            night = self._judge()
            tasks.cancel_scope.cancel()
        if mistake and not full:
            raise mistake
        self.tell(NightJudged(night, str(self.directory)))
        return night

    async def _go_on(self) -> None:
        state = self.ledger.state
        unknown = {n: path for n, path in leg_directories(self.directory).items() if n not in state.known}
        if not state.finished or state.open or unknown:
            self.ledger.write(Process(at=now()))
            self._find(unknown)
            await self._legs()

    def _find(self, unknown: Mapping[int, Path]) -> None:
        """Legs that the ledger has lost are judged again like any that an earlier process left open."""
        for number, path in unknown.items():
            try:
                self.ledger.write(found(path, number, self.soak.plan))
            except HistoryError as error:
                self.ledger.write(Lost(number=number, why=str(error)))

    @property
    def active(self) -> float:
        """Seconds at work, earlier processes' too."""
        return self._before + time.monotonic() - self._since

    @property
    def left(self) -> float | None:
        """Seconds that are left, None where only the answers are counted."""
        seconds = self.soak.settings.seconds
        return None if seconds is None else seconds - self.active

    def _over(self) -> bool:
        settings, state = self.soak.settings, self.ledger.state
        if self.left is not None and self.left <= 0:
            return True
        cells = (cell for leg in fresh(state.ordered) for cell in leg.cells if cell.counted and cell.role == "gated")
        done = sum(cell.n for cell in cells)
        return settings.requests is not None and done >= settings.requests

    async def _legs(self) -> None:
        state = self.ledger.state
        for leg in state.ordered:  # an earlier process may have died before it came to this
            disk.compress(self.directory, leg)
        for began in state.open:
            await self._recover(began)
            if self.stop.is_set():
                return
        tries = 0
        while not self._over() and self.stopped is None:
            measured = await self._next()
            if self.stop.is_set():
                return
            if measured:
                tries = 0
            elif self.stopped is None:
                with anyio.move_on_after(min(PAUSES[min(tries, len(PAUSES) - 1)], max(self.left or 60.0, 0.1))):
                    await self.stop.wait()
                    return
                tries += 1
        if self.stopped is None or self.stopped.code != "outage" or self._over():
            self.stopped = self.stopped or self.outages.reason
            self.ledger.write(Finished(at=now(), active=self.active, stopped=self.stopped))

    async def _next(self) -> bool:
        """One more leg; false if nothing could be measured."""
        state = self.ledger.state
        number = max((*state.known, *leg_directories(self.directory)), default=0) + 1
        choice = choose(self.soak.plan, state.ordered, number, self.active, self.soak.settings.anchor_seconds)
        name = leg_name(number, choice.schedule)
        place = {"number": number, "run_id": name, "boot": state.boot, "at": now(), "active": self.active}
        began = Began.model_validate(choice.model_dump() | place)
        self.ledger.write(began)
        return await self._gate(began, again=False)

    async def _gate(self, began: Began, *, again: bool) -> bool:
        """Run a leg from its beginning."""
        seconds = max(self.left, LEAST_SECONDS) if self.left is not None else None
        plan = with_headers(leg_plan(began, self.soak.plan, seconds), self.headers)
        self._begin(began, again=again)
        out, heard = self.directory / LEGS, self._hearing()
        try:
            run = await gate(plan, out=out, run_id=began.run_id, listeners=heard, embedding=self._embedding(began))
        except UsageError as error:
            if not self._worked:
                raise
            self._missed(began, str(error), out / began.run_id)  # what worked tonight is no mistake of its user's
            return False
        return self._end(began, run)

    async def _recover(self, began: Began) -> None:
        """A leg that an earlier process began: go on with it, or count it if it had ended."""
        leg = self.directory / LEGS / began.run_id
        try:
            if packed(leg / HISTORY).exists() or (leg / SUMMARY).exists():
                self._begin(began, again=True)
                self._end(began, Run(ended_summary(leg), leg))
            elif unsent(leg) and not self.findings.tells(began.run_id):
                shutil.rmtree(leg, ignore_errors=True)  # killed before it had sent anything
                await self._gate(began, again=True)
            else:
                self._begin(began, again=True)
                heard, embedding = self._hearing(), self._embedding(began)
                run = await go_on(leg, headers=self.headers, listeners=heard, embedding=embedding)
                self._end(began, run, again=True)
        except HistoryError as error:
            if self._full(error):
                raise
            self.ledger.write(Lost(number=began.number, why=str(error)))

    def _begin(self, began: Began, *, again: bool) -> None:
        def keep(cell: str, arm: str, requests: int) -> None:
            self.ledger.write(Silent(number=began.number, cell=cell, arm=arm, requests=requests))

        known = self.ledger.state.silences.get(began.number, {})
        self.liveness = Liveness(self.soak.plan.sampling.timeout, known, keep)
        self.findings.begin(began.run_id, again=again)
        self.tell(LegBegan(began, self.left))

    def _embedding(self, began: Began) -> Embedding:
        """Only the anchor asks again what it has asked before."""
        return Embedding(self.stop, recall=began.purpose == "anchor")

    def _hearing(self) -> list[Listener]:
        return [self.boots, self.liveness, self.findings, *self.listeners]

    def _end(self, began: Began, run: Run, *, again: bool = False) -> bool:
        """Count a leg that has ended; false if it measured nothing. One that was broken off is left open.

        What an earlier process had recorded stays (``again``), though its server is away now.
        """
        summary, state = run.summary, self.ledger.state
        leg = counted(
            summary,
            began,
            boot=max(state.boot, 1),
            active=self.active,
            first_request=self._first_request(max(state.boot, 1)),
            ended=now(),
            silences=self.liveness.silences,
        )
        if self.stop.is_set() and summary.verdict == "interrupted":
            self.partial = leg
            redact_leg(run.directory, summary)
            return False
        shows = leg.cells or any(found.breaks for found in leg.findings)
        if not shows and not (again and leg.exchanges):
            self._unmeasured(began, run)
            return False
        self._worked = True
        self.outages.back(began.active)
        write_leg(run.directory, summary)
        if leg.verdict == "fail":
            self._bundle(run.directory, summary)
        self.ledger.write(Ended(leg=leg, counters=self.boots.counters))
        self._absent(summary, leg.ended)
        disk.compress(self.directory, leg)
        self._make_room()
        night = self._judge(running=True)
        self.tell(LegOver(leg, night))
        if self.soak.settings.stop_on_fail and night.verdict == "fail":
            text = "stopped at the first failure, as --stop-on fail asks"
            self.stopped = NightReason(code="interrupted", message=text)
        return True

    def _absent(self, summary: Summary, ended: str) -> None:
        """Tell of an end that was not there in a cell, unless that was a restart, which is a new boot."""
        told = ((cell.key, absent(cell, self.liveness.silences)) for cell in summary.cells)
        cell, why = next((one for one in told if one[1]), ("", ""))
        back = UNREACHED in why and end_of(why) == CANDIDATE and self.boots.answers
        if why and not back:
            end = end_of(why)
            still = self.liveness.stood(cell, end.removeprefix("the ")) if SILENT in why else None
            self.outages.missed(end, why, ended, still)

    def _first_request(self, boot: int) -> int:
        return sum(leg.candidate_requests for leg in self.ledger.state.ordered if leg.boot == boot)

    def _unmeasured(self, began: Began, run: Run) -> None:
        """Nothing was measured: an end is away, or is not what it was. At the very beginning that is for its user.

        An end that went away after it had been looked at gets a few tries even there. That the leg's time was up is no
        end's fault.
        """
        summary, state = run.summary, self.ledger.state
        if {reason.code for reason in summary.reasons} == {"budget"}:
            self._void(began, run.directory)
            return
        why = summary.reasons[0].message if summary.reasons else "nothing was measured"
        stood = summary.preflight is not None and summary.preflight.comparable and len(state.void) < FIRST_TRIES
        if not state.legs and not stood:
            self.stopped = NightReason(code="outage", message=why)
            self.unavailable = summary.verdict == "unavailable"
        self._missed(began, why, run.directory)

    def _missed(self, began: Began, why: str, directory: Path) -> None:
        self._void(began, directory)
        self.outages.away(end_of(why), why, began.at, began.active)

    def _void(self, began: Began, directory: Path) -> None:
        self.ledger.write(Void(number=began.number))
        shutil.rmtree(directory, ignore_errors=True)

    def _bundle(self, directory: Path, summary: Summary) -> None:
        """Bundles of the kinds of finding that have none yet."""
        fresh = tuple(group for group in summary.findings if group.key not in self.bundles)
        if fresh and wanted(summary):
            bundle_run(directory, summary.model_copy(update={"findings": fresh}))
            self.bundles |= bundles_of(self.directory, directory.name)

    def _make_room(self) -> None:
        limit = self.soak.settings.max_disk
        if limit is None:
            return
        size, state = disk.size_of(self.directory), self.ledger.state
        for leg in disk.spare(state.ordered, state.dropped):
            if size <= limit:
                return
            size -= disk.drop(self.directory, leg)
            self.ledger.write(Dropped(number=leg.number))
            self.tell(BulkDropped(leg))
        if size > limit:
            text = f"what must be kept takes {size:,} bytes, over --max-disk {limit:,}: the soak ended there"
            self.stopped = NightReason(code="disk", message=text)

    def _full(self, error: SpecfuzzError) -> bool:
        """Whether the disk is full: then the soak ends with what it has, and can go on when there is room."""
        if not disk_full(error):
            return False
        self.stopped = NightReason(code="disk", message=f"{error}; make room, then: specfuzz resume DIR")
        return True

    def _booted(self, boot: Boot) -> None:
        self.ledger.write(Booted(boot=boot))
        self.tell(BootSeen(boot))

    def _judge(self, *, running: bool = False) -> Night:
        state = self.ledger.state
        state.active = max(state.active, self.active) if not state.finished else state.active
        ending = Ending(
            ended=now(),
            running=running,
            interrupted=not running and not state.finished and self.stopped is None,
            partial=self.partial,
            stopped=self.stopped,
            unavailable=self.unavailable,
            bytes_kept=disk.size_of(self.directory),
        )
        night = judged(self.soak, state, ending, self.bundles)
        write_night(self.directory, night)
        return night
