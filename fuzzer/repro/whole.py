"""How often a whole cohort fails, and whose answers do: what every reduction of it is measured by.

A cohort whose requests do not fail again by the recorded timing may have lacked pressure: it is replayed with what the
prefix cache holds, and then with one neighbour in the place of all that fills the engine's memory.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fuzzer.finding import Finding
from fuzzer.repro.acceptance import Baseline, Budget, shares_of
from fuzzer.repro.cohort import Cohort
from fuzzer.repro.play import Player, Trial
from fuzzer.repro.reductions import fillable

ENOUGH = 5  # failing replays of the whole cohort that its rate is taken from
LEAST, MOST = 6, 120  # replays of it
CROWDED = 0.6  # of the places that an even spread would reach: fewer are a crowd
FILLED = "one neighbour that fills the engine's memory, and one victim"

Fill = Callable[[int], Awaitable[Cohort | None]]


@dataclass(slots=True)
class Whole:
    """One cohort at one endpoint; ``fill`` makes what is replayed where it never fails, for the request at a place."""

    player: Player
    cohort: Cohort
    known: Finding
    budget: Budget
    tell: Callable[[str], None]
    fill: Fill

    async def count(self) -> tuple[Trial, Baseline]:
        """The last replays, and what they say of the cohort: with no failure where all that was tried did not fail."""
        trial, spared = await self._counted(self.cohort), 0
        if self._goes_on(trial) and self.cohort.fresh_cache:
            spared += len(trial.played)
            self.tell(f"not one of {spared} replays with a fresh prefix cache fails; with what it holds:")
            trial = await self._counted(self.cohort.model_copy(update={"fresh_cache": False}))
        if trial.failures:
            return trial, _chosen(trial)
        spared += len(trial.played)
        for place in fillable(self.cohort):
            if self._goes_on(trial) and (filled := await self.fill(place)) is not None:
                self.tell(f"not one of {spared} replays fails; with {FILLED}:")
                trial = await self._counted(filled)
                if trial.failures:
                    return trial, replace(_chosen(trial), spared=spared, harmed=place)
        return trial, Baseline(0, spared, self.cohort.victim, self.cohort.judged, ())

    def _goes_on(self, trial: Trial) -> bool:
        return not trial.failures and bool(trial.played) and self._allowed(self.cohort)

    def _allowed(self, cohort: Cohort) -> bool:
        spent = self.player.spent
        return self.budget.allows(spent.replays, spent.requests, cohort.size)

    async def _counted(self, cohort: Cohort) -> Trial:
        """Replays until enough of them have failed."""
        trial = self.player.trial(cohort, self.known)
        while len(trial.played) < MOST and (trial.failures < ENOUGH or len(trial.played) < LEAST):
            if not self._allowed(cohort):
                break
            few = len(trial.played) < LEAST
            await trial.run(1 if few else self.budget.together(self.player.spent.replays, 4))
        return trial


def _chosen(trial: Trial) -> Baseline:
    """Whose answers count from here on: all, or only those that failed where these are few."""
    counts, whole = trial.struck, trial.cohort
    judged, replays = whole.judged, len(trial.played)
    places, failed = len(judged), sum(counts.values())
    if len(counts) < CROWDED * places * (1 - (1 - 1 / places) ** failed):
        judged = tuple(sorted(counts))  # an even spread would have reached more of them
    shares = shares_of([counts[place] for place in judged], replays)
    victim = max(judged, key=lambda place: (counts[place], place == whole.victim))
    return Baseline(trial.failures, replays, victim, judged, shares, whole.fresh_cache)
