"""Hypothesis strategies for prompts."""

from __future__ import annotations

import random

from hypothesis import strategies as st

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import FAMILIES

LEVELS: tuple[Level, ...] = ("easy", "hard")
KINDS = tuple((name, level) for name in FAMILIES for level in LEVELS)


def make(family: str, level: Level, seed: int | str) -> Prompt:
    """One prompt of a family, from a seed."""
    return FAMILIES[family].generate(random.Random(f"{family}/{level}/{seed}"), f"p{seed}", level)


def prompts() -> st.SearchStrategy[Prompt]:
    """Prompts of every family and level."""
    return st.builds(lambda kind, seed: make(kind[0], kind[1], seed), st.sampled_from(KINDS), st.integers(0, 2**32))
