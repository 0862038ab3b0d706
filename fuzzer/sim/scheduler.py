"""Continuous batching: every step drafts and verifies for all running sequences together."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fuzzer.sim.config import SimConfig
from fuzzer.sim.faults.base import Plant
from fuzzer.sim.kvpool import KvPool
from fuzzer.sim.logits import HEADS, Batch
from fuzzer.sim.sequence import Emission, Sequence

PLAIN_STEPS = 3  # plain decoding steps in the time of one speculative step, which yields about as many tokens
PREFILL_STEPS = 1.0  # what a joining sequence's prefill costs, in empty steps; keeps batches full under a slow client
GRAPH_SHRINK = 1 / 16  # sequences per step by which a graph follows a batch that got smaller


@dataclass(slots=True)
class StepCounters:
    """What the steps did since the start."""

    generated: int = 0
    drafts: int = 0
    draft_tokens: int = 0
    accepted: int = 0
    accepted_at: list[int] = field(default_factory=list)
    preemptions: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step before its tokens are committed: ``fresh`` holds those of each row of ``rows``.

    ``prefilling`` are the sequences of which a piece of the prompt was computed in the same step.
    """

    batch: Batch
    rows: list[Sequence]
    fresh: list[list[Emission]]
    prefilling: list[Sequence]


