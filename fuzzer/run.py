"""The conductor: it alone knows both sides; it runs the phases in order and knows no reporter.

Listeners get the events; the history, the manifest and the findings are written here, the reports are not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TextIO

import anyio

from fuzzer import examples
from fuzzer.calibrate import Calibrator
from fuzzer.cells import CandidateRun
from fuzzer.decisions import settled
from fuzzer.embedding import ON_ITS_OWN, Embedding
from fuzzer.errors import HistoryError, SpecfuzzError, UnavailableError, UsageError
from fuzzer.estimate import describe, estimate, trim
from fuzzer.events import CellDecided, Event, FindingSeen, Listener, PreflightDone, RunFinished, RunStarted
from fuzzer.finding import Finding
from fuzzer.history.journal import Journal, read_history
from fuzzer.history.packed import recorded
from fuzzer.history.records import AnyRecord, Arm, Opened, Resumed
from fuzzer.inert import inert_json
from fuzzer.judge import Judge
from fuzzer.manifest import FINDINGS, HISTORY, Manifest, new_manifest, read_manifest, write_manifest
from fuzzer.plan import Cell, Endpoint, Plan
from fuzzer.preflight import End, Looked, changed_ends, compare_ends, notes, open_end, probe, reasons, report
from fuzzer.prompts.pool import PromptPool
from fuzzer.recall import remembering
from fuzzer.shapes import SPEED_BLOCKS
from fuzzer.summarise import active_waivers, standing, summarise
from fuzzer.summary import Reason, Summary
from fuzzer.traffic.driver import Driver, Line, Prompts
from fuzzer.traffic.memo import Memo
from fuzzer.wire.clock import now_ns
from fuzzer.wire.session import key_of


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has ended: its summary, and the directory that holds its history."""

    summary: Summary
    directory: Path


def run_gate(
    plan: Plan, *, out: Path = Path("reports"), run_id: str | None = None, listeners: Sequence[Listener] = ()
) -> Run:
    """Run a plan to its verdict, from synchronous code; see `gate`."""
    return anyio.run(partial(gate, plan, out=out, run_id=run_id, listeners=listeners))


async def gate(
    plan: Plan,
    *,
    out: Path = Path("reports"),
    run_id: str | None = None,
    listeners: Sequence[Listener] = (),
    embedding: Embedding = ON_ITS_OWN,
) -> Run:
    """Run a plan to its verdict; what ``specfuzz gate`` does.

    Makes ``out/run_id`` (a fresh id if None) with ``run.json``, ``history.jsonl`` and ``findings.jsonl``. Faults of a
    server never raise: they are in the summary, which also holds the exit status. Raises UsageError for a plan that
    cannot be carried out, such as an unknown family.
    """
    drawn = examples.drawn(plan)
    pool = PromptPool.of(plan, drawn)
    for arm, endpoint in _endpoints(plan):
        key_of(endpoint, arm)  # a missing key is a mistake to tell of before anything is made
    manifest = new_manifest(plan, run_id)
    manifest.corpora = pool.digests
    directory = out / manifest.run_id
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(f"--out: {directory} exists already; resume it, or choose another directory") from None
    except OSError as error:
        raise UsageError(f"--out: cannot make {directory}: {error.strerror}") from None
    write_manifest(directory, manifest)
    examples.keep(directory, drawn)
    return await _run(manifest, directory, pool, listeners, embedding, resumed=False)


def resume(directory: Path, *, headers: Mapping[str, str] | None = None, listeners: Sequence[Listener] = ()) -> Run:
    """Take up an interrupted run from synchronous code; see `go_on`."""
    return anyio.run(partial(go_on, directory, headers=headers, listeners=listeners))


async def go_on(
    directory: Path,
    *,
    headers: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    embedding: Embedding = ON_ITS_OWN,
) -> Run:
    """Take up an interrupted run where its history ends; what was recorded is neither lost nor sent again.

    ``headers`` go with every request; a run directory holds none, since they may be secrets. Raises HistoryError if the
    directory holds no run.
    """
    manifest = read_manifest(directory)
    manifest.plan = with_headers(manifest.plan, headers or {})
    manifest.stopped = ()
    manifest.notes = {}
    manifest.not_run = {}
    pool = PromptPool.of(manifest.plan, examples.kept(directory, manifest.plan))
    for name, digest in pool.digests.items():
        if manifest.corpora.get(name, digest) != digest:
            raise UsageError(f"--corpus {name}: it is not what it was when the run began; start a new run")
    return await _run(manifest, directory, pool, listeners, embedding, resumed=True)


