"""The strategies that come with specfuzz, under the names that the tests know."""

from __future__ import annotations

from fuzzer.prompts.strategies import KINDS, make, prompts

__all__ = ["KINDS", "make", "prompts"]
