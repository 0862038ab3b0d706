"""The prompts of a run: the index-th is a pure function of (seed, index), and none is like another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal

from fuzzer.errors import UsageError
from fuzzer.history.records import Level, Prompt
from fuzzer.prompts import canary
from fuzzer.prompts import corpora as corpus
from fuzzer.prompts.families import FAMILIES
from fuzzer.prompts.frame import cohort

COHORT = 16  # prompts that share the head of their system message

_LEVELS: tuple[Level, Level] = ("easy", "hard")

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
    """All prompts of a run, by index.

    ``families`` empty means the default mix. With corpora alone the pool is finite; with families too, the corpora's
    rows come first. Rows are shuffled by the seed.
    """

    def __init__(self, seed: int, families: Sequence[str] = (), corpora: Sequence[str] = ()) -> None:
        for name in families:
            if name not in FAMILIES:
                raise UsageError(f"--family {name!r} is unknown; known are {', '.join(FAMILIES)}")
        self._seed = seed
        self._rows = self._shuffled(corpora)
        self._finite = bool(corpora) and not families
        self._kinds: list[tuple[str, Level]] = []
        self._weights: list[int] = []
        for name in dict.fromkeys(families or MIX):
            for level, weight in zip(_LEVELS, MIX[name], strict=True):
                self._kinds.append((name, level))
                self._weights.append(weight)

    @property
    def size(self) -> int | None:
        """How many judged prompts there are, or None where there is no end."""
        return len(self._rows) if self._finite else None

    def prompt(self, index: int) -> Prompt:
        """The index-th judged prompt; IndexError beyond the end of a finite pool."""
        if index < len(self._rows):
            name, row = self._rows[index]
            return corpus.prompt(name, row, self._rng("p", index), f"p{index:06d}")
        if self._finite:
            raise IndexError(f"the corpus has {len(self._rows)} rows; there is no prompt {index}")
        return self._make("p", index)

    def filler(self, index: int) -> Prompt:
        """The index-th prompt that only keeps the load up: of the families, and unlike every judged one."""
        return self._make("f", index)

    def _shuffled(self, corpora: Sequence[str]) -> list[tuple[str, corpus.Row]]:
        rows = [(name, row) for name, loaded in map(corpus.load, dict.fromkeys(corpora)) for row in loaded]
        random.Random(f"{self._seed}/corpora").shuffle(rows)
        return rows

    def _make(self, series: Literal["p", "f"], index: int) -> Prompt:
        rng = self._rng(series, index)
        name, level = rng.choices(self._kinds, self._weights)[0]
        group = canary.mark(random.Random(f"{self._seed}/{series}/group/{index // COHORT}"))
        return cohort(FAMILIES[name].generate(rng, f"{series}{index:06d}", level), group)

    def _rng(self, series: str, index: int) -> random.Random:
        return random.Random(f"{self._seed}/{series}/{index}")