def rejudge(directory: Path) -> Summary:
    """Judge a recorded run again with today's oracles; rewrites ``findings.jsonl``, sends nothing."""
    manifest = read_manifest(directory)
    path = directory / HISTORY
    if not recorded(path):
        raise HistoryError(f"{path}: the history is missing, so there is nothing to judge")
    with _findings(directory) as sink:
        judge = Judge(manifest.plan, sink).feed_all(read_history(path))
        return summarise(manifest, judge)


async def _run(
    manifest: Manifest,
    directory: Path,
    pool: PromptPool,
    listeners: Sequence[Listener],
    embedding: Embedding,
    *,
    resumed: bool,
) -> Run:
    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    with _findings(directory) as sink:
        session = _Session(manifest, directory, pool, emit, sink, embedding)
        emit(RunStarted(manifest.run_id, str(directory), manifest.plan, resumed))
        session.open(resumed=resumed)
        try:
            await session.conduct()
        finally:
            session.close()
        summary = summarise(manifest, session.judge)
    examples.keep_interesting(directory, manifest.plan)
    emit(RunFinished(summary))
    return Run(summary, directory)


@dataclass(slots=True)
class _Session:
    """One process's part of a run."""

    manifest: Manifest
    directory: Path
    pool: PromptPool
    emit: Callable[[Event], None]
    sink: Callable[[Finding], None]
    embedding: Embedding
    judge: Judge = field(init=False)
    memo: Memo = field(default_factory=Memo)
    journal: Journal = field(init=False)
    started: float = field(default_factory=time.monotonic)

    def open(self, *, resumed: bool) -> None:
        """Open the history, after reading what an earlier process left in it."""
        self.judge = Judge(self.manifest.plan, self._found)
        path = self.directory / HISTORY
        if resumed and not path.exists():
            raise HistoryError(f"{path}: the history is missing, so there is nothing to resume")
        self.journal = Journal(path)  # it takes the lock: a run that is still going is not read, let alone resumed
        try:
            self._begin(path, resumed=resumed)
        except BaseException:
            self.journal.close()
            raise

    def _begin(self, path: Path, *, resumed: bool) -> None:
        self.manifest.interrupted = True
        write_manifest(self.directory, self.manifest)
        if resumed:
            for record in read_history(path):
                self.judge.feed(record)
                self.memo.add(record)
        self.record(Resumed(at_ns=now_ns()) if resumed else Opened(run_id=self.manifest.run_id, at_ns=now_ns()))

    def close(self) -> None:
        """Close the history and leave the manifest as it stands."""
        self.journal.close()
        write_manifest(self.directory, self.manifest)

    def record(self, record: AnyRecord) -> None:
        """Journal a record, then let the judge see it."""
        self.journal.append(record)
        self.judge.feed(record)

    async def conduct(self) -> None:
        """All phases; Ctrl-C and SIGTERM end them with the history whole."""
        mistake: SpecfuzzError | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.embedding.watch, tasks.cancel_scope)
            try:
                await self._phases()
                self.manifest.interrupted = False
            except (SpecfuzzError, BaseExceptionGroup) as error:
                mistake = _mistake(error)  # raised below: this task group would wrap it
            tasks.cancel_scope.cancel()
        if isinstance(mistake, UnavailableError):
            self.manifest.interrupted = False
            self.manifest.stopped = (Reason(code="unavailable", message=str(mistake)),)
        elif mistake is not None:
            raise mistake

    async def _phases(self) -> None:
        plan = self.manifest.plan
        if self._settled():
            return  # a finished run: nobody needs to be asked again
        async with AsyncExitStack() as stack:
            ends = await self._ends(stack)
            endpoints = tuple(end.summary() for end in ends)
            checks = compare_ends(plan, ends)
            blocking = reasons(checks) + changed_ends(self.manifest.endpoints, endpoints)
            self.manifest.endpoints = self.manifest.endpoints or endpoints
            driver = self._driver()
            looked = Looked()
            if not blocking and not self._probed():
                looked = await probe(plan, ends, driver, self.pool, self.record, self.judge.resumed)
                blocking = looked.reasons
            looked.checks = [*checks, *looked.checks]
            self._preflight(ends, looked, blocking, [*notes(plan, ends), *self.pool.notes])
            if blocking:
                self.manifest.stopped = tuple(blocking)
                return
            for candidate in plan.candidates:
                await self._candidate(candidate.name, ends, driver, stack).run()

    async def _ends(self, stack: AsyncExitStack) -> list[End]:
        return [await self._end(stack, arm, endpoint) for arm, endpoint in _endpoints(self.manifest.plan)]

    async def _end(self, stack: AsyncExitStack, arm: Arm, endpoint: Endpoint) -> End:
        end = await open_end(stack, self.manifest.plan, self.pool, arm, endpoint)
        end.line.exposures.update(self.memo.exposures.get((arm, endpoint.name), {}))
        return end

    def _settled(self) -> bool:
        """Whether an earlier process has decided every cell."""
        waived = frozenset(waiver.key for waiver in active_waivers(self.manifest.plan))
        cells = all(settled(self.judge, cell, waived) for cell in self.manifest.plan.cells())
        return cells and all(
            self.judge.closed(key, block) for key in self.judge.sampled for block in range(SPEED_BLOCKS)
        )

    def _probed(self) -> bool:
        """Whether an earlier process has done the preflight."""
        return all(
            self.judge.preflighted(endpoint.name)
            for endpoint in (*self.manifest.plan.candidates, *self.manifest.plan.references)
        )

    def _preflight(
        self,
        ends: Sequence[End],
        looked: Looked,
        blocking: list[Reason],
        said: list[str],
    ) -> None:
        plan = self.manifest.plan
        before = self.manifest.preflight
        preflight = report(ends, looked, blocking, said)
        if before is not None and not looked.probes:
            preflight = before
        speed = preflight.seconds_per_request
        self.manifest.not_run.update(trim(plan, speed))
        cost = estimate(plan, speed)
        preflight = preflight.model_copy(update={"planned_requests": cost.requests, "planned_seconds": cost.seconds})
        self.manifest.preflight = preflight
        write_manifest(self.directory, self.manifest)
        self.emit(PreflightDone(preflight, describe(plan, speed)))

    def _driver(self) -> Driver:
        prompts = Prompts(
            self.pool.find, self.pool.filler, self.memo, lambda prompt: self.judge.ability.unproven(prompt)
        )
        return Driver(
            record=self.record,
            emit=self.emit,
            memo=self.memo,
            prompts=prompts,
            sampling=self.manifest.plan.sampling,
        )

    def _candidate(self, name: str, ends: Sequence[End], driver: Driver, stack: AsyncExitStack) -> CandidateRun:
        plan = self.manifest.plan
        reference = plan.reference_of(name)
        pair: dict[Arm, End] = {}
        for end in ends:
            if end.arm == "candidate" and end.endpoint.name == name:
                pair["candidate"] = end
            elif end.arm == "reference" and reference is not None and end.endpoint.name == reference.name:
                pair["reference"] = end
        lines: dict[Arm, Line] = {arm: end.line for arm, end in pair.items()}
        candidate = plan.endpoint("candidate", name)
        calibrating = pair.get("reference", pair["candidate"])
        recall = remembering(self.directory.parent, plan, calibrating) if self.embedding.recall else None
        if recall is not None:
            stack.callback(recall.close)
        calibrator = Calibrator(plan, candidate, lines, driver, self.judge, self.pool, self.record, recall)
        return CandidateRun(
            plan=plan,
            candidate=candidate,
            lines=lines,
            driver=driver,
            judge=self.judge,
            calibrator=calibrator,
            record=self.record,
            emit=self.emit,
            waived=frozenset(waiver.key for waiver in active_waivers(plan)),
            out_of_time=self._out_of_time,
            not_run=self.manifest.not_run,
            notes=self.manifest.notes,
            ended=self._ended,
        )

    def _ended(self, cell: Cell) -> None:
        status, why = standing(self.manifest, self.judge, cell)
        self.emit(CellDecided(cell.key, status, why))

    def _found(self, finding: Finding) -> None:
        self.sink(finding)
        self.emit(FindingSeen(finding))

    def _out_of_time(self) -> bool:
        budget = self.manifest.plan.budget_seconds
        return budget is not None and time.monotonic() - self.started > budget


