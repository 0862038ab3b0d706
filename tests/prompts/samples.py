"""Right answers in some style, and subtly wrong ones in the same: what a checker is measured by."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Iterator

from fuzzer.history.records import Prompt
from tests.prompts import spoils
from tests.prompts.strategies import KINDS, make
from tests.prompts.styles import Said, core, marks, render


def rng(*parts: object) -> random.Random:
    """A random source that these parts decide."""
    return random.Random(zlib.crc32("/".join(map(str, parts)).encode()))


def pairs(seed: int) -> Iterator[tuple[Prompt, Prompt]]:
    """Prompts of all families and levels in turn, each with another of its kind."""
    for index, kind in enumerate(itertools.cycle(KINDS)):
        yield make(*kind, f"{seed}/{index}"), make(*kind, f"{seed}/{index}/other")


def right_ones(count: int, seed: int) -> Iterator[tuple[Prompt, Said]]:
    """So many right answers, each in some style."""
    source = rng("right", seed)
    for prompt, _ in itertools.islice(pairs(seed), count):
        yield prompt, render(prompt, core(prompt), marks(prompt), source)


def wrong_ones(count: int, seed: int) -> Iterator[tuple[Prompt, Said]]:
    """So many answers with one thing wrong, each in some style."""
    source = rng("wrong", seed)
    made = 0
    for prompt, other in pairs(seed):
        spoilt = spoils.spoil(prompt, other, source, source.choice(spoils.kinds(prompt)))
        if spoilt is not None and made < count:
            said = render(prompt, spoilt.core, spoilt.marks, source)
            yield prompt, Said(f"{spoilt.kind} + {said.style}", said.text)
            made += 1
        elif made == count:
            return


def told(prompt: Prompt, said: Said) -> str:
    """A misjudged answer, for people."""
    return f"{prompt.family}/{prompt.level}, {said.style}: {said.text!r}, where {prompt.answer!r} is right"
