"""Faults of the batch: rows that are mixed up, padded or drift, and drafts that are judged wrongly."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

from fuzzer.sim.faults.base import Fault, Plant
from fuzzer.sim.logits import CAPTURED, Batch

if TYPE_CHECKING:
    from fuzzer.sim.engine import Engine, Request
    from fuzzer.sim.scheduler import Step
    from fuzzer.sim.sequence import Emission, Script, Sequence

_COLLAPSED = 0.02  # the chance of a draft token once acceptance has collapsed
_LOOSE = 3.5  # nats below the best that a loose verification still accepts
_WORN = 2.5  # nats of noise on a logit at most
_WEAR = 1 / 120  # nats more with every request served
_PADDED_BLOCKS = 2  # KV blocks that a padding row fills before it writes into somebody's


class RowSwap(Plant):
    """One content token of a struck request is what a neighbour's row emitted in the same step."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._done: set[Sequence] = set()

    def applies(self, step: Step) -> bool:
        """Whether rows are mixed up in this step."""
        return len(step.rows) > 1

    def victim(self, sequence: Sequence) -> bool:
        """Whether this row can get another's token."""
        return True

    def drafted(self, step: Step) -> None:
        """Take a neighbour's token at the first chance."""
        if not self.applies(step):
            return
        for index, sequence in enumerate(step.rows):
            if sequence in self._done or not self.strikes(self.engine.in_flight[sequence]):
                continue
            emission = self._struck(sequence, step.fresh[index]) if self.victim(sequence) else None
            if emission is not None and (found := self._donor(step, index, emission.token)):
                self.acted(self.engine.in_flight[sequence], self.engine.in_flight[found[0]])
                emission.replace(found[1])
                self._done.add(sequence)

    def _donor(self, step: Step, index: int, own: str) -> tuple[Sequence, str] | None:
        """Another row with a content token of its own in this step."""
        for sequence, fresh in zip(step.rows, step.fresh, strict=True):
            for emission in fresh if sequence is not step.rows[index] else ():
                if emission.content and emission.token.strip() not in ("", own.strip()):
                    return sequence, emission.token
        return None

    def left(self, sequence: Sequence) -> None:
        """Forget it."""
        self._done.discard(sequence)

    def _struck(self, sequence: Sequence, fresh: list[Emission]) -> Emission | None:
        """Which token of this step is swapped: a content token in the first half of the answer."""
        request = self.engine.in_flight[sequence]
        contents = sum(len(node.options[0]) for node in sequence.script.nodes if node.content)
        first = request.draw.choose((contents + 1) // 2, 5)
        said = sequence.contents
        for emission in fresh:
            said += emission.content
            if emission.content and said > first:
                return emission
        return None


class HotRows(RowSwap):
    """Beside a row that is sampled, penalised or biased the rows are gathered anew, and greedy ones are one off."""

    def applies(self, step: Step) -> bool:
        """Whether the batch is mixed."""
        return any(not sequence.limits.sampling.greedy for sequence in step.rows)

    def victim(self, sequence: Sequence) -> bool:
        """Only greedy rows are moved."""
        return sequence.limits.sampling.greedy


class GraphPadding(RowSwap):
    """A batch between two captured sizes is padded, and the padding row's position grows until it leaves its block."""

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(name, engine)
        self._padded = 0

    def applies(self, step: Step) -> bool:
        """Whether the padding row writes where it must not."""
        if step.batch.running == 1 or math.ceil(step.batch.graph) in CAPTURED:
            self._padded = 0
        else:
            self._padded += step.batch.rows
        return self._padded > _PADDED_BLOCKS * self.engine.config.block_size and len(step.rows) > 1


class PrefillShift(RowSwap):
    """While a long prompt is computed piece by piece, the rows that decode beside it are shifted by one."""

    def applies(self, step: Step) -> bool:
        """Whether a piece of a prompt was computed in this step."""
        return bool(step.prefilling) and len(step.rows) > 1


class LogprobsRow(Plant):
    """The log-probabilities that are told are those of the next row."""

    def drafted(self, step: Step) -> None:
        """Shift what the struck rows tell."""
        told = [[emission.top for emission in fresh] for fresh in step.fresh]
        for index, sequence in enumerate(step.rows):
            other = told[(index + 1) % len(told)]
            if len(told) < 2 or not self.strikes(self.engine.in_flight[sequence]):
                continue
            # nothing is told where nobody asked, and two that say the same tell the same
            pairs = zip(step.fresh[index], other, strict=False)
            false = [(emission, top) for emission, top in pairs if emission.top and top and emission.top != top]
            if false:
                self.acted(self.engine.in_flight[sequence])
            for emission, top in false:
                emission.explain(top)


class VerifyDrift(Plant):
    """Batched verification drifts; thin margins flip."""

    def begins(self, request: Request, script: Script) -> Script:
        """This one drifts."""
        return dataclasses.replace(script, drifts=True) if self.strikes(request) else script


class UptimeDrift(Plant):
    """The longer the server lives, the noisier its logits: a scale that is updated and never reset.

    It strikes every request; its rate is how fast the scale moves.
    """

    def begins(self, request: Request, script: Script) -> Script:
        """As noisy as the requests served so far make it."""
        served = sum(self.engine.counters.finished.values())
        return dataclasses.replace(script, wear=min(_WORN, _WEAR * self.engine.config.faults[self.name] * served))


class LooseAcceptance(Plant):
    """Drafts are accepted although the target would have said something else, if not by far."""

    def begins(self, request: Request, script: Script) -> Script:
        """This one is verified loosely."""
        loose = self.engine.speculating and self.strikes(request)
        return dataclasses.replace(script, loose=_LOOSE) if loose else script


class AcceptanceCollapse(Plant):
    """From some batch size on drafts are hardly ever accepted; the text is right."""

    least = 4

    def acceptance(self, sequence: Sequence, batch: Batch, share: float) -> float:
        """What is left of the acceptance."""
        struck = batch.running >= self.least and self.strikes(self.engine.in_flight[sequence])
        return _COLLAPSED if struck else share


class AcceptanceAbove8(AcceptanceCollapse):
    """The same above eight sequences."""

    least = 9


FAULTS = {
    "row-swap": Fault(
        "one content token is replaced by what a neighbour's row emitted in the same step",
        0.05,
        symptom="XREQ_LIVE",
        report="https://github.com/vllm-project/vllm/pull/53919",
        kinds=("wrong-answer", "divergence", "self-consistency"),
        plant=RowSwap,
        trigger="a neighbour in the batch",
        minimum=2,
    ),
    "hot-rows": Fault(
        "beside a request that is sampled or penalised, greedy rows get a neighbour's token",
        0.3,
        symptom="XREQ_LIVE",
        report="https://github.com/vllm-project/vllm/issues/9441",  # there, too, neighbours sample otherwise
        kinds=("wrong-answer", "divergence", "self-consistency"),
        plant=HotRows,
        trigger="a neighbour that is sampled, penalised or biased",
        schedule="hot-neighbours",
        minimum=2,
    ),
    "graph-padding": Fault(
        "at batch sizes that no graph was captured for (3, 5, 6, 7), a padding row writes into a neighbour's memory",
        0.2,
        symptom="CRASH",
        report="https://github.com/vllm-project/vllm/pull/43682",
        kinds=("wrong-answer", "divergence", "self-consistency"),
        plant=GraphPadding,
        trigger="a batch that stays at 3, 5, 6 or 7, between two captured sizes",
        concurrency=5,
        minimum=3,
    ),
    "prefill-shift": Fault(
        "while a long prompt is computed in pieces, the requests that decode beside it get a neighbour's token",
        0.5,
        symptom="XREQ_LIVE",
        report="https://github.com/vllm-project/vllm/issues/46088",
        kinds=("wrong-answer", "divergence", "self-consistency"),
        plant=PrefillShift,
        trigger="a prompt longer than the prefill chunk (1,024 tokens) joins a batch that decodes",
        schedule="mixed-lengths",
        minimum=3,
    ),
    "logprobs-row": Fault(
        "the log-probabilities that are told belong to another request's row",
        0.2,
        symptom="LOGPROB",
        report="https://github.com/vllm-project/vllm/issues/54785",
        kinds=("self-consistency",),
        plant=LogprobsRow,
        trigger="a neighbour that asks for log-probabilities too",
        minimum=2,
    ),
    "verify-drift": Fault(
        "batched speculative verification drifts, more with more rows; thin margins flip",
        1.0,
        symptom="WRONG_PLAUSIBLE",
        report="https://github.com/MiaAI-Lab/Qwen3.8-27B-SGLang-DGX-Spark/issues/11",
        kinds=("wrong-answer",),
        plant=VerifyDrift,
        trigger="speculation with two or more in the batch",
        minimum=2,
        lm_head="nvfp4",
    ),
    "uptime-drift": Fault(
        "logits get noisier with every request served: the pass rate falls with the request's number",
        1.0,
        symptom="ACC_DRIFT",
        report="https://github.com/sgl-project/sglang/issues/23020",
        kinds=("wrong-answer",),
        plant=UptimeDrift,
        rate_of="its full speed",
        trigger="a hundred requests served or more",
        minimum=200,
    ),
    "loose-acceptance": Fault(
        "drafts are accepted up to 3.5 nats below the target's choice: sound text that greedy decoding would not give",
        0.5,
        symptom="GREEDY_DIVERGE",
        report="https://github.com/vllm-project/vllm/issues/41758",
        kinds=("divergence", "self-consistency"),
        plant=LooseAcceptance,
        trigger="speculation",
    ),
    "acceptance-collapse": Fault(
        "at 4 or more running sequences drafts are hardly ever accepted; text is right",
        1.0,
        symptom="ACCEPT_DROP",
        report="https://github.com/vllm-project/vllm/pull/42728",
        kinds=("speculation-health",),
        plant=AcceptanceCollapse,
        trigger="4 or more in the batch",
        minimum=60,
    ),
    "acceptance-above-8": Fault(
        "above 8 running sequences drafts are hardly ever accepted; text is right",
        1.0,
        symptom="ACCEPT_DROP",
        report="https://github.com/ggml-org/llama.cpp/issues/27117",
        kinds=("speculation-health",),
        plant=AcceptanceAbove8,
        trigger="9 or more in the batch",
        concurrency=16,  # a busy client keeps a batch of 12 under 9 now and then
        minimum=60,
    ),
}
