"""How often one end leaves its own output: at the same concurrency in another order, or at N against alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from fuzzer.history.records import Arm, Exchange
from fuzzer.judge.partings import Passes
from fuzzer.noise import Strays
from fuzzer.oracles.divergence import ALONE, first_divergence

CacheKind = Literal["warm", "cold", "mixed", "untold"]


class Key(NamedTuple):
    """Which end, against what, and what the prefix cache held of the two prompts."""

    arm: Arm
    against: Literal["itself", "alone"]
    cache: CacheKind


@dataclass(slots=True)
class Stray:
    """``differ`` of ``n`` prompts; ``widest`` is the largest known gap of those, in nats."""

    n: int = 0
    differ: int = 0
    widest: float | None = None

    def summary(self, key: Key) -> Strays:
        """For ``summary.json``."""
        return Strays(
            arm=key.arm, against=key.against, cache=key.cache, n=self.n, differ=self.differ, widest=self.widest
        )


Strayed = dict[Key, Stray]


def strays(into: Strayed, reference: Passes, candidate: Passes) -> None:
    """Count one prompt: its first pass at N against the second, and against the one alone, on either side."""
    sides: tuple[tuple[Arm, Passes], ...] = (("reference", reference), ("candidate", candidate))
    for arm, passes in sides:
        first = passes.get(0)
        others: tuple[tuple[Literal["itself", "alone"], Exchange | None], ...] = (
            ("itself", passes.get(1)),
            ("alone", passes.get(ALONE)),
        )
        for against, other in others:
            if first is not None and other is not None and first.ok and other.ok:
                _add(into.setdefault(Key(arm, against, _cache(first, other)), Stray()), first, other)


def _add(stray: Stray, first: Exchange, other: Exchange) -> None:
    divergence = first_divergence(first, other)
    stray.n += 1
    if divergence is None:
        return
    stray.differ += 1
    if divergence.gap is not None:
        stray.widest = max(stray.widest or 0.0, divergence.gap)


def _cache(first: Exchange, other: Exchange) -> CacheKind:
    one, two = _warm(first), _warm(other)
    if one is None or two is None:
        return "untold"
    if one != two:
        return "mixed"
    return "warm" if one else "cold"


def _warm(exchange: Exchange) -> bool | None:
    """Whether the prefix cache held a part of the prompt, as the engine tells."""
    usage = exchange.received.usage if exchange.received is not None else None
    if usage is not None and usage.cached_tokens is not None:
        return usage.cached_tokens > 0
    return False if "cold" in (exchange.sent.tag, exchange.sent.cache) else None
