"""Faults of delivery and accounting: errors, silence, cuts, lost pieces, and parameters that are not honoured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fuzzer.sim.faults.answers import length
from fuzzer.sim.faults.base import Fault, Plant
from fuzzer.sim.tokens import EOS

if TYPE_CHECKING:
    from fuzzer.sim.engine import Request
    from fuzzer.sim.scheduler import Step
    from fuzzer.sim.sequence import Limits, Script

_CROWD = 11  # requests in flight, from which a crash threatens


class Truncate(Plant):
    """The tail is cut: fewer tokens arrive than the usage says."""

    def begins(self, request: Request, script: Script) -> Script:
        """Deliver half of it."""
        if not self.strikes(request):
            return script
        self.acted(request)
        return dataclasses.replace(script, deliver=max(1, length(request, script) // 2))


class ServerError(Plant):
    """HTTP 500; one streamed reply in three breaks off in the middle instead."""

    def refuses(self, request: Request) -> bool:
        """Answer with an error."""
        refused = self.strikes(request) and not self._breaks_off(request)
        if refused:
            self.acted(request)
        return refused

    def begins(self, request: Request, script: Script) -> Script:
        """Break off half-way."""
        if not self.strikes(request):
            return script
        self.acted(request)
        return dataclasses.replace(script, break_at=max(1, length(request, script) // 2))

    def _breaks_off(self, request: Request) -> bool:
        return request.chat.stream and request.draw.choose(3, 4) == 0


class CrowdError(Plant):
    """A buffer that is made for ten requests: one more ends in an error."""

    def refuses(self, request: Request) -> bool:
        """Answer with an error while so many are in flight."""
        struck = len(self.engine.in_flight) >= _CROWD - 1 and self.strikes(request)
        if struck:
            self.acted(request)
        return struck


class Hang(Plant):
    """Accepts the request and stays silent until the client goes."""

    def begins(self, request: Request, script: Script) -> Script:
        """Say nothing for ever."""
        if not self.strikes(request):
            return script
        self.acted(request)
        return dataclasses.replace(script, silent=True)


class LostChunk(Plant):
    """One piece of a streamed reply does not arrive."""

    def begins(self, request: Request, script: Script) -> Script:
        """Lose the first or second piece."""
        if not (request.chat.stream and self.strikes(request)):
            return script
        self.acted(request)
        return dataclasses.replace(script, lose=1 + request.draw.choose(2, 10))


class RepeatedChunk(Plant):
    """One piece of a streamed reply arrives twice."""

    def begins(self, request: Request, script: Script) -> Script:
        """Repeat the first or second piece."""
        if not (request.chat.stream and self.strikes(request)):
            return script
        self.acted(request)
        return dataclasses.replace(script, repeat=1 + request.draw.choose(2, 10))


class LateStop(Plant):
    """Stop strings are looked for after each step, and what was accepted with them is not cut."""

    def begins(self, request: Request, script: Script) -> Script:
        """Stop late, where a step yields more than one token."""
        return (
            dataclasses.replace(script, stops_late=True)
            if self.engine.speculating and self.strikes(request)
            else script
        )


class PenaltiesIgnored(Plant):
    """The rejection sampler takes the target's logits before any penalty."""

    def limits(self, request: Request, limits: Limits) -> Limits:
        """Forget the penalties."""
        if not (self.engine.speculating and self.strikes(request)):
            return limits
        sampling = dataclasses.replace(limits.sampling, presence=0.0, frequency=0.0, repetition=1.0)
        return dataclasses.replace(limits, sampling=sampling)


class UsageOffByOne(Plant):
    """An accepted block that runs over the end of the answer is counted as if it did not."""

    def drafted(self, step: Step) -> None:
        """Count one more where more drafts were accepted than there was answer left."""
        config = self.engine.config
        for sequence, fresh in zip(step.rows, step.fresh, strict=True):
            request = self.engine.in_flight[sequence]
            ends = fresh and fresh[-1].token == EOS and self.engine.speculating and self.strikes(request)
            if ends and sequence.accepted(config.acceptance, config.k) >= len(fresh):
                self.acted(request)
                request.overcount += 1


FAULTS = {
    "hang": Fault(
        "accepts the request and stays silent until the client goes",
        0.03,
        symptom="HANG",
        report="https://github.com/vllm-project/vllm/issues/40926",
        kinds=("service/hang",),
        plant=Hang,
    ),
    "server-error": Fault(
        "HTTP 500; one streamed reply in three breaks off in the middle instead",
        0.05,
        symptom="CRASH",
        report="https://github.com/spiritbuun/buun-llama-cpp/issues/57",
        kinds=("service",),
        plant=ServerError,
    ),
    "crowd-error": Fault(
        "above 10 requests in flight some end in an HTTP 500",
        0.3,
        symptom="CRASH",
        report="https://github.com/NVIDIA/TensorRT-LLM/issues/7310",
        kinds=("service",),
        plant=CrowdError,
        trigger="11 or more in flight",
        concurrency=12,
        minimum=_CROWD,
    ),
    "spec-off": Fault(
        "speculation is silently off although launched with it (drawn once, at the start)",
        1.0,
        symptom="ACCEPT_DROP",
        report="https://github.com/spiritbuun/buun-llama-cpp/issues/111",
        kinds=("speculation-health",),
        rate_of="servers",
        trigger="a launch with speculation",
        exit_status=3,
    ),
    "truncate": Fault(
        "the tail is cut: fewer tokens arrive than usage says, with finish_reason stop",
        0.05,
        symptom="EMPTY",
        report="https://github.com/vllm-project/vllm/issues/45425",
        kinds=("self-consistency",),
        plant=Truncate,
    ),
    "lost-chunk": Fault(
        "one piece of a streamed reply does not arrive",
        0.05,
        symptom="PROTOCOL",
        report="https://github.com/vllm-project/vllm/issues/41967",
        kinds=("self-consistency", "wrong-answer"),
        plant=LostChunk,
        trigger="a streamed reply",
    ),
    "repeated-chunk": Fault(
        "one piece of a streamed reply arrives twice",
        0.05,
        symptom="PROTOCOL",
        report="https://github.com/NVIDIA/TensorRT-LLM/issues/3753",
        kinds=("service/duplicate-chunk", "self-consistency", "wrong-answer"),
        plant=RepeatedChunk,
        trigger="a streamed reply",
    ),
    "late-stop": Fault(
        "a stop string inside an accepted block is not cut: it and what follows are delivered",
        1.0,
        symptom="PROTOCOL",
        report="https://github.com/vllm-project/vllm/pull/47616",
        kinds=("self-consistency/stop-string",),
        plant=LateStop,
        trigger="a stop string, with speculation",
    ),
    "penalties-ignored": Fault(
        "presence, frequency and repetition penalties are ignored under speculation",
        1.0,
        symptom="PARAM_IGNORED",
        report="https://github.com/vllm-project/vllm/issues/18902",
        kinds=("self-consistency/penalties-ignored",),
        plant=PenaltiesIgnored,
        trigger="a penalty, with speculation",
        schedule="param-fuzz",
    ),
    "usage-off-by-one": Fault(
        "an accepted block that runs over the end of the answer is counted one token too long",
        0.3,
        symptom="PROTOCOL",
        report="https://github.com/sgl-project/sglang/issues/39826",
        kinds=("self-consistency",),
        plant=UsageOffByOne,
        trigger="drafts accepted beyond the end of the answer",
    ),
}
