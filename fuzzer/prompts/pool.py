"""The prompts of a run: the index-th is a pure function of (seed, index), and none is like another."""

from __future__ import annotations

import hashlib
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
from fuzzer.prompts.questions import QUESTIONS

COHORT = 16  # prompts that share the head of their system message


class PromptPool:
    """All prompts of a run, by index.

    ``families`` empty means the default mix. Corpora alone make a finite pool; with families too, or where some rows
    have no known answer, every second prompt is a row as long as there are any. Rows are shuffled by the seed; with
    ``weave`` they bear canaries. ``pad`` is the length in tokens of padded prompts. ``drawn`` are prompts that come
    first (``--fuzz``).
    """

    def __init__(
        self,
        seed: int,
        families: Sequence[str] = (),
        corpora: Sequence[str] = (),
        *,
        weave: bool = True,
        pad: int | None = None,
        drawn: Sequence[Prompt] = (),
    ) -> None:
        for name in families:
            if name not in FAMILIES:
                raise UsageError(f"--family {name!r} is unknown; known are {', '.join(FAMILIES)}")
        self._seed = seed
        self._pad = pad
        self._drawn = tuple(drawn)
        self._weave = weave
        self.corpora = tuple(corpus.load(name, seed) for name in dict.fromkeys(corpora))
        self._rows = [(loaded.name, row) for loaded in self.corpora for row in loaded.rows]
        random.Random(f"{seed}/corpora").shuffle(self._rows)
        self._alone = bool(corpora) and not families and all(row.checkable for _, row in self._rows)
        self._kinds: list[tuple[str, Level]] = []
        self._weights: list[int] = []
        for name in dict.fromkeys(families or FAMILIES):
            for level, weight in FAMILIES[name].weights.items():
                self._kinds.append((name, level))
                self._weights.append(max(weight, 1) if families else weight)
        self.find = lru_cache(maxsize=4096)(self._find)

    @classmethod
    def of(cls, plan: Plan, drawn: Sequence[Prompt] = ()) -> PromptPool:
        """The pool that a plan asks for."""
        return cls(plan.seed, plan.families, plan.corpora, weave=plan.weave, pad=plan.pad, drawn=drawn)

    @property
    def notes(self) -> tuple[str, ...]:
        """What one must know of the corpora: which were only sampled, and what stands in for answers nobody knows."""
        unknown = sum(not row.checkable for _, row in self._rows)
        mixed = (
            f"{unknown:,} of {len(self._rows):,} corpus rows have no known answer: they are compared and looked at for "
            "bleed; every second prompt is of the families, which can be judged right or wrong"
        )
        sampled = [loaded.note for loaded in self.corpora if loaded.total > len(loaded.rows)]
        return (*sampled, *([mixed] if unknown else []))

    @property
    def digests(self) -> dict[str, str]:
        """A short hash of the rows of each corpus, by the name it was given."""
        return {loaded.given: _digest(loaded.rows) for loaded in self.corpora}

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
        return corpus.prompt(name, row, Draws(self._seed, "p", index), f"p{index:06d}", weave=self._weave)

    def filler(self, index: int) -> Prompt:
        """The index-th prompt that only keeps the load up: of the families, and unlike every judged one."""
        return self._make("f", index)

    def _find(self, prompt_id: str) -> Prompt:
        """A prompt by its id; the last ones asked for are kept."""
        if prompt_id in QUESTIONS:
            return QUESTIONS[prompt_id]
        number = int(prompt_id[1:])
        return self.filler(number) if prompt_id.startswith("f") else self.prompt(number)

    def _make(self, series: Series, index: int) -> Prompt:
        rng = Draws(self._seed, series, index, pad=self._pad)
        name, level = rng.choices(self._kinds, self._weights)[0]
        group = canary.mark(random.Random(f"{self._seed}/{series}/group/{index // COHORT}"))
        return cohort(FAMILIES[name].generate(rng, f"{series}{index:06d}", level), group)


def _digest(rows: Sequence[corpus.Row]) -> str:
    told = repr([(row.messages, row.check, sorted(row.spec.items())) for row in rows])
    return hashlib.sha256(told.encode()).hexdigest()[:16]
