"""What the simulated model wants to say: slots of text, compiled into decisions between token sequences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuzzer.sim.draws import stream
from fuzzer.sim.tokens import tokenize

MAX_OPTIONS = 8
DECISIONS = 4  # an answer is decided at about this many of its content tokens; the others copy what was decided
TIE_SHARE = 0.4  # share of connective slots where the wordings are about equally likely


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of the answer and other ways to say it.

    In a ``content`` slot an alternative changes the meaning (a plausible wrong answer); elsewhere it is only another
    wording of the same. The text or an alternative may be empty: to say nothing here.
    """

    text: str
    alternatives: tuple[str, ...] = ()
    content: bool = False


class Node(NamedTuple):
    """One decision: the first option is the model's own, ``gaps`` are the distances below it in nats at fp32.

    An empty option says nothing and goes on to the next node. ``base`` is the top logit; ``dither`` shifts each
    option's place on the quantisation grid of the lm_head.
    """

    options: tuple[tuple[str, ...], ...]
    content: bool
    gaps: tuple[float, ...]
    base: float
    dither: tuple[float, ...]


def text_of(slots: Iterable[Slot]) -> str:
    """The answer as a healthy engine without near-ties would give it."""
    return "".join(slot.text for slot in slots)


def compile_answer(slots: Sequence[Slot], key: bytes) -> tuple[Node, ...]:
    """Token decisions for an answer; margins are drawn from the prompt's fingerprint and the place in the answer."""
    prepared = [split for slot in slots for split in _split(slot)]
    contested = sum(1 for options, content in prepared if content and len(options) > 1)
    decisive = min(1.0, DECISIONS / contested) if contested else 0.0
    return tuple(_node(options, content, decisive, key, place) for place, (options, content) in enumerate(prepared))


def _split(slot: Slot) -> list[tuple[list[tuple[str, ...]], bool]]:
    """The tokens that all options share, and then the decision between what follows."""
    own = tuple(tokenize(slot.text))
    others = [tuple(tokenize(text)) for text in slot.alternatives]
    shared = 0
    while shared < len(own) and all(other[: shared + 1] == own[: shared + 1] for other in others):
        shared += 1
    options = [own[shared:], *(other[shared:] for other in others)]
    starts = [option[:1] for option in options]
    distinct = [option for place, option in enumerate(options) if option[:1] not in starts[:place]][:MAX_OPTIONS]
    head = [([own[:shared]], slot.content)] if shared else []
    return head + ([(distinct, slot.content)] if distinct != [()] else [])


def _node(options: list[tuple[str, ...]], content: bool, decisive: float, key: bytes, place: int) -> Node:
    if len(options) == 1:
        return Node(tuple(options), content, (0.0,), 0.0, (0.0,))
    draws = stream(key, place)
    gap = _content_gap(next(draws), next(draws), decisive) if content else _wording_gap(next(draws), next(draws))
    gaps = [0.0]
    for _ in options[1:]:
        gaps.append(gap)
        gap += 0.3 + 1.5 * next(draws)
    base = 15.0 + 8.0 * next(draws)
    return Node(tuple(options), content, tuple(gaps), base, tuple(next(draws) for _ in options))


def _content_gap(which: float, size: float, decisive: float) -> float:
    return 3.0 + 0.6 * size if which < decisive else 9.0 + 4.0 * size


def _wording_gap(which: float, size: float) -> float:
    return 0.9 * size**1.5 if which < TIE_SHARE else 2.0 + 4.0 * size
