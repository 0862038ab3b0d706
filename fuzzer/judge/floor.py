"""The noise floor of one level: how far the reference strays from itself, and the candidate from it beyond that.

Everything is computed from recorded passes, and from nothing of them but ids, texts and log-probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fuzzer.history.records import Exchange
from fuzzer.oracles.divergence import (
    ALONE,
    Band,
    Divergence,
    benign_flips,
    calibrate,
    first_divergence,
    matched,
    triage,
)
from fuzzer.summary import NoiseFloor

Passes = Mapping[int, Exchange]
"""One prompt's passes on one side: 0 and 1 at N (1 in another order), 2 alone."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """One prompt, as many comparisons on either side: the reference with itself, the candidate with the reference."""

    floor: tuple[Divergence | None, ...]
    candidate: tuple[Divergence | None, ...]


@dataclass(slots=True)
class Floor:
    """What the passes at one level show, for one candidate against its reference."""

    compared: list[_Compared] = field(default_factory=list)
    benign: list[Divergence] = field(default_factory=list)
    unmatched: int = 0

    def add(self, reference: Passes, candidate: Passes) -> None:
        """Take in the passes of one prompt."""
        self.benign.extend(benign_flips(tuple(reference.values())))
        first, second = reference.get(0), reference.get(1)
        if first is None or second is None or not (first.ok and second.ok):
            return
        pairs = [(candidate[index], reference[index]) for index in (0, 1) if index in candidate]
        ours = tuple(first_divergence(mine, theirs) for mine, theirs in pairs if matched(mine, theirs) is None)
        if not ours:
            self.unmatched += 1
            return
        alone = reference.get(ALONE)
        others = [second] if alone is None or not alone.ok else [second, alone]
        floor = tuple(first_divergence(first, other) for other in others[: len(ours)])
        self.compared.append(_Compared(floor, ours[: len(floor)]))

    def band(self, lm_head: str | None) -> Band:
        """The near-tie band of this run at this level (DESIGN, oracle 3)."""
        return calibrate(self.benign, lm_head)

    def noise_floor(self, lm_head: str | None) -> NoiseFloor:
        """The divergence counts, triaged by the band; p-values are the verdict's business."""
        band = self.band(lm_head)
        counts = {"near-tie": 0, "grey": 0, "material": 0, "untriaged": 0}
        for pair in self.compared:
            if pair.candidate[0] is not None:
                counts[triage(pair.candidate[0], band)] += 1
        found = [(_material(pair.candidate, band), _material(pair.floor, band)) for pair in self.compared]
        return NoiseFloor(
            n=len(self.compared),
            reference=sum(pair.floor[0] is not None for pair in self.compared),
            candidate=sum(pair.candidate[0] is not None for pair in self.compared),
            reference_material=sum(floor for _, floor in found),
            candidate_material=sum(ours for ours, _ in found),
            b=found.count((True, False)),
            c=found.count((False, True)),
            grey=counts["grey"],
            near_tie=counts["near-tie"],
            untriaged=counts["untriaged"],
            unmatched=self.unmatched,
            benign_flips=band.flips,
            band_tie=band.tie,
            band_material=band.material,
            band_source=band.source,
        )


def _material(comparisons: tuple[Divergence | None, ...], band: Band) -> bool:
    return any(divergence is not None and triage(divergence, band) == "material" for divergence in comparisons)
