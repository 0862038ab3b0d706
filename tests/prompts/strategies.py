"""The strategies that come with specfuzz, for the prompts that are answered in words."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import canonical
from fuzzer.prompts import strategies as public
from fuzzer.prompts.strategies import make

CALLING: tuple[tuple[str, Level], ...] = tuple(kind for kind in public.KINDS if canonical(make(*kind, 0))[1])
"""Families with their levels that are answered by a call of a function."""

KINDS: tuple[tuple[str, Level], ...] = tuple(kind for kind in public.KINDS if kind not in CALLING)
"""All others."""


def prompts() -> st.SearchStrategy[Prompt]:
    """Prompts of every family and level that is answered in words."""
    return public.prompts(families=list(dict.fromkeys(name for name, _ in KINDS)))


__all__ = ["CALLING", "KINDS", "make", "prompts"]
