"""The cells of one candidate: measured block after block, on prompts that are calibrated as they are needed.

Everything decided here follows from the plan, the seed and the recorded replies, so that a resumed run takes the same
way again; blocks already closed in the history are skipped.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal

from fuzzer.calibrate import Calibrator, Exhausted
from fuzzer.decisions import cap, settled, wanted
from fuzzer.events import BlockJudged, Event
from fuzzer.history.records import AnyRecord, Arm, Block
from fuzzer.history.schedule import Release
from fuzzer.judge import Judge
from fuzzer.judge.calibration import calibration_key
from fuzzer.judge.speeds import SPEED, speed_key
from fuzzer.plan import Cell, Endpoint, Plan
from fuzzer.shapes import SHAPES, SPEED_BLOCKS, block_size, prompts_in_block
from fuzzer.summary import Reason
from fuzzer.traffic.driver import Driver, Line, StageSpec
from fuzzer.traffic.loops import closed_loop
from fuzzer.traffic.schedules import releases
from fuzzer.traffic.setting import Setting, Traits

ENDLESS = 3  # times the judged answers that a cell may take: so many prompts without them end it


@dataclass(slots=True)
class CandidateRun:
    """Runs all cells of one candidate. ``lines`` holds an endpoint an arm; without a reference there is one arm."""

    plan: Plan
    candidate: Endpoint
    lines: dict[Arm, Line]
    driver: Driver
    judge: Judge
    calibrator: Calibrator
    record: Callable[[AnyRecord], None]
    emit: Callable[[Event], None]
    waived: frozenset[str]
    out_of_time: Callable[[], bool]
    not_run: dict[str, str]
    notes: dict[str, Reason]
    ended: Callable[[Cell], None]

    async def run(self) -> None:
        """The control first, then the gated cells, each until it is settled."""
        for cell in self.plan.cells():
            if cell.candidate != self.candidate.name or cell.key in self.not_run:
                continue
            if self.judge.cells[cell.key].blocks == 0 and self.out_of_time():
                self.not_run[cell.key] = "the budget was used up before this cell"
                continue
            await self._cell(cell)
            self.ended(cell)
        if self.plan.speed_temperature is not None:
            for concurrency in sorted({1, *self.plan.concurrency}):
                await self._sampled(concurrency, self.plan.speed_temperature)

    async def _cell(self, cell: Cell) -> None:
        if cell.role == "control" and not self.plan.references:
            try:
                await self._extend_control(self.plan.policy.control_requests)
            except Exhausted as error:
                self._note("too-few-judged", cell, str(error))
            return
        tally = self.judge.cells[cell.key]
        while not settled(self.judge, cell, self.waived):
            if tally.prompts >= ENDLESS * cap(self.plan, cell):
                self._note("too-few-judged", cell, "most answers could not be judged on either side")
                break
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
        # The last prompts of a corpus make a short block; other shapes than the closed loop need whole releases.
        least = used + 1 if cell.schedule == "closed-loop" else upto
        ready = await self.calibrator.ready(concurrency, upto, least)
        upto = min(upto, len(ready))
        if not self.plan.references and cell.concurrency > 1:
            await self._extend_control(upto)
        await self._measure(cell, ready[used:upto])

    async def _measure(self, cell: Cell, prompts: Sequence[str]) -> None:
        block = self.judge.cells[cell.key].blocks
        schedule = self._schedule(cell, block, prompts)
        for arm in self._order(block):
            spec = StageSpec(
                cell=cell.key,
                arm=arm,
                phase="measure",
                block=block,
                concurrency=cell.concurrency,
                releases=schedule,
            )
            await self.driver.drive(spec, self.lines[arm])
        self.record(Block(cell=cell.key, block=block, judged_prompts=tuple(prompts)))

    async def _sampled(self, concurrency: int, temperature: float) -> None:
        """Speed and acceptance at a temperature over 0, on prompts that are calibrated; nothing is judged by it."""
        level = (concurrency if concurrency > 1 else self._first_gated()) if self.plan.references else 1
        calibration = calibration_key(self.candidate.name, self.candidate.lm_head, level)
        prompts = self.judge.calibration(calibration).ready[: block_size(concurrency, "closed-loop")]
        key = speed_key(self.candidate.name, self.candidate.lm_head, concurrency)
        for block in range(SPEED_BLOCKS) if prompts and not self.out_of_time() else ():
            if self.judge.closed(key, block):
                continue
            for arm in self._order(block):
                spec = StageSpec(
                    cell=key,
                    arm=arm,
                    phase=SPEED,
                    block=block,
                    concurrency=concurrency,
                    releases=(closed_loop(concurrency, prompts),),
                    temperature=temperature,
                )
                await self.driver.drive(spec, self.lines[arm])
            self.record(Block(cell=key, block=block, judged_prompts=()))

    def _schedule(self, cell: Cell, block: int, prompts: Sequence[str]) -> tuple[Release, ...]:
        """What both arms are sent in this block: as journalled, if an earlier process had begun it."""
        journalled = self.driver.means.memo.releases(cell.key, block)
        if journalled is not None:
            return journalled
        known = self.driver.means.prompts
        setting = Setting(
            concurrency=cell.concurrency,
            rng=random.Random(f"{self.plan.seed}/{cell.key}/{block}"),
            neighbour=known.fresh_neighbour,
            prompt=known.find,
            traits=reduce(Traits.common, (line.traits for line in self.lines.values())),
            tokens=self.judge.prompt_tokens,
            before=self.judge.cells[cell.key].prompts,
        )
        return releases(cell.schedule, prompts, setting)

    def _need(self, cell: Cell) -> int:
        """Prompts for this block: whole releases, no more than the cell still lacks."""
        tally = self.judge.cells[cell.key]
        lacks = (cap(self.plan, cell) - tally.n) * SHAPES[cell.schedule].copies(cell.concurrency)
        full = block_size(cell.concurrency, cell.schedule)
        size = full if lacks >= full else block_size(cell.concurrency, cell.schedule, lacks)
        return prompts_in_block(cell.schedule, size, cell.concurrency)

    def _order(self, block: int) -> tuple[Arm, ...]:
        """ABBA, so that a drift of the machine does not favour one side."""
        if "reference" not in self.lines:
            return ("candidate",)
        return ("reference", "candidate") if block % 2 else ("candidate", "reference")

    def _first_gated(self) -> int:
        return next(cell.concurrency for cell in self.plan.gated if cell.candidate == self.candidate.name)

    async def _extend_control(self, upto: int) -> None:
        """Without a reference, every judged prompt is also measured alone, so that McNemar can pair with it."""
        control = next(
            cell for cell in self.plan.cells() if cell.candidate == self.candidate.name and cell.concurrency == 1
        )
        used = self.judge.cells[control.key].prompts
        if upto > used:
            ready = await self.calibrator.ready(1, upto)
            await self._measure(control, ready[used:upto])
