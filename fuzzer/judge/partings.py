"""What is compared with what at one level: the reference with itself, and the candidate with the reference.

There are as many comparisons on one side as on the other, so that neither has more chances to part. Nothing is kept of
an exchange but numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuzzer.history.records import Exchange
from fuzzer.history.scores import Scored, Scores
from fuzzer.oracles.divergence import ALONE, Band, Divergence, Triage, first_divergence, matched, severity, triage
from fuzzer.oracles.regret import Regrets, before, since

Passes = Mapping[int, Exchange]
"""One prompt's passes on one side: 0 and 1 at N (1 in another order), 2 alone."""

Pair = tuple[Exchange, Exchange]
"""The output that is judged, and the reference's that it is compared with."""


class Told:
    """What the reference said of the outputs of a block; one answer serves all outputs that are the same."""

    def __init__(self, scored: Sequence[Scored] = (), exchanges: Mapping[str, Exchange] | None = None) -> None:
        self._by_output: dict[tuple[str, tuple[int, ...]], Scores] = {}
        for one in scored:
            output = output_of(exchanges[one.key]) if exchanges and one.key in exchanges else None
            if output is not None and one.scores.tokens:
                self._by_output[output] = one.scores

    def of(self, exchange: Exchange) -> Scores | None:
        """The scores of this output, if it was scored."""
        output = output_of(exchange) if self._by_output else None
        return self._by_output.get(output) if output is not None else None


def output_of(exchange: Exchange) -> tuple[str, tuple[int, ...]] | None:
    """The prompt and the token ids, by which equal outputs are one; None where the engine told no ids."""
    received = exchange.received
    if received is None or not received.token_ids:
        return None
    return exchange.sent.prompt, received.token_ids


@dataclass(frozen=True, slots=True)
class Bands:
    """The bands that gaps and regrets are triaged by."""

    gap: Band
    regret: Band


@dataclass(frozen=True, slots=True)
class Comparison:
    """An output and where it leaves the one that it is compared with, if it does.

    ``tokens`` is its length. Where the reference scored it, ``own`` are the regrets of the tokens before the
    divergence, which the reference said itself, and ``after`` those from there on.
    """

    tokens: int
    divergence: Divergence | None = None
    own: Regrets | None = None
    after: Regrets | None = None

    @property
    def scored(self) -> bool:
        """Whether the token at which it parts was scored."""
        return self.after is not None and self.after.tokens > 0

    @property
    def widest(self) -> float | None:
        """The larger of the gap and the regret where it parts, of those that are known."""
        gap = self.divergence.gap if self.divergence is not None else None
        regret = self.after.worst if self.after is not None and self.after.tokens else None
        return max((value for value in (gap, regret) if value is not None), default=None)

    def triage(self, bands: Bands, *, by_regret: bool) -> Triage | None:
        """Whether rounding explains where it parts, by regret or by the smaller gap; None where it does not part."""
        if self.divergence is None:
            return None
        if by_regret and self.after is not None:
            return severity(self.after.worst, bands.regret)
        return triage(self.divergence, bands.gap)


@dataclass(frozen=True, slots=True)
class Compared:
    """One prompt, as many comparisons on either side: the reference with itself, the candidate with the reference."""

    floor: tuple[Comparison, ...]
    candidate: tuple[Comparison, ...]

    @property
    def scored(self) -> bool:
        """Whether all that parts was scored: otherwise both sides go by their gaps."""
        return all(one.scored for one in (*self.floor, *self.candidate) if one.divergence is not None)

    def material(self, side: Sequence[Comparison], bands: Bands, *, by_regret: bool) -> bool:
        """Whether any comparison of this side is one that rounding cannot explain."""
        return any(one.triage(bands, by_regret=by_regret and self.scored) == "material" for one in side)


def pairs(reference: Passes, candidate: Passes) -> tuple[list[Pair], list[Pair]] | None:
    """What is compared on either side; None where the reference's passes at N are not both there.

    No pair at all: the candidate's passes are not matched with the reference's.
    """
    first, second = reference.get(0), reference.get(1)
    if first is None or second is None or not (first.ok and second.ok):
        return None
    both = [(candidate[index], reference[index]) for index in (0, 1) if index in candidate]
    ours = [(mine, theirs) for mine, theirs in both if matched(mine, theirs) is None]
    alone = reference.get(ALONE)
    others = [second] if alone is None or not alone.ok else [second, alone]
    floor = [(other, first) for other in others[: len(ours)]]
    return floor, ours[: len(floor)]


def compare(pair: Pair, told: Told) -> Comparison:
    """Where the judged output of a pair leaves the other, and what the reference thinks of it from there on."""
    judged, other = pair
    received = judged.received
    tokens = len(received.token_ids or received.logprobs or ()) if received is not None else 0
    divergence = first_divergence(judged, other)
    scores = told.of(judged) if divergence is not None and divergence.unit == "token" else None
    if divergence is None or scores is None:
        return Comparison(tokens, divergence)
    return Comparison(tokens, divergence, own=before(scores, divergence.index), after=since(scores, divergence.index))
