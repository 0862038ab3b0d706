"""Regret: was every token that a candidate committed (nearly) the best one for the reference, given the same prefix?

The reference scores the candidate's whole output (`fuzzer.history.scores`). A token's regret is the reference's best
log-probability minus its log-probability of that token, in nats. A benign flip picks one of two that are nearly equal,
so that its regret is small; a foreign token stands far below the best one however close the two best were to each
other, which is what margins alone cannot see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fuzzer.history.scores import TokenScore
from fuzzer.oracles.divergence import Band, Severity, band_of, severity

EDGES = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper edges of the histogram's bins, nats: exactly 0, up to 0.1, ..., and one more bin above the last."""


@dataclass(frozen=True, slots=True)
class Regrets:
    """What the reference thinks of one output.

    ``tokens`` were scored, ``unscored`` could not be. ``worst`` is the largest regret and ``place`` its token's place
    (None if there is no regret).
    ``not_best`` tokens had any regret at all; ``tied`` were as good as the best without being it, and ``ties`` counts
    the places where the two best are exactly equal. ``bins`` follow `EDGES`.
    """

    tokens: int
    unscored: int
    worst: float
    place: int | None
    not_best: int
    tied: int
    ties: int
    bins: tuple[int, ...]

    @property
    def share_not_best(self) -> float:
        """The rate of tokens that were not the best, from 0 to 1."""
        return self.not_best / self.tokens if self.tokens else 0.0

    def triage(self, band: Band) -> Severity | None:
        """Where the worst token lies in the band; None where nothing was scored."""
        return severity(self.worst, band) if self.tokens else None


def regrets(scores: Sequence[TokenScore], start: int = 0) -> Regrets:
    """The regrets of an output whose scored tokens begin at place ``start``."""
    known = [(place, value) for place, score in enumerate(scores, start) if (value := score.regret) is not None]
    place, worst = max(known, key=lambda pair: pair[1], default=(0, 0.0))
    return Regrets(
        tokens=len(known),
        unscored=len(scores) - len(known),
        worst=worst,
        place=place if worst > 0 else None,
        not_best=sum(value > 0 for _, value in known),
        tied=sum(score.regret == 0 and score.rank is not None and score.rank > 1 for score in scores),
        ties=sum(score.margin == 0 for score in scores),
        bins=histogram(value for _, value in known),
    )


def histogram(values: Iterable[float]) -> tuple[int, ...]:
    """How many regrets lie in each bin of `EDGES`."""
    bins = [0] * (len(EDGES) + 1)
    for value in values:
        bins[next((place for place, edge in enumerate(EDGES) if value <= edge), len(EDGES))] += 1
    return tuple(bins)


def regret_band(own: Iterable[Regrets], lm_head: str | None) -> Band:
    """The band from benign outputs: the reference's own, scored by itself, and its other passes.

    An output counts with its worst token if that is not the best one; under 59 of those the defaults of the output head
    stand.
    """
    return band_of([output.worst for output in own if output.not_best], lm_head)


def material(outputs: Iterable[Regrets], band: Band) -> int:
    """How many outputs hold a token that rounding cannot explain."""
    return sum(output.triage(band) == "material" for output in outputs)
