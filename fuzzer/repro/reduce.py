"""Shrinking of a bundle against live endpoints: from bundle to smaller bundle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from fuzzer.history.records import Done, Exchange, Received
from fuzzer.plan import Endpoint
from fuzzer.repro.acceptance import Book, Budget, digest
from fuzzer.repro.bundle import Bundle, Tally
from fuzzer.repro.play import playing
from fuzzer.repro.shrink import Result, Shrinker
from fuzzer.repro.slices import trimmed
from fuzzer.repro.writing import bodies
from fuzzer.summary import EndpointSummary


@dataclass(frozen=True, slots=True)
class Reduced:
    """The smaller bundle; None where nothing failed: the whole did not, or what was left of it did not any more.

    ``baseline`` counts replays of the whole, ``final`` those of what was left, where it came to that.
    """

    bundle: Bundle | None
    baseline: Tally
    final: Tally | None = None

    @property
    def why(self) -> str:
        """Why there is no smaller bundle."""
        if self.final is not None:
            return (
                f"{self.baseline.k} of {self.baseline.n} replays failed at first, and of what was left in the end "
                f"{self.final.k} of {self.final.n}"
            )
        if not self.baseline.n:
            return "the budget did not allow one replay; nothing was asked"
        return f"the whole cohort did not fail: 0 of {self.baseline.n} replays"


async def reduce(
    bundle: Bundle,
    candidate: Endpoint,
    reference: Endpoint | None,
    budget: Budget,
    *,
    state: Path | None = None,
    tell: Callable[[str], None],
) -> Reduced:
    """Shrink a bundle's cohort. ``state`` keeps decisions, so that an interrupted call goes on where it was.

    Raises UnavailableError where an endpoint cannot be reached.
    """
    book = Book(state, f"{bundle.key} {digest(bundle.cohort)} at {candidate.url} {candidate.model or ''}".strip())
    async with AsyncExitStack() as stack:
        sampling = bundle.cohort.sampling
        player = await stack.enter_async_context(playing(candidate, sampling))
        control = await stack.enter_async_context(playing(reference, sampling)) if reference is not None else player
        shrinker = Shrinker(player, bundle.finding, bundle.cohort, budget, book, tell, control, bundle.key)
        result = await shrinker.run()
        asked = player.summary
    if result.cohort is None or result.shrunk is None:
        return Reduced(None, result.baseline)
    if result.shrunk.finished:
        book.close()
    if not result.shrunk.final.k:
        book.close()  # what it says does not hold any more
        return Reduced(None, result.shrunk.filled or result.baseline, result.shrunk.final)
    return Reduced(_smaller(bundle, result, asked), result.baseline)


def _smaller(bundle: Bundle, result: Result, asked: EndpointSummary) -> Bundle:
    """The bundle with the reduced cohort, and what its last failing replay brought."""
    cohort, exchanges = result.cohort, result.exchanges
    if cohort is None:
        raise ValueError("nothing was reduced")
    victim = cohort.victim
    finding = bundle.finding
    seen: Sequence[Exchange] = ()
    if result.finding is not None and len(exchanges) == cohort.size:
        finding = result.finding.model_copy(update={"key": bundle.key, "also": finding.also, "spared": finding.spared})
        victim = next(place for place, item in enumerate(exchanges) if item.key == finding.exchange)
        seen = [trimmed(item, whole=place == victim) for place, item in enumerate(exchanges)]
        seen = [*seen, *_paired(exchanges[victim], cohort.right[victim])]
    cohort = cohort.model_copy(update={"victim": victim})
    return bundle.model_copy(
        update={
            "cohort": cohort,
            "bodies": bodies(cohort, asked),
            "finding": finding,
            "seen": tuple(seen),
            "stages": (),
            "shrunk": result.shrunk,
            "notes": (*bundle.notes, "the engine's counters are in the run's own bundle"),
        }
    )


def _paired(victim: Exchange, right: Received | None) -> list[Exchange]:
    """The reference's recorded reply beside the victim's."""
    if right is None or victim.done is None:
        return []
    key = f"{victim.key}/recorded"
    sent = victim.sent.model_copy(update={"key": key, "arm": "reference", "endpoint": "reference"})
    flight = {"min_in_flight": victim.done.min_in_flight, "max_in_flight": victim.done.max_in_flight}
    return [Exchange(sent=sent, done=Done(key=key, received=right, **flight))]
