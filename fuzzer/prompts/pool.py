"""The prompts of a run: the index-th is a pure function of (seed, index), and none is like another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from fuzzer.errors import UsageError
from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import canary
from fuzzer.prompts.families import FAMILIES
from fuzzer.prompts.frame import cohort

COHORT = 16  # prompts that share the head of their system message

# The default mix: of 100 prompts, so many easy and hard ones.
MIX: dict[str, tuple[int, int]] = {
    "code-word": (16, 5),
    "echo": (10, 4),
    "last-message-wins": (12, 8),
    "keyed-json": (10, 5),
    "lookup": (6, 4),
    "arithmetic": (4, 2),
    "reverse": (2, 2),
    "count-on": (2, 2),
    "sort": (1, 2),
    "ordering": (1, 2),
}


class PromptPool:
    """All prompts of a run, by index; ``families`` empty means the default mix, easy and hard."""

    def __init__(self, seed: int, families: Sequence[str] = (), corpora: Sequence[str] = ()) -> None:
        for name in families:
            if name not in FAMILIES:
                raise UsageError(f"--family {name!r} is unknown; known are {', '.join(FAMILIES)}")
        self._seed = seed
        kinds: list[tuple[str, Level]] = []
        weights: list[int] = []
        levels: tuple[Level, Level] = ("easy", "hard")
        for name in families or MIX:
            for level, weight in zip(levels, MIX[name], strict=True):
                kinds.append((name, level))
                weights.append(weight)
        self._kinds = kinds
        self._weights = weights

    @property
    def size(self) -> int | None:
        """How many judged prompts there are, or None where there is no end."""
        return None

    def prompt(self, index: int) -> Prompt:
        """The index-th judged prompt."""
        return self._make("p", index)

    def filler(self, index: int) -> Prompt:
        """The index-th prompt that only keeps the load up; unlike every judged one."""
        return self._make("f", index)

    def _make(self, series: Literal["p", "f"], index: int) -> Prompt:
        rng = random.Random(f"{self._seed}/{series}/{index}")
        name, level = rng.choices(self._kinds, self._weights)[0]
        group = canary.mark(random.Random(f"{self._seed}/{series}/group/{index // COHORT}"))
        return cohort(FAMILIES[name].generate(rng, f"{series}{index:06d}", level), group)
