"""The calibration phase: finds prompts that may be judged, at the level where they will be.

Both arms get the same passes in the same order, so that exposure stays equal. What is decided here follows from closed
blocks and from replies that the history holds, so that a resumed run takes the same way again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fuzzer.decisions import confounded
from fuzzer.history.records import AnyRecord, Arm, Block, Exchange, Prompt, Sent
from fuzzer.history.schedule import CacheTag
from fuzzer.judge import Judge
from fuzzer.judge.ability import Ability
from fuzzer.judge.calibration import Calibration, calibration_key
from fuzzer.judge.grading import grade_exchange
from fuzzer.oracles.divergence import ALONE
from fuzzer.plan import Endpoint, Plan
from fuzzer.prompts.pool import PromptPool
from fuzzer.recall import Recall
from fuzzer.traffic.driver import Driver, Line, StageSpec
from fuzzer.traffic.loops import closed_loop
from fuzzer.traffic.scoring import score

CHUNK = 16  # prompts tried alone before the choice of the next ones is thought over
BARREN = 4  # calibration blocks in a row that keep nothing end the search
SKIP_LIMIT = 500  # so many prompts of hopeless kinds in a row: nothing else is left in the mix
SURVIVAL = 0.95  # of the prompts that are right alone, about so many are right at N too


class Exhausted(Exception):  # noqa: N818 - it is a way out of a loop, not an error of the run
    """No more prompts can be calibrated: the corpus is used up, or the model answers too few of them."""


@dataclass(slots=True)
class Calibrator:
    """Calibrates for one candidate. ``lines`` holds an endpoint an arm; without a reference there is one arm.

    ``recall`` remembers what the calibrating arm said alone, None where it tells too little of itself for that.
    """

    plan: Plan
    candidate: Endpoint
    lines: dict[Arm, Line]
    driver: Driver
    judge: Judge
    pool: PromptPool
    record: Callable[[AnyRecord], None]
    recall: Recall | None = None

    async def ready(self, concurrency: int, upto: int, least: int | None = None) -> list[str]:
        """At least ``upto`` prompts that may be judged at this level, in the order of the pool.

        Where there are no more, at least ``least`` will do (None: no fewer). Without a reference everything is
        calibrated alone. Raises Exhausted.
        """
        level = concurrency if self.plan.references else 1
        calibration = self.judge.calibration(calibration_key(self.candidate.name, self.candidate.lm_head, level))
        while len(calibration.ready) < upto:
            block = calibration.blocks
            able, recalled = await self._alone(calibration, math.ceil((upto - len(calibration.ready)) / SURVIVAL))
            if not able and not self.judge.opened(calibration.key, block):
                return self._rest(calibration, least)
            await self._passes(calibration, level, able, recalled)
            keep = self.judge.keep(calibration.key, block)
            await self._score(calibration, keep)
            self.record(Block(cell=calibration.key, block=block, judged_prompts=keep))
            if calibration.barren >= BARREN:
                return self._rest(calibration, least)
        return calibration.ready

    async def _alone(self, calibration: Calibration, target: int) -> tuple[list[str], set[str]]:
        """Try prompts one at a time, in chunks, until ``target`` are right; forms that are left out are passed over.

        Returns the right ones, and those among them that were not asked for again.
        """
        arm: Arm = "reference" if "reference" in self.lines else "candidate"
        ability = self.judge.ability.copy()
        cursor = calibration.cursor
        able: list[str] = []
        recalled: set[str] = set()
        part = 0
        while len(able) < target and part <= 4 * math.ceil(target / CHUNK):
            batch, cursor = self._choose(cursor, ability, min(target - len(able), CHUNK))
            if not batch:
                break
            exchanges = await self._pass(calibration, arm, ALONE, 1, batch, part=part)
            good = self._good(exchanges)
            for exchange in exchanges:
                prompt = self.judge.prompts[exchange.sent.prompt]
                ability.add(prompt, right=prompt.id in good)
                if exchange.sent.recalled:
                    recalled.add(prompt.id)
            if self.recall is not None:
                self.recall.learn((self.judge.prompts[exchange.sent.prompt], exchange) for exchange in exchanges)
            able.extend(prompt for prompt in batch if prompt in good)
            part += 1
        return able, recalled

    def _choose(self, cursor: int, ability: Ability, count: int) -> tuple[list[str], int]:
        """The next prompts of the pool of kinds that the model can do, and where to look on."""
        batch: list[str] = []
        skipped = 0
        while len(batch) < count and skipped < SKIP_LIMIT and not self._used_up(cursor):
            prompt = self.pool.prompt(cursor)
            cursor += 1
            if ability.unwanted(prompt):
                skipped += 1
            else:
                batch.append(prompt.id)
                skipped = 0
        return batch, cursor

    def _used_up(self, cursor: int) -> bool:
        return self.pool.size is not None and cursor >= self.pool.size

    def _rest(self, calibration: Calibration, least: int | None) -> list[str]:
        """What there is, if that is enough to go on with."""
        if least is not None and len(calibration.ready) >= least:
            return calibration.ready
        raise Exhausted(self._why_no_prompts(calibration))

    def _why_no_prompts(self, calibration: Calibration) -> str:
        if 2 * calibration.failed > calibration.tried:
            arm = "reference" if "reference" in self.lines else "candidate"
            return (
                f"{calibration.failed} of {calibration.tried} calibration prompts got no usable reply: is the {arm} "
                "still up? The service findings say what came instead"
            )
        if self._used_up(calibration.cursor):
            return (
                f"the corpus is used up: {len(calibration.ready)} of its {self.pool.size} prompts can be judged here; "
                "take a larger one, add --family, or ask for fewer answers with --requests"
            )
        return "the model can do too few of these prompts: try easier families (specfuzz families)"

    async def _passes(self, calibration: Calibration, level: int, able: Sequence[str], recalled: set[str]) -> None:
        """The other arm alone, then both twice at N, in different orders; without a reference once more alone.

        What the reference was not asked again, the candidate is not asked either: exposure stays equal. In every other
        block the second pass finds nothing in the prefix cache, where the engines can be told so: a noise floor of
        nothing but cache hits would hide what batching does to prefill.
        """
        if "reference" not in self.lines:
            await self._pass(calibration, "candidate", 0, 1, able)
            return
        shuffled = list(able)
        random.Random(f"{self.plan.seed}/{calibration.key}/{calibration.blocks}").shuffle(shuffled)
        await self._pass(calibration, "candidate", ALONE, 1, [prompt for prompt in able if prompt not in recalled])
        await self._pass(calibration, "candidate", 0, level, able)
        await self._pass(calibration, "reference", 0, level, able)
        salts = all(line.traits.salts for line in self.lines.values())
        tag: CacheTag | None = "cold" if salts and calibration.blocks % 2 else None
        await self._pass(calibration, "reference", 1, level, shuffled, tag=tag)
        await self._pass(calibration, "candidate", 1, level, shuffled, tag=tag)

    async def _score(self, calibration: Calibration, keep: Sequence[str]) -> None:
        """Ask the reference what it thinks of outputs that part, where that tells anything and can be asked."""
        if "reference" not in self.lines or calibration.floor.unscorable or confounded(self.plan, self.candidate):
            return
        asked = self.judge.to_score(calibration.key, calibration.blocks, keep)
        await score([(one.exchange, one.start) for one in asked], self.lines["reference"], self.driver.means)

    def _good(self, exchanges: Sequence[Exchange]) -> set[str]:
        context = self.judge.context(tuple(exchanges))
        return {exchange.sent.prompt for exchange in exchanges if grade_exchange(exchange, context.grade).good}

    async def _pass(
        self,
        calibration: Calibration,
        arm: Arm,
        pass_index: int,
        concurrency: int,
        prompts: Sequence[str],
        part: int = 0,
        tag: CacheTag | None = None,
    ) -> list[Exchange]:
        if not prompts:
            return []
        spec = StageSpec(
            cell=calibration.key,
            arm=arm,
            phase="calibration",
            block=calibration.blocks,
            pass_index=pass_index,
            part=part,
            concurrency=concurrency,
            releases=(closed_loop(concurrency, prompts, tag),),
            logprobs=True,
        )
        if pass_index == ALONE and (arm == "reference" or "reference" not in self.lines):
            self._remember(spec, prompts)
        return await self.driver.drive(spec, self.lines[arm])

    def _remember(self, spec: StageSpec, prompts: Sequence[str]) -> None:
        """Take what is remembered of this stage for its exchanges, before it is driven."""
        if self.recall is None:
            return

        def placed(index: int, prompt: Prompt, old: Sent) -> Sent:
            key = f"{spec.key}/{index}"
            place = {"cell": spec.cell, "arm": spec.arm, "block": spec.block, "pass_index": spec.pass_index}
            names = {"key": key, "index": index, "prompt": prompt.id, "endpoint": self.lines[spec.arm].name}
            return old.model_copy(update={**place, **names, "exposure": 0, "recalled": old.key})

        self.driver.remember(self.recall.recalled([self.pool.find(prompt) for prompt in prompts], placed))
