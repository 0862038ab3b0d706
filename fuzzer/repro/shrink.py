"""Shrinking: the smallest and simplest cohort that still fails in the same way, by replays against a live endpoint.

The cohort is reduced as delta debugging does (Zeller and Hildebrandt 2002): halves first, then smaller parts. Every
reduction is decided by the rule of `acceptance`; where the bug shows in every replay, Hypothesis simplifies the prompt.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from fuzzer.finding import Finding
from fuzzer.history.records import Exchange, Prompt
from fuzzer.history.schedule import Release
from fuzzer.repro import reductions
from fuzzer.repro.acceptance import RULE, Baseline, Book, Budget, BudgetError, Decided, decide, digest, test_of
from fuzzer.repro.bundle import Shrunk, Tally
from fuzzer.repro.cohort import Cohort, as_victim
from fuzzer.repro.content import simplest
from fuzzer.repro.play import Player, Trial
from fuzzer.repro.sentence import sentence
from fuzzer.repro.whole import FILLED, MOST, Whole

UNIT = "replays"
FINAL_SHARE = 0.15  # of a budget that is kept for the last count
FINAL_LEAST, FINAL_ENOUGH = 20, 8  # replays of the last count, and failing ones that end it
STEADY = 0.95  # the share of replays from which a bug counts as certain to show
WASH = 64  # unrelated requests that make a server forget
WARM_UP = 3  # replays of a reduction that are looked at one by one
ALWAYS = 5  # replays that must all fail for Hypothesis to take over
CONTROL_TRIES = 3  # requests alone that show that a new prompt can be answered

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it; ``cohort`` is None where the whole cohort did not fail once in ``baseline.n`` replays."""

    cohort: Cohort | None
    baseline: Tally
    shrunk: Shrunk | None
    finding: Finding | None = None
    exchanges: tuple[Exchange, ...] = ()