class Scheduler:
    """Runs sequences in steps while there are any; ``admit`` is called when a sequence joins, ``retire`` at its end."""

    def __init__(
        self,
        config: SimConfig,
        speculating: bool,
        admit: Callable[[Sequence], None],
        retire: Callable[[Sequence], None],
        plants: Iterable[Plant] = (),
    ) -> None:
        self.config = config
        self.speculating = speculating
        self.running: list[Sequence] = []
        self.silent: set[Sequence] = set()
        self.leaked: set[Sequence] = set()
        self.waiting: deque[Sequence] = deque()
        self.pool = KvPool(config.kv_blocks, config.block_size)
        self.counters = StepCounters(accepted_at=[0] * config.k)
        self._admit, self._retire = admit, retire
        self._plants = tuple(plants)
        self._head = HEADS[config.lm_head]
        self._rows = config.k + 1 if speculating else 1
        self._free_slots = list(range(config.max_num_seqs))
        self._graph = 0.0
        self.watch: Callable[[], None] | None = None  # called before every step
        self._loop: asyncio.Task[None] | None = None

    def submit(self, sequence: Sequence) -> None:
        """Queue a sequence; the loop starts if it was idle."""
        self.waiting.append(sequence)
        if self._loop is None or self._loop.done():
            self._loop = asyncio.create_task(self._run())

    def abort(self, sequence: Sequence) -> None:
        """Free a sequence at once: its client has gone."""
        if sequence.over:
            return
        sequence.gone = True
        kept = sequence in self.running and any(plant.keeps(sequence) for plant in self._plants)
        self.silent.discard(sequence)
        for queue in (self.waiting, self.running):
            if sequence in queue:
                queue.remove(sequence)
        if kept:
            self.leaked.add(sequence)
        else:
            self._leave(sequence)

    # --- the loop

    async def _run(self) -> None:
        try:
            while self.running or self.waiting:
                extra = self._join() + sum(sequence.prefill > 0 for sequence in self.running)
                await asyncio.sleep(self.config.step_seconds * (1.0 + PREFILL_STEPS * extra))
                if self.watch is not None:
                    self.watch()
                if any(plant.freezes() for plant in self._plants):
                    continue
                for _ in range(1 if self.speculating else PLAIN_STEPS):
                    self._step()
        finally:
            for sequence in (*self.running, *self.waiting):  # only after a defect: no client shall wait for ever
                sequence.break_off()

    def _join(self) -> int:
        joined: list[Sequence] = []
        while self.waiting and len(self._free_slots) > 0:
            sequence = self.waiting[0]
            if self.pool.pages_for(sequence.context) > self.pool.blocks - self.pool.used and self.running:
                break
            self._start(sequence)
            self.waiting.popleft()
            joined.append(sequence)
        for plant in self._plants:
            plant.joined(joined)
        return len(joined)

    def _start(self, sequence: Sequence) -> None:
        sequence.slot = heapq.heappop(self._free_slots)
        if not sequence.begun:
            self._admit(sequence)
        sequence.prefill = max(0, sequence.context - self.config.prefill_chunk)
        self._grow(sequence, sequence.context)
        if sequence.script.silent:
            self.silent.add(sequence)
        else:
            self.running.append(sequence)

    def _step(self) -> None:
        if not self.running:
            return
        prefilling = [sequence for sequence in self.running if sequence.prefill > 0]
        for sequence in prefilling:
            sequence.prefill = max(0, sequence.prefill - self.config.prefill_chunk)
        rows = self._decoding(prefilling)
        if not rows:
            return
        self._graph = max(len(rows), self._graph - GRAPH_SHRINK)
        batch = Batch(len(rows), self._rows, self._graph)
        step = Step(
            batch, rows, [self._verify(sequence, batch, index) for index, sequence in enumerate(rows)], prefilling
        )
        for plant in self._plants:
            plant.drafted(step)
        self._commit(step)

    def _decoding(self, prefilling: list[Sequence]) -> list[Sequence]:
        """The rows of this step, with room for their tokens; who joined last is preempted where there is none."""
        place = 0
        while place < len(self.running):
            sequence = self.running[place]
            if self._grow(sequence, sequence.context + self._rows):
                place += 1
            elif place < len(self.running) - 1:
                self._preempt(self.running[-1])
            elif place:
                self._preempt(sequence)
            else:
                sequence.finish_reason = "length"  # alone, and still too long for the whole pool
                sequence.news.set()
                self.running.remove(sequence)
                self._leave(sequence)
        return [sequence for sequence in self.running if sequence not in prefilling]

    def _commit(self, step: Step) -> None:
        for sequence, emissions in zip(step.rows, step.fresh, strict=True):
            before = len(sequence.emitted)
            sequence.commit(emissions)
            self.counters.generated += len(sequence.emitted) - before
        for sequence in step.rows:
            if sequence.over:
                self._leave(sequence)
        self.running = [sequence for sequence in self.running if not sequence.over]

    # --- memory

    def _grow(self, sequence: Sequence, tokens: int) -> bool:
        if self.pool.block_size * len(sequence.pages) >= tokens:
            return True
        fresh = self.pool.grow(sequence, tokens)
        if fresh:
            for plant in self._plants:
                plant.paged(sequence, fresh)
        return fresh is not None

    def _preempt(self, sequence: Sequence) -> None:
        """Take a running sequence's memory; all its tokens are computed again when there is room."""
        self.counters.preemptions += 1
        for plant in self._plants:
            plant.preempted(sequence)
        self.running.remove(sequence)
        self._release(sequence)
        sequence.slot = -1
        self.waiting.appendleft(sequence)

    @property
    def busy(self) -> int:
        """Slots that are taken, as the engine tells: decoding, silent and leaked ones."""
        return len(self.running) + len(self.silent) + len(self.leaked)

    def _leave(self, sequence: Sequence) -> None:
        for plant in self._plants:
            plant.left(sequence)
        self._release(sequence)
        self._retire(sequence)

    def _release(self, sequence: Sequence) -> None:
        if sequence.slot >= 0:
            heapq.heappush(self._free_slots, sequence.slot)
        if sequence.pages:
            self.pool.release(sequence, sequence.prompt_tokens - sequence.cached_tokens)

    # --- speculation

    def draft(self, sequence: Sequence, batch: Batch, index: int, accepted: int) -> list[Emission]:
        """The tokens of one row group: the accepted drafts and one more."""
        return sequence.draft(batch, index, accepted + 1, self._head)

    def _verify(self, sequence: Sequence, batch: Batch, index: int) -> list[Emission]:
        if not self.speculating:
            return self.draft(sequence, batch, index, 0)
        acceptance = self.config.acceptance
        for plant in self._plants:
            acceptance = plant.acceptance(sequence, batch, acceptance)
        accepted = sequence.accepted(acceptance, self.config.k)
        emissions = self.draft(sequence, batch, index, accepted)
        counters, accepted = self.counters, min(accepted, len(emissions))
        counters.drafts += 1
        counters.draft_tokens += self.config.k
        counters.accepted += accepted
        for place in range(accepted):
            counters.accepted_at[place] += 1
        return emissions
