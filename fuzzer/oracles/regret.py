"""Regret: was every token that a candidate committed (nearly) the best one for the reference, given the same prefix?

The reference scores the candidate's whole output (`fuzzer.history.scores`). A token's regret is the reference's best
log-probability minus its log-probability of that token, in nats. A benign flip picks one of two that are nearly equal,
so that its regret is small; a foreign token stands far below the best one however close the two best were to each
other, which is what margins alone cannot see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fuzzer.finding import Finding
from fuzzer.history.records import Exchange
from fuzzer.history.scores import Scores, TokenScore
from fuzzer.oracles.build import excerpt, finding, label, quote
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import Band, Divergence, Severity, band_of, first_divergence, partner, severity

EDGES = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper edges of the histogram's bins, nats: exactly 0, up to 0.1, ..., and one more bin above the last."""

CLEARANCE = 2.0  # times the widest benign one: scoring is a prefill, which adds noise of its own


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


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every candidate output that leaves the reference's with a token that rounding cannot explain."""
    for exchange in batch:
        scores, pair = context.told(exchange), partner(exchange, context)
        divergence = first_divergence(exchange, pair) if scores is not None and pair is not None else None
        if scores is None or pair is None or divergence is None or divergence.unit != "token":
            continue
        found = since(scores, divergence.index)
        band = band_of((), context.lm_head(pair) or context.lm_head(exchange))
        if found.triage(band) == "material":
            yield _finding(exchange, pair, divergence, scores, found, band)


def since(scores: Scores, place: int) -> Regrets:
    """The regrets of an output from this place on."""
    cut = max(place - scores.start, 0)
    return regrets(scores.tokens[cut:], scores.start + cut)


def before(scores: Scores, place: int) -> Regrets:
    """The regrets of an output up to this place."""
    return regrets(scores.tokens[: max(place - scores.start, 0)], scores.start)


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


def _finding(
    exchange: Exchange, pair: Exchange, divergence: Divergence, scores: Scores, found: Regrets, band: Band
) -> Finding:
    place = found.place or 0
    token = scores.tokens[place - scores.start]
    return finding(
        exchange,
        "divergence",
        "material",
        "possible",
        f"{label(exchange.sent.arm, exchange.sent.endpoint)}: the reply to {exchange.sent.prompt} leaves the "
        f"reference's at token {divergence.index}, {quote(divergence.left.said, 40)} for "
        f"{quote(divergence.right.said, 40)}; the reference, given the same beginning, puts "
        f"{quote(token.token, 40)} at token {place} {found.worst:.2f} nats below its best (band {band.material:.2f}, "
        f"{band.source})",
        evidence={
            "unit": divergence.unit,
            "index": divergence.index,
            "regret": found.worst,
            "place": place,
            "token": excerpt(token.token),
            "rank": token.rank,
            "scored": found.tokens,
            "not_best": found.not_best,
            "gap": divergence.gap,
            "band": {"tie": band.tie, "material": band.material, "flips": band.flips, "source": band.source},
            "pair": pair.key,
        },
    )
