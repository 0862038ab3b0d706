"""Precisions of an output head (lm_head), as users and checkpoints spell them, and the near-tie bands of each."""

from __future__ import annotations

import re
from typing import Literal

Head = Literal["fp32", "bf16", "fp16", "weight-only", "fp8", "w4a4", "unknown"]

DEFAULT_BANDS: dict[Head, tuple[float, float]] = {
    "fp32": (0.13, 0.5),
    "bf16": (0.13, 0.5),
    "fp16": (0.13, 0.5),
    "weight-only": (0.13, 0.5),
    "fp8": (0.7, 1.5),
    "w4a4": (1.3, 3.0),
    "unknown": (1.3, 3.0),
}
"""Near-tie and material thresholds in nats, for runs that cannot calibrate their own (measured on one GPU)."""

_SPELLINGS: tuple[tuple[re.Pattern[str], Head], ...] = (
    (re.compile(r"w[48]a16|weight[- _]?only|awq|gptq|marlin|nf4|\bi?q[2-8]_|\bint4\b"), "weight-only"),
    (re.compile(r"w4a4|nvfp4|mxfp4|\bfp4\b"), "w4a4"),
    (re.compile(r"w8a8|fp8|float8|e4m3|e5m2|mxfp8"), "fp8"),
    (re.compile(r"bf16|bfloat16"), "bf16"),
    (re.compile(r"fp16|float16|\bf16\b|\bhalf\b"), "fp16"),
    (re.compile(r"fp32|float32|\bf32\b|tf32"), "fp32"),
)


def head_class(lm_head: str | None) -> Head:
    """The class of a stated precision; ``unknown`` for none and for what is not recognised."""
    stated = (lm_head or "").lower()
    return next((head for pattern, head in _SPELLINGS if pattern.search(stated)), "unknown")
