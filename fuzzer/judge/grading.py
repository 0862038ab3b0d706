"""From two answers to one outcome: the grades of DESIGN, decided for a pair as a whole.

An answer is *unjudged* only where both sides could not be judged; a candidate alone that runs away, says nothing or
refuses is wrong, and a candidate alone that fails in service is a failure of its own kind. A prompt without a known
answer (a row of a traffic log) is never judged: it serves divergence, bleed and corruption. What a rate limit refuses
(HTTP 429) is no failure of the engine's: it is in no rate, and its cell is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from fuzzer.history.records import Exchange
from fuzzer.prompts.grade import Grade

ASKED_OTHERWISE = "asked-otherwise"  # why an answer is not judged whose like the reference did not get right
LIMITED = "rate-limited"  # why an answer is not judged that the server would not give by number (HTTP 429)
NO_KEY = "no-answer-key"  # why an answer to an uncheckable prompt is not judged

State = Literal["right", "verbose", "wrong", "unjudged", "error", "lost"]


@dataclass(frozen=True, slots=True)
class Graded:
    """What became of one exchange, seen alone.

    ``none`` means that nothing could be extracted from the reply, ``unchecked`` that something was said to a prompt
    whose answer nobody knows, ``limited`` that a rate limit refused it.
    """

    value: Literal["right", "verbose", "wrong", "none", "unchecked", "error", "lost", "limited"]
    sub_kind: str = ""

    @property
    def good(self) -> bool:
        """Fit to be measured: right, however verbose, or said where no right answer is known."""
        return self.value in ("right", "verbose", "unchecked")

    @property
    def judgeable(self) -> bool:
        """Whether this side, alone, says right or wrong."""
        return self.value in ("right", "verbose", "wrong")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One side of a pair after both were seen; ``failed`` counts in the failure rate, ``judged`` in its denominator."""

    state: State
    sub_kind: str = ""
    failed: bool = False

    @property
    def judged(self) -> bool:
        """Whether it is in the denominator."""
        return self.state not in ("unjudged", "lost") and not (self.state == "error" and not self.failed)


def grade_exchange(exchange: Exchange, grade: Callable[[Exchange], Grade | None]) -> Graded:
    """The exchange seen alone; ``grade`` is the family's check, None where there is no usable reply."""
    if exchange.done is None:
        return Graded("lost")
    if exchange.done.received.rate_limited:
        return Graded("limited", LIMITED)
    if not exchange.ok:
        return Graded("error", exchange.done.received.outcome)
    result = grade(exchange)
    if result is None:
        return Graded("none", "no-answer")
    return Graded(result.value, result.sub_kind)


def outcomes(
    side: Graded, other: Graded | None, *, checkable: bool = True, plain: bool = True
) -> tuple[Outcome, Outcome | None]:
    """The outcomes of the candidate's ``side`` and of the reference's ``other``, if there is one.

    What was not asked as plainly as calibration asks is judged only where the reference got it right in the same way.
    """
    ours = outcome(side, other, checkable=checkable)
    theirs = outcome(other, side, checkable=checkable) if other is not None else None
    if plain or (other is not None and other.value in ("right", "verbose")):
        return ours, theirs
    unjudged = Outcome("unjudged", ASKED_OTHERWISE)
    return (
        ours if ours.state in ("error", "lost") or ours.sub_kind == LIMITED else unjudged,
        theirs if theirs is None or theirs.state in ("error", "lost") or theirs.sub_kind == LIMITED else unjudged,
    )


def outcome(side: Graded, other: Graded | None, *, checkable: bool = True) -> Outcome:
    """The outcome of ``side``, paired with ``other`` (None: no pair; a calibrated prompt counts as answerable).

    Where the prompt is not ``checkable`` nothing enters the failure rate; service failures are compared by themselves.
    """
    if side.value == "lost":
        return Outcome("lost")
    if side.value == "limited":
        return Outcome("unjudged", LIMITED)
    if side.value == "error":
        shared = other is not None and other.value == "error"
        return Outcome("error", side.sub_kind, failed=checkable and not shared)
    if not checkable or side.value == "unchecked":
        return Outcome("unjudged", NO_KEY)
    if side.value == "none":
        if other is not None and other.value in ("none", "error", "limited"):
            return Outcome("unjudged", side.sub_kind)
        return Outcome("wrong", side.sub_kind, failed=True)
    if side.value == "wrong":
        return Outcome("wrong", side.sub_kind or "wrong-value", failed=True)
    return Outcome(side.value)
