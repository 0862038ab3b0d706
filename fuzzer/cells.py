"""The phases of one candidate's cells: calibrate prompts as they are needed, then measure block after block.

Everything decided here follows from the plan, the seed and the recorded replies, so that a resumed run takes the same
way again; blocks already closed in the history are skipped.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from fuzzer.decisions import cap, settled, wanted
from fuzzer.events import BlockJudged, Event
from fuzzer.history.records import AnyRecord, Arm, Block, Exchange
from fuzzer.judge import Judge
from fuzzer.judge.calibration import Calibration, calibration_key
from fuzzer.judge.grading import grade_exchange
from fuzzer.oracles.divergence import ALONE
from fuzzer.plan import Cell, Endpoint, Plan, block_size
from fuzzer.prompts.pool import PromptPool
from fuzzer.summary import Reason
from fuzzer.traffic.driver import Driver, Line, StageSpec
from fuzzer.traffic.schedules import Release, prompts_in_block, releases

HOPELESS_TRIES = 6  # a family and level that the model cannot do is not asked for ever
HOPELESS_SHARE = 0.25
BARREN = 4  # calibration batches in a row that keep nothing end the search
SKIP_LIMIT = 500  # so many prompts of hopeless kinds in a row: nothing else is left in the mix


class Exhausted(Exception):  # noqa: N818 - it is a way out of a loop, not an error of the run
    """No more prompts can be calibrated: the corpus is used up, or the model answers too few of them."""


@dataclass(slots=True)
class _Level:
    """The calibration of one level; its state is what the judge has seen closed, so that it outlives a crash."""

    concurrency: int
    calibration: Calibration

    @property
    def key(self) -> str:
        return self.calibration.key

    @property
    def ready(self) -> list[str]:
        return self.calibration.ready


@dataclass(slots=True)
class CandidateRun:
    """Runs all cells of one candidate. ``lines`` holds an endpoint an arm; without a reference there is one arm."""

    plan: Plan
    candidate: Endpoint
    lines: dict[Arm, Line]
    driver: Driver
    judge: Judge
    pool: PromptPool
    record: Callable[[AnyRecord], None]
    emit: Callable[[Event], None]
    waived: frozenset[str]
    out_of_time: Callable[[], bool]
    not_run: dict[str, str]
    notes: dict[str, Reason]

    async def run(self) -> None:
        """The control first, then the gated cells, each until it is settled."""
        for cell in self.plan.cells():
            if cell.candidate != self.candidate.name or cell.key in self.not_run:
                continue
            if self.out_of_time():
                self.not_run[cell.key] = "the budget was used up before this cell"
                continue
            await self._cell(cell)

    async def _cell(self, cell: Cell) -> None:
        if cell.role == "control" and not self.plan.references:
            await self._extend_control(self.plan.policy.control_requests)
            return
        tally = self.judge.cells[cell.key]
        while not settled(self.judge, cell, self.waived):
            if self.out_of_time():
                self._note("budget", cell, "the budget was used up before the cell was decided")
                break
            try:
                await self._block(cell)
            except Exhausted as error:
                self._note("too-few-judged", cell, str(error))
                break
            self.emit(BlockJudged(cell.key, tally.blocks - 1, tally.k, tally.n, wanted(self.plan, cell)))

    def _note(self, code: Literal["budget", "too-few-judged"], cell: Cell, message: str) -> None:
        self.notes[cell.key] = Reason(code=code, cell=cell.key, message=message)

    async def _block(self, cell: Cell) -> None:
        """The next block of a cell, on the next prompts of its level."""
        used = self.judge.cells[cell.key].prompts
        upto = used + self._need(cell)
        concurrency = self._first_gated() if cell.role == "control" else cell.concurrency
        level = await self._calibrated(self._level(concurrency), upto)
        if not self.plan.references and cell.concurrency > 1:
            await self._extend_control(upto)
        await self._measure(cell, level.ready[used:upto])

    async def _measure(self, cell: Cell, prompts: Sequence[str]) -> None:
        block = self.judge.cells[cell.key].blocks
        for arm in self._order(block):
            spec = StageSpec(
                cell=cell.key,
                arm=arm,
                phase="measure",
                block=block,
                concurrency=cell.concurrency,
                releases=releases(cell.schedule, prompts, cell.concurrency),
            )
            await self.driver.drive(spec, self.lines[arm])
        self.record(Block(cell=cell.key, block=block, judged_prompts=tuple(prompts)))

    def _need(self, cell: Cell) -> int:
        """Prompts for this block: whole releases, no more than the cell still lacks."""
        tally = self.judge.cells[cell.key]
        lacks = cap(self.plan, cell) - tally.n
        if cell.schedule == "replicas":
            lacks *= cell.concurrency
        full = block_size(cell.concurrency, cell.schedule)
        size = full if lacks >= full else block_size(cell.concurrency, cell.schedule, lacks)
        return prompts_in_block(cell.schedule, size, cell.concurrency)

    def _order(self, block: int) -> tuple[Arm, ...]:
        """ABBA, so that a drift of the machine does not favour one side."""
        if "reference" not in self.lines:
            return ("candidate",)
        return ("reference", "candidate") if block % 2 else ("candidate", "reference")

    def _level(self, concurrency: int) -> _Level:
        """Where a cell's prompts are calibrated; without a reference everything is calibrated alone."""
        level = concurrency if self.plan.references else 1
        key = calibration_key(self.candidate.name, self.candidate.lm_head, level)
        return _Level(level, self.judge.calibration(key))

    def _first_gated(self) -> int:
        return next(cell.concurrency for cell in self.plan.gated if cell.candidate == self.candidate.name)

    async def _extend_control(self, upto: int) -> None:
        """Without a reference, every judged prompt is also measured alone, so that McNemar can pair with it."""
        control = next(
            cell for cell in self.plan.cells() if cell.candidate == self.candidate.name and cell.concurrency == 1
        )
        used = self.judge.cells[control.key].prompts
        if upto > used:
            level = await self._calibrated(self._level(1), upto)
            await self._measure(control, level.ready[used:upto])

    async def _calibrated(self, level: _Level, upto: int) -> _Level:
        """Calibrate until ``upto`` prompts may be judged at this level."""
        while len(level.ready) < upto:
            batch = self._next_prompts(level.calibration, upto - len(level.ready))
            if not batch:
                raise Exhausted(self._why_no_prompts(level.calibration))
            block = level.calibration.blocks
            await self._passes(level, batch)
            self.record(Block(cell=level.key, block=block, judged_prompts=self.judge.keep(level.key, block)))
            if level.calibration.barren >= BARREN:
                raise Exhausted(
                    f"the last {BARREN} calibration batches kept no prompt: the model can do too few of them"
                )
        return level

    def _next_prompts(self, calibration: Calibration, lacking: int) -> list[str]:
        """The next prompts of the pool, a few more than lack, without the kinds this model has shown it cannot do."""
        share = max(calibration.kept / calibration.tried, 0.2) if calibration.tried else 0.85
        count = max(round(lacking / share), 2)
        batch: list[str] = []
        skipped = 0
        cursor = calibration.cursor
        while len(batch) < count and skipped < SKIP_LIMIT and not self._used_up(cursor):
            prompt = self.pool.prompt(cursor)
            cursor += 1
            tries, hits = calibration.families.get((prompt.family, prompt.level), (0, 0))[:2]
            if tries < HOPELESS_TRIES or hits >= tries * HOPELESS_SHARE:
                batch.append(prompt.id)
                skipped = 0
            else:
                skipped += 1
        return batch

    def _used_up(self, cursor: int) -> bool:
        return self.pool.size is not None and cursor >= self.pool.size

    def _why_no_prompts(self, calibration: Calibration) -> str:
        if self._used_up(calibration.cursor):
            return f"the corpus is used up: all of its {self.pool.size} prompts were tried"
        return "the model can do too few of these prompts: try easier families (specfuzz families)"

    async def _passes(self, level: _Level, batch: Sequence[str]) -> None:
        """Once alone, then twice at N in different orders; both arms get the same, so that exposure stays equal.

        Without a reference: the candidate alone, twice.
        """
        if "reference" not in self.lines:
            able = self._able(await self._pass(level, "candidate", ALONE, batch))
            await self._pass(level, "candidate", 0, able)
            return
        able = self._able(await self._pass(level, "reference", ALONE, batch))
        await self._pass(level, "candidate", ALONE, able)
        shuffled = list(able)
        random.Random(f"{self.plan.seed}/{level.key}/{level.calibration.blocks}").shuffle(shuffled)
        await self._pass(level, "candidate", 0, able)
        await self._pass(level, "reference", 0, able)
        await self._pass(level, "reference", 1, shuffled)
        await self._pass(level, "candidate", 1, shuffled)

    def _able(self, alone: Sequence[Exchange]) -> list[str]:
        """Those that the model got right alone: the others are dropped before they cost more."""
        context = self.judge.context(tuple(alone))
        return [exchange.sent.prompt for exchange in alone if grade_exchange(exchange, context.grade).good]

    async def _pass(self, level: _Level, arm: Arm, pass_index: int, prompts: Sequence[str]) -> list[Exchange]:
        if not prompts:
            return []
        concurrency = 1 if pass_index == ALONE else level.concurrency
        spec = StageSpec(
            cell=level.key,
            arm=arm,
            phase="calibration",
            block=level.calibration.blocks,
            pass_index=pass_index,
            concurrency=concurrency,
            releases=(Release(concurrency, tuple(prompts), keep_full=True),),
            logprobs=True,
        )
        return await self.driver.drive(spec, self.lines[arm])
