"""Whose question does an answer answer? The neighbours' answers, compared with it by edit distance.

Where no right answer is known, what the reference said stands in its place.

Only exchanges in flight with the victim or finished shortly before are compared, so that the work is bounded; the gaps
asked for are wide, since answers of one family look alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fuzzer.history.records import Exchange, Prompt, Received
from fuzzer.oracles.content import MIN_LENGTH
from fuzzer.oracles.context import Context

_RECENT = 64  # finished exchanges looked at, besides those in flight
_COMPARED = 2000  # characters of a text that are compared
_FITS, _BETTER, _APART = 80.0, 30.0, 10.0  # of 100: likeness to the donor, above the own, above the next best donor


class Likeness(NamedTuple):
    """A prompt whose answer a reply is like, and how like (0 to 100) the donor's and the victim's own answer."""

    prompt: str
    donor: float
    own: float


def likeness(exchange: Exchange, prompt: Prompt, context: Context) -> Likeness | None:
    """The one neighbour whose answer the reply fits far better than its own and than any other's, if there is one."""
    text = _clean(_said(exchange.received)) if exchange.received is not None else ""
    if len(text) < MIN_LENGTH:
        return None
    from rapidfuzz import fuzz

    def score(candidate: Prompt, reply: str | None) -> float:
        return max(float(fuzz.ratio(text, _clean(answer))) for answer in (candidate.answer, reply or ""))

    if not prompt.checkable and (context.reference_reply(prompt.id) is None):
        return None

    pair = context.pair(exchange)
    own = score(prompt, _said(pair.received) if pair is not None and pair.ok and pair.received is not None else None)
    donors = [(score(donor, context.reference_reply(donor.id)), donor.id) for donor in _near(exchange, prompt, context)]
    donors.sort(reverse=True)
    if not donors or donors[0][0] < max(_FITS, own + _BETTER):
        return None
    if len(donors) > 1 and donors[0][0] < donors[1][0] + _APART:
        return None
    return Likeness(donors[0][1], round(donors[0][0], 1), round(own, 1))


def _near(exchange: Exchange, prompt: Prompt, context: Context) -> Iterator[Prompt]:
    lives = (*context.overlap.neighbours(exchange), *context.overlap.finished_before(exchange, _RECENT))
    for donor_id in dict.fromkeys(life.prompt for life in lives):
        donor = context.prompts.get(donor_id)
        if donor is None or donor.id == prompt.id:
            continue
        known = donor.answer if donor.checkable else context.reference_reply(donor.id) or ""
        if (donor.attributable or not donor.checkable) and len(known) >= MIN_LENGTH:
            yield donor


def _said(received: Received) -> str:
    """The answer: its text, or where there is none the arguments of the functions it calls."""
    return received.text or received.tool_arguments


def _clean(text: str) -> str:
    return " ".join(text[:_COMPARED].lower().split())
