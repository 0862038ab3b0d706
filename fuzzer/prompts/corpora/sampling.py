"""So many of a stream of unknown length, each with the same chance, by seed; only what may be chosen is kept."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item", covariant=True)


class Batch(Protocol[Item]):
    """A part of a stream: its items are made only when they are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> Item: ...


@dataclass(frozen=True, slots=True)
class Sample(Generic[Item]):
    """What was chosen, in the order of the stream, out of ``total``."""

    items: Sequence[Item]
    total: int


def sample(batches: Iterable[Batch[Item]], size: int, seed: str) -> Sample[Item]:
    """At most ``size`` items: all of a stream that is no longer, else as many drawn by the seed."""
    chosen: dict[int, tuple[int, Item]] = {}
    arrivals = _arrivals(size, random.Random(seed))
    at, slot = next(arrivals)
    total = 0
    for batch in batches:
        while at < total + len(batch):
            chosen[slot] = (at, batch[at - total])
            at, slot = next(arrivals)
        total += len(batch)
    return Sample([item for _, item in sorted(chosen.values(), key=lambda each: each[0])], total)


def _arrivals(size: int, rng: random.Random) -> Iterator[tuple[int, int]]:
    """The places that enter the sample, each with the slot that it takes (Li 1994, algorithm L)."""
    yield from ((place, place) for place in range(size))
    place, weight = size - 1, 1.0
    while True:
        weight *= math.exp(math.log(1 - rng.random()) / size)
        place += 1 + math.floor(math.log(1 - rng.random()) / math.log1p(-weight))
        yield place, rng.randrange(size)
