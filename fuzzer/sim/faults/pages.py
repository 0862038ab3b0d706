"""Faults of the KV memory: pages that are reused too soon, prefix blocks that hold the wrong state, lost steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fuzzer.sim.draws import fingerprint
from fuzzer.sim.faults.answers import mistaken, own, saying
from fuzzer.sim.faults.base import Draw, Fault, Plant
from fuzzer.sim.logits import Batch

if TYPE_CHECKING:
    from fuzzer.sim.engine import Engine, Request
    from fuzzer.sim.scheduler import Step
    from fuzzer.sim.sequence import Script
    from fuzzer.sim.sequence import Sequence as Running

_LATE_STEPS = 8  # steps for which the writes of a cancelled request still land
_CLEARED = 768  # tokens of a slot that are cleared for the next request


class PageReuse(Plant):
    """A cancelled request's steps in flight still write to its pages, after others were given them."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._steps = 0
        self._late: dict[int, tuple[int, Request]] = {}
        self._overwritten: dict[Running, Request] = {}

    def left(self, sequence: Running) -> None:
        """Its pages are free at once, though its last step is under way."""
        self._overwritten.pop(sequence, None)
        request = self.engine.in_flight[sequence]
        if sequence.gone and sequence.emitted and self.strikes(request):
            self._late |= dict.fromkeys(sequence.pages, (self._steps + _LATE_STEPS, request))

    def paged(self, sequence: Running, pages: Sequence[int]) -> None:
        """A page that is written to by someone else makes its new owner read that one's context."""
        own_key = self.engine.in_flight[sequence].reading.key
        for page in pages:
            until, writer = self._late.pop(page, (0, None))
            if writer is not None and self._steps < until and writer.reading.key != own_key:
                self._overwritten[sequence] = writer

    def drafted(self, step: Step) -> None:
        """The overwritten ones go on from what they read now."""
        self._steps += 1
        for sequence in step.rows:
            writer = self._overwritten.pop(sequence, None)
            if writer is not None:
                self.acted(self.engine.in_flight[sequence], writer)
                script = sequence.script
                sequence.divert(dataclasses.replace(script, nodes=writer.reading.nodes, key=writer.reading.key))


class PoisonedPrefix(Plant):
    """Of prompts that are computed together, all but the first store the last block's state from a wrong place."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._poisoned: set[int] = set()

    def joined(self, sequences: Sequence[Running]) -> None:
        """The joint prefill stores its blocks."""
        for sequence in sequences[1:]:
            request = self.engine.in_flight[sequence]
            blocks = request.hit.blocks
            if blocks and request.hit.last != blocks[-1] and self.strikes(request):
                self._poisoned.add(blocks[-1])

    def begins(self, request: Request, script: Script) -> Script:
        """Whoever goes on from such a block makes the same mistake each time."""
        if request.hit.last not in self._poisoned or not own(request, script):
            return script
        self.acted(request)
        draw = Draw(frozenset(), fingerprint(str(request.hit.last)))
        return saying(request, mistaken(request.reading.slots, draw), script)


class PreemptLoss(Plant):
    """The step in flight at a preemption counts as done, though its tokens are thrown away."""

    def preempted(self, sequence: Running) -> None:
        """Advance without saying anything."""
        request = self.engine.in_flight[sequence]
        if sequence.prefill == 0 and self.strikes(request):
            self.acted(request)
            self.engine.scheduler.draft(sequence, Batch(1, 1, 1.0), 0, self.engine.config.k)


class BlockEdge(Plant):
    """The slot of the last prompt token is computed one off where the prompt ends at the edge of a KV block."""

    def begins(self, request: Request, script: Script) -> Script:
        """One word of the answer comes out of the wrong place."""
        block = self.engine.config.block_size
        if len(request.reading.ids) % block not in (0, 1, block - 1):
            return script
        if not (self.strikes(request) and own(request, script)):
            return script
        self.acted(request)
        return saying(request, mistaken(request.reading.slots, request.draw), script)


class LongResidue(Plant):
    """Only the beginning of a slot is cleared: what follows a long request in its slot reads the end of that one."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._dirty: set[int] = set()

    def left(self, sequence: Running) -> None:
        """A slot is given back."""
        long = sequence.prompt_tokens + len(sequence.emitted) > _CLEARED
        (self._dirty.add if long else self._dirty.discard)(sequence.slot)

    def joined(self, sequences: Sequence[Running]) -> None:
        """Who gets a slot that was not cleared makes a mistake."""
        for sequence in sequences:
            request = self.engine.in_flight[sequence]
            if sequence.slot in self._dirty and self.strikes(request) and own(request, sequence.script):
                self.acted(request)
                slots = mistaken(request.reading.slots, request.draw)
                sequence.divert(saying(request, slots, sequence.script))


FAULTS = {
    "page-reuse": Fault(
        "a cancelled request's pages are reused while it still writes to them: a bystander goes on with its answer",
        0.5,
        symptom="NONDET",
        report="https://github.com/sgl-project/sglang/issues/23392",
        kinds=("bleed", "wrong-answer"),
        plant=PageReuse,
        rate_of="cancelled requests",
        trigger=f"a client that leaves while its request runs; within {_LATE_STEPS} steps another one takes its pages",
        schedule="shared-prefix-cancel",
        minimum=3,
        donors=frozenset({"stale", "ambiguous", "concurrent"}),
    ),
    "poisoned-prefix": Fault(
        "of prompts that are computed together, all but the first leave a bad prefix block: every warm hit is wrong",
        0.5,
        symptom="POISON",
        report="https://github.com/sgl-project/sglang/issues/31833",
        kinds=("wrong-answer",),
        plant=PoisonedPrefix,
        rate_of="prompts that are computed together",
        trigger="a hit in the prefix cache, on a block of prompts that were computed together",
        schedule="warm-replay",
        minimum=3,
    ),
    "preempt-loss": Fault(
        "a sequence that is preempted loses the tokens of the step that was in flight",
        1.0,
        symptom="CRASH",
        report="https://github.com/vllm-project/vllm/pull/49620",
        kinds=("wrong-answer",),
        plant=PreemptLoss,
        trigger="a KV pool so full that a running request is preempted",
        schedule="pool-pressure",
        kv_blocks=512,
        minimum=2,
    ),
    "long-residue": Fault(
        f"a request that gets the slot of one of more than {_CLEARED} tokens reads its end: one word is wrong",
        0.7,
        symptom="NONDET",
        report="https://github.com/tenstorrent/tt-metal/issues/56324",
        kinds=("wrong-answer",),
        plant=LongResidue,
        trigger=f"a slot whose last request had more than {_CLEARED} tokens",
        schedule="long-pairs",
        minimum=2,
    ),
    "block-edge": Fault(
        "a prompt that ends within one token of a KV block's edge is answered with one word wrong",
        0.5,
        symptom="WRONG_PLAUSIBLE",
        report="https://github.com/vllm-project/vllm/issues/53912",
        kinds=("wrong-answer",),
        plant=BlockEdge,
        trigger="a prompt as long as a multiple of the KV block, or one token off",
    ),
}
