"""All oracles by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from fuzzer.finding import Finding, Kind
from fuzzer.oracles import (
    bleed,
    corruption,
    divergence,
    health,
    independence,
    penalties,
    regret,
    repeat,
    selfcheck,
    service,
    wrong,
)
from fuzzer.oracles.context import Batch, Context


class Judgement(Protocol):
    """Looks at one closed block of one cell."""

    def __call__(self, batch: Batch, context: Context) -> Iterator[Finding]:
        """Every fault of this kind in the block."""


@dataclass(frozen=True, slots=True)
class Oracle:
    """A name, one line for people (``specfuzz oracles``), and the judgement."""

    name: Kind
    summary: str
    judge: Judgement


def _divergence(batch: Batch, context: Context) -> Iterator[Finding]:
    yield from divergence.judge(batch, context)
    yield from regret.judge(batch, context)
    yield from repeat.judge(batch, context)


def _self_consistency(batch: Batch, context: Context) -> Iterator[Finding]:
    yield from selfcheck.judge(batch, context)
    yield from penalties.judge(batch, context)


_ALL = (
    Oracle("bleed", "content of another request: canaries, item names, answers; says whose and when", bleed.judge),
    Oracle("wrong-answer", "a measured reply that fails its own prompt's check", wrong.judge),
    Oracle("divergence", "greedy outputs that part where rounding cannot explain it, or from run to run", _divergence),
    Oracle(
        "self-consistency",
        "tokens, log-probabilities, usage, finish reason and stop strings that disagree; penalties not heeded",
        _self_consistency,
    ),
    Oracle("corruption", "special tokens, broken encoding, loops, foreign scripts, in every channel", corruption.judge),
    Oracle("service", "errors, time-outs, hangs and protocol faults", service.judge),
    Oracle("speculation-health", "drafting that is not what it says it is; acceptance by concurrency", health.judge),
    Oracle("independence", "one prompt, asked alike, answered otherwise among other neighbours", independence.judge),
)

ORACLES: dict[str, Oracle] = {oracle.name: oracle for oracle in _ALL}
"""All oracles by name, in the order they judge."""
