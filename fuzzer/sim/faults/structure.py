"""Faults of structure: calls, reasoning and grammars, which stand between a model's text and the reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.sim.faults.answers import own, saying
from fuzzer.sim.faults.base import Fault, Plant
from fuzzer.sim.wants import SCHEMA, THINKING

if TYPE_CHECKING:
    from fuzzer.sim.engine import Request
    from fuzzer.sim.sequence import Script


class ToolMarkup(Plant):
    """The parser of calls does not see a mark that lies inside an accepted block."""

    def deaf(self, request: Request) -> str:
        """Leave the markup of a call in the content."""
        if not (request.chat.calls and self.engine.speculating and self.strikes(request)):
            return ""
        self.acted(request)
        return "calls"


class ReasoningLeak(Plant):
    """The parser of reasoning does not see a mark that lies inside an accepted block."""

    def deaf(self, request: Request) -> str:
        """Leave the reasoning in the content."""
        thinks = any(role == THINKING for role, _ in request.chat.messages)
        if not (thinks and self.engine.speculating and self.strikes(request)):
            return ""
        self.acted(request)
        return "thoughts"


class GrammarSlip(Plant):
    """The grammar is not asked about the drafts of the last step: the closing brace is lost."""

    def begins(self, request: Request, script: Script) -> Script:
        """Break the end of the object off."""
        slots = request.reading.slots
        held = any(role == SCHEMA for role, _ in request.chat.messages) and len(slots) > 1
        if not (held and self.engine.speculating and self.strikes(request) and own(request, script)):
            return script
        self.acted(request)
        return saying(request, slots[:-1], script)


FAULTS = {
    "tool-markup": Fault(
        "the markup of a call is left in the content, and the call is missing",
        0.7,
        symptom="STRUCT",
        report="https://github.com/sgl-project/sglang/issues/33397",
        kinds=("corruption/tool-markup", "wrong-answer"),
        plant=ToolMarkup,
        trigger="functions on offer, with speculation",
    ),
    "reasoning-leak": Fault(
        "the reasoning is left in the content, with its marks",
        0.3,
        symptom="STRUCT",
        report="https://github.com/vllm-project/vllm/issues/35800",
        kinds=("corruption/special-token",),
        plant=ReasoningLeak,
        trigger="thinking on, with speculation",
        families=("thinking",),
    ),
    "grammar-slip": Fault(
        "a reply that must keep to a schema loses its closing brace",
        0.7,
        symptom="STRUCT",
        report="https://github.com/vllm-project/vllm/pull/36138",
        kinds=("wrong-answer", "corruption/truncation"),
        plant=GrammarSlip,
        trigger="a JSON schema, with speculation",
    ),
}
