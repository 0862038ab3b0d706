"""The judge: reads a history line by line, runs the oracles on every closed block, and keeps the counts.

It is fed the same records live and from a file, so ``specfuzz judge RUN`` and the run itself cannot disagree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from fuzzer.errors import HistoryError
from fuzzer.finding import Finding
from fuzzer.history.overlap import OverlapIndex
from fuzzer.history.records import (
    AnyRecord,
    Arm,
    Block,
    Counters,
    Done,
    Exchange,
    Prompt,
    Recalled,
    Resumed,
    Sent,
    Stage,
)
from fuzzer.history.scores import Scored
from fuzzer.judge.ability import Ability
from fuzzer.judge.builds import Builds
from fuzzer.judge.calibration import CALIBRATION, Calibration, both_sides, kept
from fuzzer.judge.company import Company
from fuzzer.judge.controls import Controls
from fuzzer.judge.grading import grade_exchange
from fuzzer.judge.groups import Groups
from fuzzer.judge.partings import Told
from fuzzer.judge.scoring import Question, questions
from fuzzer.judge.speeds import SPEED, speed_key
from fuzzer.judge.tally import CellTally
from fuzzer.oracles import ORACLES
from fuzzer.oracles.context import Batch, ContentIndex, Context
from fuzzer.oracles.divergence import ALONE
from fuzzer.oracles.health import restarted
from fuzzer.oracles.service import still_running
from fuzzer.plan import Cell, Plan
from fuzzer.prompts.questions import QUESTIONS

BlockKey = tuple[str, int]


class Judge:
    """The state of the judgement of one run. ``sink`` gets every finding, in the order of the blocks."""

    def __init__(self, plan: Plan, sink: Callable[[Finding], None] | None = None) -> None:
        self.plan = plan
        self.cells: dict[str, CellTally] = {cell.key: CellTally(cell) for cell in plan.cells()}
        self.sampled: dict[str, CellTally] = {
            speed_key(cell.candidate, cell.lm_head, cell.concurrency): CellTally(
                cell.model_copy(update={"schedule": "closed-loop"})
            )
            for cell in plan.cells()
            if plan.speed_temperature is not None
        }
        self.calibrations: dict[str, Calibration] = {}
        self.groups = Groups()
        self.company = Company()
        self.ability = Ability()
        self.prompts: dict[str, Prompt] = {}
        self.prompt_tokens: dict[str, int] = {}  # of judged prompts, as the engine counts them
        self.exchanges = 0
        self.lost = 0
        self.resumed = 0
        self.first_ns: int | None = None
        self.last_ns = 0
        self._sink = sink
        self._arm: Arm = "reference" if plan.references else "candidate"  # the one that calibrates
        self._open: dict[BlockKey, dict[str, Exchange]] = {}
        self._where: dict[str, BlockKey] = {}
        self._scored: dict[BlockKey, list[Scored]] = {}
        self._closed: set[BlockKey] = set()
        self._counters: dict[tuple[Arm, str], Counters] = {}
        self._restarted: set[tuple[Arm, str]] = set()
        self._builds = Builds()
        self._controls = Controls()
        self._stages: dict[BlockKey, dict[Arm, Stage]] = {}
        self._so_far: dict[str, Counter[str]] = {}
        self._overlap = OverlapIndex()
        self._content = ContentIndex()
        self._lm_heads = {
            **{f"reference:{endpoint.name}": endpoint.lm_head for endpoint in plan.references},
            **{endpoint.name: endpoint.lm_head for endpoint in plan.candidates},
        }

    def feed(self, record: AnyRecord) -> None:
        """Take in one line of the history, in file order."""
        if isinstance(record, Prompt):
            self.prompts[record.id] = record
            self._content.register(record)
        elif isinstance(record, Sent):
            self._sent(record)
        elif isinstance(record, Done):
            self._done(record)
        elif isinstance(record, Recalled):
            self._open.setdefault((record.sent.cell, record.sent.block), {})[record.sent.key] = record.exchange
            self._measure(record.exchange)
        elif isinstance(record, Stage):
            self._stage(record)
        elif isinstance(record, Scored):
            self._scored.setdefault((record.cell, record.block), []).append(record)
        elif isinstance(record, Block):
            self._close(record)
        elif isinstance(record, Resumed):
            self.resumed += 1
            self._lose_open(record.at_ns)

    def feed_all(self, records: Iterable[AnyRecord]) -> Judge:
        """Take in a whole history."""
        for record in records:
            self.feed(record)
        return self

    def closed(self, cell: str, block: int) -> bool:
        """Whether a block is complete."""
        return (cell, block) in self._closed

    def preflighted(self, endpoint: str) -> bool:
        """Whether an endpoint has been probed and found fit, by any process of the run."""
        return any(self.closed(f"{endpoint}/preflight", attempt) for attempt in range(self.resumed + 1))

    def opened(self, cell: str, block: int) -> bool:
        """Whether anything of an open block was sent."""
        return (cell, block) in self._open

    def calibration(self, key: str) -> Calibration:
        """What calibration under this key has shown so far."""
        return self.calibrations.setdefault(key, Calibration(key))

    def keep(self, cell: str, block: int) -> tuple[str, ...]:
        """The prompts of an open calibration block that may be judged."""
        batch = self._batch((cell, block))
        return kept(batch, self._arm, self._context(batch))

    def to_score(self, cell: str, block: int, keep: Sequence[str]) -> list[Question]:
        """The outputs of an open calibration block that the reference is to be asked about, of those prompts."""
        table = both_sides(self._batch((cell, block)), keep)
        return questions(table, self.prompts, f"{self.plan.seed}/{cell}/{block}")

    def context(self, exchanges: Batch) -> Context:
        """What an oracle may look at besides its exchanges."""
        return self._context(exchanges)

    def _sent(self, sent: Sent) -> None:
        if sent.prompt not in self.prompts:
            raise HistoryError(
                f"the history is damaged: {sent.key} was sent a prompt {sent.prompt} that is not recorded"
            )
        key = (sent.cell, sent.block)
        exchange = Exchange(sent=sent, done=None)
        self._open.setdefault(key, {})[sent.key] = exchange
        self._where[sent.key] = key
        self.exchanges += 1
        self.first_ns = self.first_ns or sent.sent_ns
        self.last_ns = sent.sent_ns

    def _done(self, done: Done) -> None:
        if done.key not in self._where:
            raise HistoryError(f"the history is damaged: {done.key} ended but was never sent")
        key = self._where.pop(done.key)
        exchange = Exchange(sent=self._open[key][done.key].sent, done=done)
        self._open[key][done.key] = exchange
        self._overlap.add(exchange)
        self._measure(exchange)
        self._builds.reply(exchange)
        self.company.exchange(exchange)
        self.last_ns = max(self.last_ns, done.received.end_ns)

    def _measure(self, exchange: Exchange) -> None:
        usage = exchange.received.usage if exchange.received is not None else None
        if usage is not None and usage.prompt_tokens and exchange.sent.plain and exchange.sent.phase == "calibration":
            self.prompt_tokens[exchange.sent.prompt] = usage.prompt_tokens

    def _lose_open(self, at_ns: int) -> None:
        for key, block in self._where.items():
            self._overlap.add(self._open[block][key])
            self.company.exchange(self._open[block][key])
        self.lost += len(self._where)
        self._where.clear()
        self._overlap.resumed(at_ns)

    def _stage(self, stage: Stage) -> None:
        end = (stage.arm, stage.endpoint)
        last = self._counters.get(end)
        if stage.before is not None and last is not None and restarted(last, stage.before):
            self._restarted.add(end)
        if stage.after is not None:
            self._counters[end] = stage.after
        self._builds.stage(stage)
        others = self.company.stage(stage)
        if stage.phase == SPEED and stage.cell in self.sampled:
            self.sampled[stage.cell].arm(stage.arm).add_stage(stage)
        if stage.phase == "measure":
            self._stages.setdefault((stage.cell, stage.block), {})[stage.arm] = stage
        tally = self.cells.get(stage.cell)
        if tally is not None and stage.phase == "measure":
            arm = tally.arm(stage.arm)
            arm.add_stage(stage)
            arm.others = max(arm.others, others)
            arm.restarted |= end in self._restarted
            self._restarted.discard(end)
            arm.changed = arm.changed or self._builds.take_change(end)

    def scan_open(self) -> None:
        """Look for findings in the blocks that a killed or interrupted run left open; they are in no rate."""
        for key in [key for key in self._open if not _unjudged(key[0])]:
            batch = tuple(exchange for exchange in self._batch(key) if exchange.done is not None)
            self._scan(batch, self._context(batch))

    def _scan(self, batch: Batch, context: Context) -> None:
        recalled = {exchange.key for exchange in batch if exchange.sent.recalled}
        findings = [
            finding
            for oracle in ORACLES.values()
            for finding in oracle.judge(batch, context)
            if finding.exchange not in recalled  # those were looked at in the run that sent them
        ]
        for finding in self._controls.mark(findings, batch, context):
            self._found(finding)

    def _found(self, finding: Finding) -> None:
        self.groups.add(finding)
        if self._sink is not None:
            self._sink(finding)

    def _close(self, block: Block) -> None:
        key = (block.cell, block.block)
        batch = self._batch(key)
        if _unjudged(block.cell):
            self._time(block.cell, batch)
            self._closed.add(key)
            self._open.pop(key, None)
            return
        scored = self._scored.pop(key, [])
        context = self._context(batch, self._so_far.setdefault(block.cell, Counter()))
        context.told = Told(scored, {exchange.key: exchange for exchange in batch}).of
        self._scan(batch, context)
        for finding in still_running(self._stages.pop(key, {}), batch):
            self._found(finding)
        self._learn(batch, context)
        if block.cell in self.cells:
            tally = self.cells[block.cell]
            tally.prompts += len(block.judged_prompts)
            tally.note(batch)
            tally.add_block(_measured(batch), context, self._control(tally.cell))
        elif block.cell.endswith(f"/{CALIBRATION}"):
            self.calibration(block.cell).add_block(batch, self._arm, block.judged_prompts, context, scored)
        self._closed.add(key)
        self._open.pop(key, None)

    def _time(self, cell: str, batch: Batch) -> None:
        """Sampled answers: how fast they came is all that is looked at."""
        if (tally := self.sampled.get(cell)) is not None:
            tally.note(batch)
            tally.add_times(_measured(batch))

    def _learn(self, batch: Batch, context: Context) -> None:
        """What the calibrating arm can do, from probes and from the passes that run one at a time."""
        for exchange in batch:
            sent = exchange.sent
            alone = sent.phase == "preflight" or (sent.phase == "calibration" and sent.pass_index == ALONE)
            if sent.arm == self._arm and alone and sent.prompt not in QUESTIONS:
                self.ability.add(self.prompts[sent.prompt], right=grade_exchange(exchange, context.grade).good)

    def _control(self, cell: Cell) -> dict[tuple[str, int], bool] | None:
        """The level-1 outcomes of this candidate, where there is no reference to pair with."""
        if self.plan.references or cell.role == "control":
            return None
        for tally in self.cells.values():
            if tally.cell.role == "control" and tally.cell.candidate == cell.candidate:
                return tally.outcomes
        return None

    def _batch(self, key: BlockKey) -> Batch:
        return tuple(self._open.get(key, {}).values())

    def _context(self, batch: Batch, so_far: Counter[str] | None = None) -> Context:
        return Context(
            prompts=self.prompts,
            overlap=self._overlap,
            content=self._content,
            lm_heads=self._lm_heads,
            batch=batch,
            so_far=Counter() if so_far is None else so_far,
        )


def _unjudged(cell: str) -> bool:
    return cell.endswith(f"/{SPEED}")


def _measured(batch: Batch) -> dict[Arm, Sequence[Exchange]]:
    """The victims of a block's stages, by arm, in schedule order."""
    measured: dict[Arm, list[Exchange]] = {}
    for exchange in sorted(batch, key=lambda exchange: exchange.sent.index):
        if exchange.sent.phase in ("measure", SPEED):
            measured.setdefault(exchange.sent.arm, []).append(exchange)
    return {arm: tuple(group) for arm, group in measured.items()}
