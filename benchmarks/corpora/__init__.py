"""The generators of the corpora that are not written by hand; ``python -m benchmarks.corpora`` writes them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks.corpora import agentic, c8, long_context
from benchmarks.corpora.rows import Row

GENERATED: Mapping[str, Callable[[], list[Row]]] = {
    "agentic": agentic.rows,
    "c8-wrong-answer": c8.rows,
    "long-context": long_context.rows,
}
