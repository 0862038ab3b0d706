"""Calibration and the noise floor: which prompts may be judged, and how much the reference differs from itself.

Passes 0 and 1 run at N (pass 1 in another order), pass 2 alone; all ask for log-probabilities and are compared only
with each other. Everything here is a pure function of recorded exchanges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fuzzer.history.records import Arm, Exchange
from fuzzer.judge.grading import grade_exchange
from fuzzer.oracles.context import Context
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
from fuzzer.summary import FamilyCalibration, NoiseFloor

CALIBRATION = "calibration"


def calibration_key(candidate: str, lm_head: str | None, concurrency: int) -> str:
    """The key under which the calibration of one candidate at one level is recorded, as if it were a cell."""
    return f"{candidate}/{lm_head or 'unstated'}/c{concurrency}/{CALIBRATION}"


def by_prompt(exchanges: Iterable[Exchange], arm: Arm) -> dict[str, dict[int, Exchange]]:
    """The arm's calibration exchanges: prompt, then pass."""
    table: dict[str, dict[int, Exchange]] = {}
    for exchange in exchanges:
        if exchange.sent.arm == arm and exchange.sent.phase == "calibration":
            table.setdefault(exchange.sent.prompt, {})[exchange.sent.pass_index] = exchange
    return table


def kept(exchanges: Sequence[Exchange], arm: Arm, context: Context) -> tuple[str, ...]:
    """The prompts that the calibrating arm got right in every pass, in the order of the pool."""
    table = by_prompt(exchanges, arm)
    return tuple(
        sorted(
            prompt
            for prompt, passes in table.items()
            if all(grade_exchange(exchange, context.grade).good for exchange in passes.values())
        )
    )


@dataclass(slots=True)
class _Compared:
    """One prompt: reference against itself, and candidate against reference."""

    floor: Divergence | None
    candidate: Divergence | None


@dataclass(slots=True)
class Calibration:
    """What calibration at one level showed, for one candidate.

    ``ready`` are the prompts that may be judged, in the order of the pool; ``cursor`` is the pool's first index that no
    closed block has tried; ``barren`` counts the last blocks that kept nothing.
    """

    key: str
    ready: list[str] = field(default_factory=list)
    cursor: int = 0
    blocks: int = 0
    barren: int = 0
    compared: list[_Compared] = field(default_factory=list)
    benign: list[Divergence] = field(default_factory=list)
    unmatched: int = 0
    families: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    tried: int = 0
    kept: int = 0
    truncated: int = 0
    wrong_at_n_only: int = 0

    def add_block(self, exchanges: Sequence[Exchange], arm: Arm, keep: Sequence[str], context: Context) -> None:
        """Count a calibration block; ``arm`` is the one that calibrates."""
        self.ready.extend(keep)
        self.blocks += 1
        self.barren = 0 if keep else self.barren + 1
        table = by_prompt(exchanges, arm)
        self._families(table, set(keep), context)
        if arm == "reference":
            kept_only = set(keep)
            self.benign.extend(benign_flips(tuple(item for item in exchanges if item.sent.prompt in kept_only)))
            others = by_prompt(exchanges, "candidate")
            for prompt in keep:
                self._compare(table[prompt], others.get(prompt, {}))

    def _families(self, table: dict[str, dict[int, Exchange]], keep: set[str], context: Context) -> None:
        for prompt_id, passes in table.items():
            prompt = context.prompts[prompt_id]
            row = self.families.setdefault((prompt.family, prompt.level), [0, 0, 0, 0, 0])
            grades = {index: grade_exchange(exchange, context.grade) for index, exchange in passes.items()}
            alone = grades.get(ALONE)
            at_n_only = alone is not None and alone.good and prompt_id not in keep
            row[0] += 1
            row[1] += prompt_id in keep
            row[2] += alone is not None and not alone.good
            row[3] += at_n_only
            row[4] += ALONE in passes and passes[ALONE].sent.recalled != ""
            self.tried += 1
            self.cursor = max(self.cursor, int(prompt_id[1:]) + 1)
            self.kept += prompt_id in keep
            self.wrong_at_n_only += at_n_only
            self.truncated += any(
                exchange.received is not None and exchange.received.finish_reason == "length"
                for exchange in passes.values()
            )

    def _compare(self, reference: dict[int, Exchange], candidate: dict[int, Exchange]) -> None:
        first, second = reference.get(0), reference.get(1)
        if first is None or second is None or not (first.ok and second.ok):
            return
        floor = first_divergence(first, second)
        for index in (0, 1):
            ours, theirs = candidate.get(index), reference[index]
            if ours is not None and ours.ok and matched(ours, theirs) is None:
                self.compared.append(_Compared(floor, first_divergence(ours, theirs)))
                return
        self.unmatched += 1

    def band(self, lm_head: str | None) -> Band:
        """The near-tie band of this run at this level (DESIGN, oracle 3)."""
        return calibrate(self.benign, lm_head)

    def noise_floor(self, lm_head: str | None) -> NoiseFloor:
        """The divergence counts, triaged by the band; p-values are the verdict's business."""
        band = self.band(lm_head)
        counts = {"near-tie": 0, "grey": 0, "material": 0, "untriaged": 0}
        floor_material = b = c = 0
        for pair in self.compared:
            ours = pair.candidate is not None and triage(pair.candidate, band) == "material"
            floor = pair.floor is not None and triage(pair.floor, band) == "material"
            floor_material += floor
            b += ours and not floor
            c += floor and not ours
            if pair.candidate is not None:
                counts[triage(pair.candidate, band)] += 1
        return NoiseFloor(
            n=len(self.compared),
            reference=sum(pair.floor is not None for pair in self.compared),
            candidate=sum(pair.candidate is not None for pair in self.compared),
            reference_material=floor_material,
            candidate_material=counts["material"],
            b=b,
            c=c,
            grey=counts["grey"],
            near_tie=counts["near-tie"],
            untriaged=counts["untriaged"],
            unmatched=self.unmatched,
            benign_flips=band.flips,
            band_tie=band.tie,
            band_material=band.material,
            band_source=band.source,
        )

    def family_rows(self) -> list[FamilyCalibration]:
        """What was kept and dropped, by family and level."""
        return [
            FamilyCalibration(
                family=family,
                level=level,
                tried=row[0],
                kept=row[1],
                wrong_alone=row[2],
                wrong_at_n_only=row[3],
                recalled=row[4],
            )
            for (family, level), row in sorted(self.families.items())
        ]
