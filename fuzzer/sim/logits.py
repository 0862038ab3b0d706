"""Logits of one verify row: margins, the lm_head's precision, numerical noise, and the planted drift.

There is one noise constant and one drift constant for every precision. A coarser head only narrows the margins
(``shrink``) and rounds to a coarser grid (``step``); that alone decides how often noise flips a token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuzzer.sim.answer import Node
from fuzzer.sim.draws import normals, uniforms

NOISE = 0.04  # nats per logit, one sequence and one row
NOISE_GROWTH = 0.15  # more noise with every doubling of the rows in a step
DRIFT = 0.248  # nats per logit with every doubling of the graph's batch in a drifting verification

CAPTURED = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # batch sizes that graphs are captured for; others are padded up


@dataclass(frozen=True, slots=True)
class Head:
    """An lm_head precision. ``step`` is the rounding grid in nats (0 = none); ``bf16`` says logits leave as bf16."""

    name: str
    shrink: float
    step: float
    bf16: bool

    def round(self, value: float, dither: float) -> float:
        """A logit as this head gives it."""
        if self.step:
            value = self.step * (round(value / self.step + dither) - dither)
        if self.bf16 and value:
            mantissa, exponent = math.frexp(value)
            value = math.ldexp(round(mantissa * 256.0), exponent - 8)
        return value


HEADS = {
    head.name: head
    for head in (
        Head("fp32", 1.0, 0.0, False),
        Head("bf16", 1.0, 0.0, True),
        Head("w4a16", 0.9, 0.0, True),
        Head("fp8", 0.75, 0.25, True),
        Head("nvfp4", 0.35, 0.5, True),
    )
}


class Batch(NamedTuple):
    """The shape of one step: sequences that run, and verify rows of each (1 without speculation).

    ``graph`` is the number of sequences that the step's graph is made for: it follows a shrinking batch only slowly.
    """

    running: int
    rows: int
    graph: float

    @property
    def noise(self) -> float:
        """Standard deviation of the numerical noise on a logit, nats."""
        return NOISE * (1.0 + NOISE_GROWTH * math.log2(self.running * self.rows))

    @property
    def drift(self) -> float:
        """Standard deviation of the planted drift on a logit, nats: none for a lone sequence or a single row."""
        if self.rows == 1 or self.running == 1:
            return 0.0
        return DRIFT * math.log2(padded(self.graph))


def padded(running: float) -> float:
    """The captured batch size that a batch runs at."""
    return next((size for size in CAPTURED if size >= running), running)


def score(node: Node, head: Head, noise: float, drift: float, key: bytes, numbers: Sequence[int]) -> list[float]:
    """The logits of a node's options in one row; ``key`` and ``numbers`` name prompt, position and batch place."""
    gaps = node.gaps
    spread = math.hypot(noise, drift)
    if gaps[1] * head.shrink > head.step + 0.25 + 18.0 * spread:  # no draw of the noise reaches that far
        values = [node.base - gap * head.shrink for gap in gaps]
    else:
        draws = normals(uniforms(key, *numbers))
        values = [node.base - gap * head.shrink + spread * draw for gap, draw in zip(gaps, draws, strict=False)]
    return [head.round(value, dither) for value, dither in zip(values, node.dither, strict=True)]
