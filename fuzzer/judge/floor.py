"""The noise floor of one level: how far the reference strays from itself, and the candidate from it beyond that.

Everything is computed from recorded passes and scores, and from nothing of them but ids, texts and log-probabilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fuzzer.history.records import Exchange
from fuzzer.history.scores import Scored
from fuzzer.judge.partings import Bands, Compared, Comparison, Passes, Told, compare, pairs
from fuzzer.judge.strays import Strayed, strays
from fuzzer.noise import NoiseFloor, RegretSummary
from fuzzer.oracles.divergence import Divergence, band_of, benign_flips, calibrate
from fuzzer.oracles.heads import DEFAULT_BANDS, head_class
from fuzzer.oracles.regret import CLEARANCE, EDGES, Regrets, regrets

DISTRUST = 0.05  # of the reference's own outputs: so many that scoring finds material, and it says nothing of others


@dataclass(slots=True)
class Floor:
    """What the passes at one level show, for one candidate against its reference."""

    compared: list[Compared] = field(default_factory=list)
    benign: list[Divergence] = field(default_factory=list)
    unmatched: int = 0
    own: list[Regrets] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    strayed: Strayed = field(default_factory=dict)
    ties: int = 0
    tie_tokens: int = 0

    def add_block(self, passes: Iterable[tuple[Passes, Passes]], scored: Sequence[Scored]) -> None:
        """Take in a block: the reference's and the candidate's passes of each kept prompt, and what was scored."""
        table = list(passes)
        exchanges = {exchange.key: exchange for both in table for side in both for exchange in side.values()}
        told = Told(scored, exchanges)
        self.refused.update(one.scores.detail for one in scored if not one.scores.tokens)
        for reference, candidate in table:
            self.add(reference, candidate, told)

    def add(self, reference: Passes, candidate: Passes, told: Told | None = None) -> None:
        """Take in the passes of one prompt."""
        told = told or Told()
        self.benign.extend(benign_flips(tuple(reference.values())))
        strays(self.strayed, reference, candidate)
        for exchange in reference.values():
            self._count_ties(exchange)
        sides = pairs(reference, candidate)
        if sides is None:
            return
        if not sides[1]:
            self.unmatched += 1
            return
        floor, ours = (tuple(compare(pair, told) for pair in side) for side in sides)
        self.compared.append(Compared(floor, ours))
        if not any(one.divergence for one in (*floor, *ours)) and (scores := told.of(reference[0])) is not None:
            self.own.append(regrets(scores.tokens, scores.start))

    @property
    def unscorable(self) -> bool:
        """Whether the reference was asked to score, and could not."""
        return bool(self.refused) and not self._benign_regrets()

    def _count_ties(self, exchange: Exchange) -> None:
        received = exchange.received
        margins = [entry.margin for entry in (received.logprobs or ())] if received is not None else []
        self.tie_tokens += sum(margin is not None for margin in margins)
        self.ties += margins.count(0.0)

    def bands(self, lm_head: str | None) -> Bands:
        """The near-tie bands of this run at this level (DESIGN, oracle 3), for gaps and for regrets."""
        passes = [value for pair in self.compared for one in pair.floor if (value := one.widest) is not None]
        own = [known.worst for known in self._own_regrets() if known.not_best]
        return Bands(calibrate(self.benign, lm_head), band_of([*passes, *own], lm_head, CLEARANCE))

    def _own_regrets(self) -> list[Regrets]:
        """Of tokens that the reference said itself: whole outputs, and beginnings that both sides share."""
        shared = [one.own for pair in self.compared for one in (*pair.floor, *pair.candidate) if one.own is not None]
        return [known for known in (*self.own, *shared) if known.tokens]

    def _benign_regrets(self) -> list[Regrets]:
        """The same, and those of the reference's other passes from where they leave its first."""
        passes = [one.after for pair in self.compared for one in pair.floor if one.after is not None]
        return [*self._own_regrets(), *(known for known in passes if known.tokens)]

    def noise_floor(self, lm_head: str | None) -> NoiseFloor:
        """The divergence counts, triaged by the bands; p-values are the verdict's business."""
        bands = self.bands(lm_head)
        regret = self._regret(bands, lm_head)
        by_regret = regret.used
        counts = Counter(pair.candidate[0].triage(bands, by_regret=by_regret and pair.scored) for pair in self.compared)
        found = [
            (
                pair.material(pair.candidate, bands, by_regret=by_regret),
                pair.material(pair.floor, bands, by_regret=by_regret),
            )
            for pair in self.compared
        ]
        return NoiseFloor(
            n=len(self.compared),
            reference=sum(pair.floor[0].divergence is not None for pair in self.compared),
            candidate=sum(pair.candidate[0].divergence is not None for pair in self.compared),
            reference_material=sum(floor for _, floor in found),
            candidate_material=sum(ours for ours, _ in found),
            b=found.count((True, False)),
            c=found.count((False, True)),
            grey=counts["grey"],
            near_tie=counts["near-tie"],
            untriaged=counts["untriaged"],
            unmatched=self.unmatched,
            benign_flips=bands.gap.flips,
            band_tie=bands.gap.tie,
            band_material=bands.gap.material,
            band_source=bands.gap.source,
            ties=self.ties,
            tie_tokens=self.tie_tokens,
            regret=regret,
            strays=tuple(stray.summary(key) for key, stray in sorted(self.strayed.items())),
        )

    def _regret(self, bands: Bands, lm_head: str | None) -> RegretSummary:
        """Every token of the candidate by its regret, and what the reference's own tokens have of it."""
        ours = [one for pair in self.compared for one in pair.candidate]
        benign = self._benign_regrets()
        scored = [one.after for one in ours if one.after is not None and one.after.tokens]
        note = self._unused(benign, scored, lm_head)
        told = sum(_told_by_itself(one) for one in ours)
        bins = [sum(column) for column in zip(*(one.bins for one in scored), strict=True)] or [0] * (len(EDGES) + 1)
        bins[0] += told
        worst = max(scored, key=lambda one: one.worst, default=None)
        return RegretSummary(
            used=bool(scored) and not note,
            note=note,
            outputs=len(ours),
            parted=sum(one.divergence is not None for one in ours),
            scored=len(scored),
            tokens=told + sum(one.tokens for one in scored),
            not_best=sum(one.not_best for one in scored),
            worst=worst.worst if worst is not None else 0.0,
            edges=EDGES,
            bins=tuple(bins),
            own_outputs=len(self.own),
            own_tokens=sum(one.tokens for one in benign),
            own_not_best=sum(one.not_best for one in benign),
            own_worst=max((one.worst for one in benign), default=0.0),
            benign_flips=bands.regret.flips,
            band_tie=bands.regret.tie,
            band_material=bands.regret.material,
            band_source=bands.regret.source,
        )

    def _unused(self, benign: Sequence[Regrets], scored: Sequence[Regrets], lm_head: str | None) -> str:
        """Why regrets decide nothing, or ""."""
        if not benign and not scored:
            return self.refused.most_common(1)[0][0] if self.refused else ""
        limit = DEFAULT_BANDS[head_class(lm_head)][1]
        odd = sum(one.worst > limit for one in benign)
        if odd > max(1, DISTRUST * len(benign)):
            return f"scoring calls {odd} of {len(benign)} outputs of the reference itself material: not relied on"
        return ""


def _told_by_itself(one: Comparison) -> int:
    """Tokens of a candidate's output that the reference said itself: all, or those before the divergence."""
    if one.divergence is None:
        return one.tokens
    return one.divergence.index if one.divergence.unit == "token" else 0
