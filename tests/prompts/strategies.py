"""Hypothesis strategies for prompts."""

from __future__ import annotations

import zlib

from hypothesis import strategies as st

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import FAMILIES
from fuzzer.prompts.draws import Draws

KINDS = tuple((name, level) for name, family in FAMILIES.items() for level in family.levels)


def make(family: str, level: Level, seed: int | str) -> Prompt:
    """One prompt of a family, from a seed."""
    return FAMILIES[family].generate(Draws(zlib.crc32(f"{family}/{level}/{seed}".encode()), "p", 0), f"p{seed}", level)


def prompts() -> st.SearchStrategy[Prompt]:
    """Prompts of every family and level."""
    return st.builds(lambda kind, seed: make(kind[0], kind[1], seed), st.sampled_from(KINDS), st.integers(0, 2**32))