@dataclass(slots=True)
class Shrinker:
    """One shrinking. ``control`` answers new prompts alone: a reference, or where there is none the endpoint itself."""

    player: Player
    known: Finding
    cohort: Cohort
    budget: Budget
    book: Book
    tell: Tell
    control: Player
    seed: str
    steps: list[str] = field(default_factory=list)
    steady: bool = False
    any_content: bool = False
    window_ms: float | None = None
    trail: list[tuple[Cohort, bool]] = field(default_factory=list)
    banned: set[str] = field(default_factory=set)
    washes: int = 0
    trusted: str = ""
    _found: Finding | None = None
    _exchanges: tuple[Exchange, ...] = ()

    async def run(self) -> Result:
        """Reduce as far as the budget goes; then count how often what is left fails."""
        self.player.spent.replays += self.book.replays
        self.player.spent.requests += self.book.requests
        self.budget.begin()
        was = self.cohort.size
        known = await self._baseline()
        counted = Tally.of(known.k, known.n, UNIT)
        baseline = Tally.of(0, known.spared, UNIT) if known.spared else counted
        if not known.k:
            return Result(None, baseline, None)
        finished, final = await self._reduced()
        shrunk = Shrunk(
            was=was,
            replays=self.player.spent.replays,
            requests=self.player.spent.requests,
            baseline=baseline,
            filled=counted if known.spared else None,
            final=final,
            steps=tuple(self.steps),
            rule=RULE,
            sentence=sentence(self.cohort, any_content=self.any_content, window_ms=self.window_ms),
            finished=finished,
        )
        return Result(self.cohort, baseline, shrunk, self._found, self._exchanges)

    async def _reduced(self) -> tuple[bool, Tally]:
        """Reduce until nothing more goes and what is left holds, or the budget ends; then count."""
        finished = True
        try:
            while True:
                await self._reduce()
                if not await self._settle():
                    break
        except BudgetError:
            finished = False
            self.tell("the budget is used up; how often does what is left fail?")
        final = await self._final()
        while not final.k and self._back():
            final = await self._final()
        return finished, final

    def _back(self) -> bool:
        """Take back the last reduction, for good; whether there was one."""
        if not self.trail:
            return False
        self.banned.add(digest(self.cohort))
        self.cohort, self.any_content = self.trail.pop()
        self.window_ms = None
        self.tell(f"{self.steps.pop()}: taken back, it does not fail any more")
        return True

    async def _settle(self) -> bool:
        """Make sure of what was taken over, and take back what does not hold; whether anything was taken back.

        What earlier replays left at the server may have helped it to fail, so that is washed out first.
        """
        moved = False
        while self.trail and self.trusted != digest(self.cohort):
            await self._wash()
            decided = await self._decided(self.cohort, again=True)
            if decided.kept:
                self.trusted = digest(self.cohort)
                break
            moved = self._back() or moved
        return moved

    async def _wash(self) -> None:
        self.washes += 1
        prompts = [reductions.simple(f"{self.seed}/{self.washes}", f"w{number}") for number in range(WASH)]
        await self.player.wash(prompts, self.cohort.sampling, self.washes)

    # --- how often the whole fails

    async def _baseline(self) -> Baseline:
        """How often the whole fails, from replays or from the book; what is reduced from here on."""
        known, filled = self.book.baseline, None
        if known is None:
            whole = Whole(self.player, self.cohort, self.known, self.budget, self.tell, self._filled)
            trial, known = await whole.count()
            self._look(trial)
            filled = trial.cohort if known.spared else None
            if known.k:
                self.book.begin(known, self.player.spent.replays, self.player.spent.requests)
                what = FILLED if known.spared else f"the whole cohort of {self.cohort.size}"
                self.tell(f"{what}: {known.k} of {known.n} replays fail")
        elif known.spared:
            filled = await self._filled(known.harmed)
        if filled is not None:
            self.cohort = filled
            self.steps.append(f"{FILLED}: {known.k} of {known.n} replays fail, of the whole not one of {known.spared}")
        self.cohort = self.cohort.model_copy(
            update={
                "judged": known.judged,
                "shares": known.shares,
                "victim": known.victim,
                "fresh_cache": known.fresh_cache,
            }
        )
        self.steady = known.k >= STEADY * known.n
        return known

    async def _filled(self, victim: int) -> Cohort | None:
        """The cohort with one neighbour that fills the engine's memory; its length in tokens is asked for first."""
        traits = self.player.end.line.traits
        made = reductions.filling(self.cohort, victim, traits.kv_tokens, traits.context)
        if made is None:
            return None
        neighbour = made.sends[1 - made.victim]
        (played,) = await self.control.trial(_alone(made, 1 - made.victim), self.known).run(1)
        got = played.exchanges[0].received
        tokens = got.usage.prompt_tokens if got is not None and got.usage is not None else None
        told = (neighbour.overrides.pad, tokens) if tokens else None
        return reductions.filling(self.cohort, victim, traits.kv_tokens, traits.context, told)

    async def _final(self) -> Tally:
        """Fresh replays of what is left, which nothing was decided by."""
        await self._wash()
        trial = self.player.trial(self.cohort, self.known)
        test = test_of(self.cohort.shares)
        most = max(FINAL_LEAST, min(MOST, math.ceil(3 * FINAL_ENOUGH / test.p1)))
        while len(trial.played) < most and (len(trial.played) < FINAL_LEAST or trial.failures < FINAL_ENOUGH):
            if len(trial.played) >= FINAL_LEAST and not self._allowed(self.cohort.size, reserve=False):
                break
            await trial.run(self._together(4))
        self._look(trial)
        self.tell(f"what is left fails in {trial.failures} of {len(trial.played)} fresh replays")
        return Tally.of(trial.failures, len(trial.played), UNIT)

    def _look(self, trial: Trial) -> None:
        """Keep an example of the last cohort that failed, its victim's where there is one."""
        for played in trial.played:
            for finding in played.findings:
                keys = [exchange.key for exchange in played.exchanges]
                if finding.exchange in keys and finding.kind == self.known.kind:
                    self._found, self._exchanges = finding, played.exchanges
                    if keys.index(finding.exchange or "") == trial.cohort.victim:
                        return

    # --- deciding

    def _allowed(self, size: int, *, reserve: bool = True) -> bool:
        spent = self.player.spent
        kept = FINAL_SHARE if reserve else 0.0
        return self.budget.allows(spent.replays, spent.requests, size, reserve=kept)

    def _together(self, most: int) -> int:
        return self.budget.together(self.player.spent.replays, most)

    async def _keeps(self, wanted: Cohort | None, words: str, *, control: bool = False) -> bool:
        """Try a reduction, and take it over if it still fails often enough."""
        candidate = wanted
        if candidate is None or candidate == self.cohort or digest(candidate) in self.banned:
            return False
        if control and (candidate := await self._controlled(candidate)) is None:
            return False
        decided = await self._decided(candidate)
        said = f"{words}: {decided.k} of {decided.n} replays fail, {'kept' if decided.kept else 'not kept'}"
        self.tell(said)
        if decided.kept:
            self.trail.append((self.cohort, self.any_content))
            self.cohort = candidate.model_copy(update={"victim": decided.victim})
            self.steps.append(said)
        return decided.kept

    async def _decided(self, candidate: Cohort, *, again: bool = False) -> Decided:
        """What fresh replays say of a candidate; ``again`` asks once more, whatever is known."""
        what = f"again/{digest(candidate)}" if again else digest(candidate)
        if (known := self.book.known(what)) is not None:
            return known
        trial = self.player.trial(candidate, self.known)
        state = "open"
        while state == "open":
            if not self._allowed(candidate.size):
                raise BudgetError
            await trial.run(1 if len(trial.played) < WARM_UP else self._together(2))
            state = decide(trial.failures, len(trial.played), candidate.shares)
        struck = max(candidate.judged, key=lambda place: (trial.struck[place], place == candidate.victim))
        decided = Decided(state == "fail", trial.failures, len(trial.played), struck)
        self.book.add(what, decided, self.player.spent.replays, self.player.spent.requests)
        return decided

    async def _controlled(self, candidate: Cohort) -> Cohort | None:
        """The candidate with the right reply to the victim's new request; None if that is not answered right alone.

        One right answer of three is enough: where there is no reference, the bug itself may strike the control.
        """
        trial = self.control.trial(_alone(candidate, candidate.victim), self.known)
        for _ in range(CONTROL_TRIES):
            (played,) = await trial.run(1)
            (exchange,) = played.exchanges
            if exchange.ok and not played.failed and not any(kind.startswith("wrong-") for kind in played.others):
                right = list(candidate.right)
                right[candidate.victim] = exchange.received
                return candidate.model_copy(update={"right": tuple(right)})
        return None

    # --- what is tried, in this order

    async def _reduce(self) -> None:
        for candidate in reductions.earlier_releases(self.cohort):
            if await self._keeps(candidate, "fewer releases before the victim's"):
                break
        await self._keeps(reductions.simultaneous(self.cohort), "all of a release at one moment")
        await self._keeps(reductions.with_donor(self.cohort, self.known), "the victim and the donor alone")
        for place in reductions.fillable(self.cohort):
            if await self._keeps(await self._filled(place), FILLED):
                break
        else:
            await self._keeps(reductions.as_one(self.cohort), "one neighbour as long as all long ones together")
        await self._fewer(reductions.groups, "slots")
        await self._settle()
        await self._fewer(reductions.singles, "requests")
        await self._settle()
        if not await self._keeps(reductions.serial(self.cohort), "one request at a time"):
            await self._keeps(reductions.simultaneous(self.cohort), "all of a release at one moment")
        for candidate in reductions.neutral(self.cohort):
            await self._keeps(candidate, "plain requests, none broken off")
        for candidate in reductions.any_content(self.cohort, self.seed):
            if await self._keeps(candidate, "neighbours with other content"):
                self.any_content = True
                break
        await self._content()
        await self._keeps(reductions.fewer_tokens(self.cohort), "fewer output tokens", control=True)
        await self._fewer(reductions.singles, "requests")  # again: the test is wrong now and then
        await self._window()

    async def _fewer(self, items: Callable[[Cohort], list[tuple[int, ...]]], what: str) -> None:
        """Delta debugging: drop halves, then quarters ... as long as something goes."""
        count = 2  # dropping all at once is dear where it is wrong, and soon reached where it is right
        while members := items(self.cohort):
            count = min(count, len(members))
            for part in reductions.parts(members, count):
                rest = set(range(self.cohort.size)) - part
                if await self._keeps(self.cohort.only(rest), f"without {len(part)} of the {what}"):
                    count = max(2, count - 1)
                    break
            else:
                if count >= len(members):
                    return
                count = min(len(members), 2 * count)

    async def _content(self) -> None:
        """A simpler question of the victim's: by Hypothesis where the bug always shows, else the simplest kinds."""
        if await self._always() and (prompt := await simplest(self._simplified, self.seed)) is not None:
            await self._keeps(self._with_victim(prompt), "the simplest question, by Hypothesis", control=True)
            return
        for candidate in reductions.simpler_victim(self.cohort, self.seed):
            if await self._keeps(candidate, "a simpler question", control=True):
                return

    async def _always(self) -> bool:
        """Whether what is left shows the bug in every replay, as the whole did."""
        if not self.steady or not self._allowed(ALWAYS * self.cohort.size):
            return False
        trial = self.player.trial(self.cohort, self.known)
        return all(played.failed for played in await trial.run(ALWAYS))

    def _with_victim(self, prompt: Prompt) -> Cohort | None:
        own = self.cohort.sends[self.cohort.victim].prompt
        return reductions.swapped(self.cohort, {own: prompt})

    async def _simplified(self, prompt: Prompt) -> bool:
        """Whether the cohort fails twice in two replays with this question of the victim's."""
        candidate = self._with_victim(prompt)
        if candidate is None or not self._allowed(2 * candidate.size):
            return False
        if (candidate := await self._controlled(candidate)) is None:
            return False
        trial = self.player.trial(candidate, self.known)
        await trial.run(2)
        return trial.failures == len(trial.played)

    async def _window(self) -> None:
        """How far apart the requests of the victim's release may be sent."""
        for window in reductions.WINDOWS_MS:
            candidate = reductions.spread(self.cohort, window)
            if candidate is None:
                return
            decided = await self._decided(candidate)
            self.tell(f"the victim {window:g} ms after the others: {decided.k} of {decided.n} replays fail")
            if not decided.kept:
                return
            self.window_ms = window


def _alone(cohort: Cohort, place: int) -> Cohort:
    """One request of it, with nobody beside it and nothing to compare it with."""
    send = as_victim(cohort.sends[place]).model_copy(update={"at_ms": 0.0})
    return cohort.model_copy(
        update={
            "releases": (Release(width=1, chains=((send,),)),),
            "prompts": (cohort.asked[send.prompt],),
            "victim": 0,
            "judged": (0,),
            "shares": (),
            "right": (None,),
        }
    )
