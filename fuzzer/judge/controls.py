"""Which control arms also show what a finding says: a fault that is there without the load is another fault.

The controls come from calibration (the same endpoint alone, and at N in two orders; the reference against itself) and
from the other arm of the cell (the reference at the same place among the same neighbours). All are in the history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fuzzer.finding import Control, Finding
from fuzzer.history.records import Exchange
from fuzzer.judge.grading import grade_exchange
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import ALONE, first_divergence

_Asked = tuple[str, str, str]  # arm, endpoint, prompt


@dataclass(slots=True)
class _Passes:
    """The calibration passes of one prompt at one endpoint: those that ran, and the kinds of fault that each showed."""

    ran: set[int] = field(default_factory=set)
    shown: dict[int, frozenset[str]] = field(default_factory=dict)


class Controls:
    """Remembers what calibration showed, prompt by prompt, and marks findings with it."""

    def __init__(self) -> None:
        self._passes: dict[_Asked, _Passes] = {}
        self._itself: dict[tuple[str, str], bool] = {}

    def mark(self, findings: Sequence[Finding], batch: Batch, context: Context) -> list[Finding]:
        """The findings of a block, each with the controls that also show it and those that do not."""
        shown: dict[str, set[str]] = {}
        for finding in findings:
            if finding.exchange is not None:
                shown.setdefault(finding.exchange, set()).add(finding.kind)
        self._learn(batch, shown, context)
        exchanges = {exchange.key: exchange for exchange in batch}
        return [self._marked(finding, exchanges, shown, context) for finding in findings]

    def _learn(self, batch: Batch, shown: dict[str, set[str]], context: Context) -> None:
        reference: dict[tuple[str, str], dict[int, Exchange]] = {}
        for exchange in batch:
            sent = exchange.sent
            if sent.phase != "calibration":
                continue
            kinds = set(shown.get(exchange.key, ()))
            graded = grade_exchange(exchange, context.grade)
            if graded.value in ("wrong", "none"):
                kinds.add("wrong-answer")
            passes = self._passes.setdefault((sent.arm, sent.endpoint, sent.prompt), _Passes())
            passes.ran.add(sent.pass_index)
            if kinds:
                passes.shown[sent.pass_index] = passes.shown.get(sent.pass_index, frozenset()) | kinds
            if sent.arm == "reference":
                reference.setdefault((sent.endpoint, sent.prompt), {})[sent.pass_index] = exchange
        for asked, own in reference.items():
            if 0 in own and 1 in own:
                differs = first_divergence(own[0], own[1]) is not None
                self._itself[asked] = self._itself.get(asked, False) or differs

    def _marked(
        self, finding: Finding, exchanges: dict[str, Exchange], shown: dict[str, set[str]], context: Context
    ) -> Finding:
        exchange = exchanges.get(finding.exchange or "")
        if exchange is None:
            return finding
        found = self._found(finding, exchange, shown, context)
        return finding.model_copy(
            update={
                "also": tuple(control for control, also in found.items() if also),
                "spared": tuple(control for control, also in found.items() if not also),
            }
        )

    def _found(
        self, finding: Finding, exchange: Exchange, shown: dict[str, set[str]], context: Context
    ) -> dict[Control, bool]:
        sent = exchange.sent
        found: dict[Control, bool] = {}
        passes = self._passes.get((sent.arm, sent.endpoint, sent.prompt), _Passes())
        own = sent.pass_index if sent.phase == "calibration" else None
        if ALONE in passes.ran and own != ALONE:
            found["alone"] = finding.kind in passes.shown.get(ALONE, ())
        others = passes.ran - {ALONE, own}
        if others:
            found["other-order"] = any(finding.kind in passes.shown.get(index, ()) for index in others)
        if sent.arm == "candidate":
            pair = context.pair(exchange)
            if pair is not None and pair.done is not None:
                found["reference"] = finding.kind in shown.get(pair.key, ())
                itself = self._itself.get((pair.sent.endpoint, sent.prompt))
                if itself is not None and finding.kind in ("divergence", "independence"):
                    found["reference-itself"] = itself
        return found