def _mistake(error: BaseException) -> SpecfuzzError:
    """The error of ours that task groups may have wrapped; anything else is a bug and goes on as it is."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, SpecfuzzError):
        return error
    raise error


@contextmanager
def _findings(directory: Path) -> Iterator[Callable[[Finding], None]]:
    """Writes ``findings.jsonl`` anew, a line a finding; the old one stands until the new one is whole."""
    temporary = directory / f".{FINDINGS}.tmp"
    with temporary.open("w", encoding="utf-8") as file:
        yield lambda finding: _write(file, finding)
    os.replace(temporary, directory / FINDINGS)


def _write(file: TextIO, finding: Finding) -> None:
    file.write(inert_json(finding.model_dump_json()) + "\n")


def _endpoints(plan: Plan) -> list[tuple[Arm, Endpoint]]:
    ends: list[tuple[Arm, Endpoint]] = [("candidate", endpoint) for endpoint in plan.candidates]
    return ends + [("reference", endpoint) for endpoint in plan.references]


def with_headers(plan: Plan, headers: Mapping[str, str]) -> Plan:
    """The plan with headers that go with every request."""
    added = {"headers": dict(headers)}
    ends = {
        role: tuple(end.model_copy(update=added) for end in getattr(plan, role))
        for role in ("candidates", "references")
    }
    return plan.model_copy(update=ends)
