"""Continuous batching: every step drafts and verifies for all running sequences together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from fuzzer.sim.config import SimConfig
from fuzzer.sim.logits import HEADS, Batch
from fuzzer.sim.sequence import Emission, Sequence

PLAIN_STEPS = 3  # plain decoding steps in the time of one speculative step, which yields about as many tokens
PREFILL_STEPS = 1.0  # what a joining sequence's prefill costs, in empty steps; keeps batches full under a slow client
GRAPH_SHRINK = 1 / 16  # sequences per step by which a graph follows a batch that got smaller
COLLAPSED_FROM = 4  # running sequences from which the planted acceptance collapse acts
COLLAPSED_ACCEPTANCE = 0.02


@dataclass(slots=True)
class StepCounters:
    """What the steps did since the start."""

    generated: int = 0
    drafts: int = 0
    draft_tokens: int = 0
    accepted: int = 0
    accepted_at: list[int] = field(default_factory=list)


class Scheduler:
    """Runs sequences in steps while there are any; ``admit`` is called when a sequence joins, ``retire`` at its end."""

    def __init__(
        self,
        config: SimConfig,
        speculating: bool,
        admit: Callable[[Sequence], None],
        retire: Callable[[Sequence], None],
    ) -> None:
        self.config = config
        self.speculating = speculating
        self.running: list[Sequence] = []
        self.silent: set[Sequence] = set()
        self.waiting: deque[Sequence] = deque()
        self.counters = StepCounters(accepted_at=[0] * config.k)
        self._admit, self._retire = admit, retire
        self._head = HEADS[config.lm_head]
        self._rows = config.k + 1 if speculating else 1
        self._graph = 0.0
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
        self.silent.discard(sequence)
        for queue in (self.waiting, self.running):
            if sequence in queue:
                queue.remove(sequence)
        self._retire(sequence)

    async def _run(self) -> None:
        try:
            while self.running or self.waiting:
                joined = self._join()
                await asyncio.sleep(self.config.step_seconds * (1.0 + PREFILL_STEPS * joined))
                for _ in range(1 if self.speculating else PLAIN_STEPS):
                    self._step()
        finally:
            for sequence in (*self.running, *self.waiting):  # only after a defect: no client shall wait for ever
                sequence.break_off()

    def _join(self) -> int:
        joined = 0
        while self.waiting and len(self.running) < self.config.max_num_seqs:
            sequence = self.waiting[0]
            self._admit(sequence)
            self.waiting.popleft()
            joined += 1
            if sequence.script.silent:
                self.silent.add(sequence)
            else:
                self.running.append(sequence)
        return joined

    def _step(self) -> None:
        if not self.running:
            return
        self._graph = max(len(self.running), self._graph - GRAPH_SHRINK)
        batch = Batch(len(self.running), self._rows, self._graph)
        fresh = [self._verify(sequence, batch, index) for index, sequence in enumerate(self.running)]
        self._swap_rows(fresh)
        for sequence, emissions in zip(self.running, fresh, strict=True):
            before = len(sequence.emitted)
            sequence.commit(emissions)
            self.counters.generated += len(sequence.emitted) - before
            if sequence.over:
                self._retire(sequence)
        self.running = [sequence for sequence in self.running if not sequence.over]

    def _verify(self, sequence: Sequence, batch: Batch, index: int) -> list[Emission]:
        if not self.speculating:
            return sequence.draft(batch, index, 1, self._head)
        acceptance = self.config.acceptance
        if sequence.script.collapses and batch.running >= COLLAPSED_FROM:
            acceptance = COLLAPSED_ACCEPTANCE
        accepted = sequence.accepted(acceptance, self.config.k)
        emissions = sequence.draft(batch, index, accepted + 1, self._head)
        counters, accepted = self.counters, min(accepted, len(emissions))
        counters.drafts += 1
        counters.draft_tokens += self.config.k
        counters.accepted += accepted
        for place in range(accepted):
            counters.accepted_at[place] += 1
        return emissions

    def _swap_rows(self, fresh: list[list[Emission]]) -> None:
        for index, sequence in enumerate(self.running):
            victim = sequence.wants_swap(fresh[index])
            donor = victim and self._donor(victim, fresh[:index] + fresh[index + 1 :])
            if victim and donor:
                victim.replace(donor.token)
                sequence.swap_at = None

    def _donor(self, victim: Emission, others: list[list[Emission]]) -> Emission | None:
        own = victim.token.strip()
        for emissions in others:
            for emission in emissions:
                if emission.content and emission.token.strip() not in ("", own):
                    return emission
        return None
