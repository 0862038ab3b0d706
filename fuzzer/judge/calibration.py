"""Calibration and the noise floor: which prompts may be judged, and how much the reference differs from itself.

Passes 0 and 1 run at N (pass 1 in another order), pass 2 alone; all ask for log-probabilities and are compared only
with each other. Everything here is a pure function of recorded exchanges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from fuzzer.history.records import Arm, Exchange
from fuzzer.history.scores import Scored
from fuzzer.judge.floor import Floor
from fuzzer.judge.grading import grade_exchange
from fuzzer.judge.partings import Passes
from fuzzer.oracles.context import Context
from fuzzer.oracles.divergence import ALONE
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


def both_sides(exchanges: Sequence[Exchange], prompts: Iterable[str]) -> dict[str, tuple[Passes, Passes]]:
    """The reference's and the candidate's passes of these prompts."""
    theirs, ours = by_prompt(exchanges, "reference"), by_prompt(exchanges, "candidate")
    return {prompt: (theirs.get(prompt, {}), ours.get(prompt, {})) for prompt in prompts}


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
class Calibration:
    """What calibration at one level showed, for one candidate.

    ``ready`` are the prompts that may be judged, in the order of the pool; ``cursor`` is the pool's first index that no
    closed block has tried; ``barren`` counts the last blocks that kept nothing; ``failed`` prompts got no usable reply.
    """

    key: str
    ready: list[str] = field(default_factory=list)
    cursor: int = 0
    blocks: int = 0
    barren: int = 0
    floor: Floor = field(default_factory=Floor)
    families: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    tried: int = 0
    kept: int = 0
    truncated: int = 0
    wrong_at_n_only: int = 0
    failed: int = 0

    def add_block(
        self,
        exchanges: Sequence[Exchange],
        arm: Arm,
        keep: Sequence[str],
        context: Context,
        scored: Sequence[Scored] = (),
    ) -> None:
        """Count a calibration block; ``arm`` is the one that calibrates, ``scored`` what the reference said of it."""
        self.ready.extend(keep)
        self.blocks += 1
        self.barren = 0 if keep else self.barren + 1
        table = by_prompt(exchanges, arm)
        self._families(table, set(keep), context)
        if arm == "reference":
            self.floor.add_block(both_sides(exchanges, keep).values(), scored)

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
            self.failed += any(grade.value == "error" for grade in grades.values())
            self.truncated += any(
                exchange.received is not None and exchange.received.finish_reason == "length"
                for exchange in passes.values()
            )

    def noise_floor(self, lm_head: str | None) -> NoiseFloor:
        """The divergence counts of this level (see `Floor.noise_floor`)."""
        return self.floor.noise_floor(lm_head)

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
