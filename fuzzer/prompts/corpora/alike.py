"""Which texts are nearly the same, without comparing every two of them.

Texts that share five-character pieces are put together by MinHash (Broder 1997): 48 hashes in 16 bands of 3 find a pair
that shares 70 % of its pieces 999 times in 1,000, half of them 9 times in 10. What lies in one bucket is sorted, each
text is compared with the next 8 by rapidfuzz, and that decides; after MOST comparisons no more are made. Of long texts
both ends are looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

NEAR = 90.0  # per cent of likeness, rapidfuzz's ratio
METHOD = "MinHash over 5-character pieces, then rapidfuzz on the first and last 2,000 characters"
MOST = 200_000  # comparisons: five thousand rows of one template take about as many
_PIECE = 5
_BANDS, _DEEP = 16, 3
_NEIGHBOURS = 8
_END = 2_000  # characters at either end of a text that are looked at


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts, by their places, and how alike they are in per cent."""

    first: int
    second: int
    likeness: float


def near(texts: Sequence[str]) -> list[Pair]:
    """Pairs of different texts that are at least NEAR alike, in the order of the texts."""
    from rapidfuzz import fuzz

    folded = [" ".join(text.casefold().split()) for text in texts]
    found = []
    for first, second in islice(_candidates(folded), MOST):
        if likeness := fuzz.ratio(_ends(folded[first]), _ends(folded[second]), score_cutoff=NEAR):
            found.append(Pair(first, second, float(likeness)))
    return sorted(found, key=lambda pair: (pair.first, pair.second))


def _candidates(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of places that may be alike, each once; equal texts are none."""
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        smallest = _smallest(_ends(text))
        for band in range(_BANDS):
            buckets[band, smallest[band * _DEEP : (band + 1) * _DEEP].tobytes()].append(place)
    seen: set[tuple[int, int]] = set()
    for bucket in buckets.values():
        ordered = sorted(bucket, key=lambda place: texts[place])
        for at, place in enumerate(ordered):
            for other in ordered[at + 1 : at + 1 + _NEIGHBOURS]:
                pair = min(place, other), max(place, other)
                if pair not in seen and texts[place] != texts[other]:
                    seen.add(pair)
                    yield pair


def _smallest(text: str) -> NDArray[numpy.uint64]:
    """The smallest hash of any piece, under each of the hash functions."""
    import numpy as np

    codes = np.frombuffer(text.ljust(_PIECE).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    size = len(codes) - _PIECE + 1
    pieces = np.zeros(size, dtype=np.uint64)
    for at in range(_PIECE):
        pieces = pieces * np.uint64(0x100000001B3) + codes[at : at + size]
    mixed = np.unique(pieces)[:, None] * _multipliers()[None, :]
    mixed ^= mixed >> np.uint64(29)
    smallest: NDArray[numpy.uint64] = (mixed * np.uint64(0x9E3779B97F4A7C15)).min(axis=0)
    return smallest


def _multipliers() -> NDArray[numpy.uint64]:
    """Odd numbers, always the same."""
    import numpy as np

    drawn = np.random.default_rng(0).integers(1, 2**63, size=_BANDS * _DEEP, dtype=np.uint64)
    return drawn * np.uint64(2) + np.uint64(1)


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _END else text[:_END] + text[-_END:]
