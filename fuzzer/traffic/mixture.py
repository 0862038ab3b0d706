"""Victims among neighbours: half of the slots belong to neighbours, and are kept busy as long as victims run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fuzzer.history.schedule import Release, Send
from fuzzer.traffic.setting import Setting

Chain = tuple[Send, ...]
SPARE = 2  # times the neighbours that should be needed: those who are not are never sent


def neighbour_slots(concurrency: int) -> int:
    """How many of N slots the neighbours get: half of them, at least one, and never all."""
    return max(1, concurrency // 2)


def among(
    victims: Sequence[Chain],
    neighbours: Callable[[int, int], Chain],
    setting: Setting,
    *,
    stagger_ms: float = 0.0,
) -> Release:
    """A release that stays full, with neighbours on half of the slots.

    ``neighbours`` makes what a slot sends for its turn (slot, turn); it is called until the slot has twice what it
    should need. The neighbours' slots start at random moments up to ``stagger_ms`` after the victims'.
    """
    slots = neighbour_slots(setting.concurrency)
    turns = SPARE * -(-len(victims) // max(setting.concurrency - slots, 1)) + SPARE
    chains = []
    for slot in range(slots):
        chain = [send for turn in range(turns) for send in neighbours(slot, turn)]
        if stagger_ms:
            chain[0] = chain[0].model_copy(update={"at_ms": round(setting.rng.uniform(1.0, stagger_ms), 1)})
        chains.append(tuple(chain))
    return Release(width=setting.concurrency, chains=(*chains, *victims), keep_full=True)
