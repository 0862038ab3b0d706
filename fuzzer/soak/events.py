"""What a soak tells of itself between and beside its legs; what happens inside a leg is told as of any run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fuzzer.night import Boot, Leg, Night, Outage
from fuzzer.soak.ledger import Began, SoakManifest


@dataclass(frozen=True, slots=True)
class SoakStarted:
    """A process takes the soak up; ``resumed`` if it is not the first. ``legs`` had ended before it."""

    soak: SoakManifest
    directory: str
    resumed: bool
    legs: tuple[Leg, ...] = ()


@dataclass(frozen=True, slots=True)
class LegBegan:
    """A leg begins, or is taken up again; ``left`` seconds are left of the soak (None: it ends by its answers)."""

    began: Began
    left: float | None


@dataclass(frozen=True, slots=True)
class LegOver:
    """A leg has ended; ``night`` is how the night stands now, and is written."""

    leg: Leg
    night: Night


@dataclass(frozen=True, slots=True)
class BootSeen:
    """The candidate's process is another one than before, or the first."""

    boot: Boot


@dataclass(frozen=True, slots=True)
class OutageSeen:
    """An end cannot be measured, or (``over``) can be again."""

    outage: Outage
    over: bool


@dataclass(frozen=True, slots=True)
class BulkDropped:
    """The disk limit was reached: the bulk of this leg is gone."""

    leg: Leg


@dataclass(frozen=True, slots=True)
class NightJudged:
    """The soak is over, or was broken off."""

    night: Night
    directory: str


SoakEvent = SoakStarted | LegBegan | LegOver | BootSeen | OutageSeen | BulkDropped | NightJudged
Tell = Callable[[SoakEvent], None]
