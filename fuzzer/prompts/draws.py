"""The random source of one prompt: a stream of its own, and names that no other prompt of the run gets."""

from __future__ import annotations

import hashlib
import random
from functools import lru_cache
from typing import Literal

from fuzzer.prompts import names

Series = Literal["p", "f", "z"]  # judged prompts, filler, drawn by --fuzz

_SERIES = {"p": 0, "f": 1, "z": 2}
_SLOTS = 48  # names that one prompt may draw before they could be another's
_ROUNDS = 4


class Draws(random.Random):
    """Random numbers that depend on nothing but (seed, series, index).

    ``pad`` is the length in tokens that padded families are asked for, None for each family's own. Names are unique
    over all prompts of a run up to index 2,000,000 of each series.
    """

    def __init__(self, seed: int, series: Series, index: int, *, pad: int | None = None) -> None:
        super().__init__(f"{seed}/{series}/{index}")
        self.pad = pad
        self._key = seed
        self._next = (index * len(_SERIES) + _SERIES[series]) * _SLOTS

    def name(self) -> str:
        """A name of two capitalised parts of at least 7 letters each, given to no other prompt."""
        first, second = _shuffled(self._key, self._next)
        self._next += 1
        return f"{names.LONG_PARTS[first]} {names.LONG_PARTS[second]}"

    def names(self, count: int) -> list[str]:
        """So many names whose first parts all differ, so that their alphabetical order is plain."""
        drawn: dict[str, str] = {}
        while len(drawn) < count:
            candidate = self.name()
            drawn.setdefault(candidate.split()[0], candidate)
        return list(drawn.values())


def _shuffled(key: int, slot: int) -> tuple[int, int]:
    """Place ``slot`` of a keyed permutation of all pairs of parts: a Feistel network (Luby and Rackoff 1988)."""
    size = len(names.LONG_PARTS)
    left, right = divmod(slot % (size * size), size)
    for turn in range(_ROUNDS):
        left, right = right, (left + _mix(key, turn, right)) % size
    return left, right


@lru_cache(maxsize=16_384)  # some thousand names; a soak has another seed every leg
def _mix(key: int, turn: int, value: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{key}/{turn}/{value}".encode(), digest_size=8).digest(), "big")
