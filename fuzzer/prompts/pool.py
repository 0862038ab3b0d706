"""The prompts of a run: the index-th is a pure function of (seed, index), and none is like another."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache

from fuzzer.errors import UsageError
from fuzzer.history.records import Level, Prompt
from fuzzer.plan import Plan
from fuzzer.prompts import canary
from fuzzer.prompts import corpora as corpus
from fuzzer.prompts.draws import Draws, Series
from fuzzer.prompts.families import FAMILIES
from fuzzer.prompts.frame import cohort

COHORT = 16  # prompts that share the head of their system message


class PromptPool:
    """All prompts of a run, by index.

    ``families`` empty means the default mix. Corpora alone make a finite pool; with families too, or where some rows
    have no known answer, every second prompt is a row as long as there are any. Rows are shuffled by the seed. ``pad``
    is the length in tokens of padded prompts. ``drawn`` are prompts that come first (``--fuzz``).
    """

    def __init__(
        self,
        seed: int,
        families: Sequence[str] = (),
        corpora: Sequence[str] = (),
        *,
        pad: int | None = None,
        drawn: Sequence[Prompt] = (),
    ) -> None:
        for name in families:
            if name not in FAMILIES:
                raise UsageError(f"--family {name!r} is unknown; known are {', '.join(FAMILIES)}")
        self._seed = seed
        self._pad = pad
        self._drawn = tuple(drawn)
        self._rows = self._shuffled(corpora)
        self._alone = bool(corpora) and not families
        self._kinds: list[tuple[str, Level]] = []
        self._weights: list[int] = []
        for name in dict.fromkeys(families or FAMILIES):
            asked = bool(families) and not any(FAMILIES[name].weights.values())
            for level, weight in FAMILIES[name].weights.items():
                self._kinds.append((name, level))
                self._weights.append(1 if asked else weight)
        self.find = lru_cache(maxsize=4096)(self._find)

    @classmethod
    def of(cls, plan: Plan, drawn: Sequence[Prompt] = ()) -> PromptPool:
        """The pool that a plan asks for."""
        return cls(plan.seed, plan.families, plan.corpora, pad=plan.pad, drawn=drawn)

    @property
    def size(self) -> int | None:
        """How many judged prompts there are, or None where there is no end."""
        return len(self._drawn) + len(self._rows) if self._alone else None

    def prompt(self, index: int) -> Prompt:
        """The index-th judged prompt; IndexError beyond the end of a finite pool."""
        if index < len(self._drawn):
            return self._drawn[index].model_copy(update={"id": f"p{index:06d}"})
        place = index - len(self._drawn)
        if not self._alone:
            place, odd = divmod(place, 2)
            if odd or place >= len(self._rows):
                return self._make("p", index)
        if place >= len(self._rows):
            raise IndexError(f"the corpus has {len(self._rows)} rows; there is no prompt {index}")
        name, row = self._rows[place]
        return corpus.prompt(name, row, Draws(self._seed, "p", index), f"p{index:06d}")

    def filler(self, index: int) -> Prompt:
        """The index-th prompt that only keeps the load up: of the families, and unlike every judged one."""
        return self._make("f", index)

    def _find(self, prompt_id: str) -> Prompt:
        """A prompt by its id; the last ones asked for are kept."""
        number = int(prompt_id[1:])
        return self.filler(number) if prompt_id.startswith("f") else self.prompt(number)

    def _shuffled(self, corpora: Sequence[str]) -> list[tuple[str, corpus.Row]]:
        loaded = [corpus.load(name, self._seed) for name in dict.fromkeys(corpora)]
        rows = [(each.name, row) for each in loaded for row in each.rows]
        random.Random(f"{self._seed}/corpora").shuffle(rows)
        return rows

    def _make(self, series: Series, index: int) -> Prompt:
        rng = Draws(self._seed, series, index, pad=self._pad)
        name, level = rng.choices(self._kinds, self._weights)[0]
        group = canary.mark(random.Random(f"{self._seed}/{series}/group/{index // COHORT}"))
        return cohort(FAMILIES[name].generate(rng, f"{series}{index:06d}", level), group)
