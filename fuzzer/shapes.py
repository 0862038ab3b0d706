"""The traffic shapes by name, and what counting has to know of each: how long it stays full, how often a prompt comes.

How a shape is built is the business of ``fuzzer.traffic``; plan, tally and estimate need only these numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

ScheduleName = Literal[
    "closed-loop",
    "rounds",
    "replicas",
    "burst-solo",
    "shared-prefix-cancel",
    "mixed-lengths",
    "hot-neighbours",
    "warm-replay",
    "multi-turn",
    "param-fuzz",
    "long-pairs",
    "pool-pressure",
]

BLOCK_FLOOR = 48  # judged answers per block: 7 blocks of 48 are the 331 that a clean cell needs, with 5 over
SPEED_BLOCKS = 2  # of each level at a temperature over 0: one in each order of the arms


def _once(_: int) -> int:
    return 1


def _half(concurrency: int) -> int:
    return max(1, concurrency // 2)


@dataclass(frozen=True, slots=True)
class Shape:
    """Numbers of one schedule; those given as functions depend on the concurrency.

    ``victims`` are the judged requests of one release, None where one release holds the whole block and keeps N in
    flight all the time (steady). ``copies`` is how often each prompt is judged in a block: copies of a prompt are one
    draw from the prompt population. ``load`` is the number of requests sent for each judged one, without filler.
    ``crowded`` says that the engine's own counters tell more of the neighbours than of the victims. ``starved`` says
    that the engine is not meant to have room for all N, ``talks`` that earlier turns are asked before what is judged.
    """

    victims: Callable[[int], int] | None
    copies: Callable[[int], int] = _once
    load: float = 1.0
    crowded: bool = False
    starved: bool = False
    talks: bool = False

    @property
    def steady(self) -> bool:
        """Whether N are in flight all the time; otherwise every release drains."""
        return self.victims is None


REPLAYS = 3  # how often warm-replay sends a prompt: cold, warm in the same order, warm in another

SHAPES: dict[ScheduleName, Shape] = {
    "closed-loop": Shape(None),
    "rounds": Shape(lambda n: n),
    "replicas": Shape(lambda n: n, copies=lambda n: n),
    "burst-solo": Shape(lambda n: n + 1),
    "shared-prefix-cancel": Shape(_half, load=4.0, crowded=True),
    "mixed-lengths": Shape(None, load=2.0, crowded=True),
    "hot-neighbours": Shape(None, load=2.0, crowded=True),
    "warm-replay": Shape(lambda n: n * REPLAYS, copies=lambda _: REPLAYS),
    "multi-turn": Shape(None, load=2.0, talks=True),
    "param-fuzz": Shape(None, load=2.0, crowded=True),
    "long-pairs": Shape(lambda n: 2 * n, copies=lambda _: 2, load=1.5, crowded=True),
    "pool-pressure": Shape(None, load=1.5, crowded=True, starved=True),
}


def block_size(concurrency: int, schedule: ScheduleName, wanted: int | None = None) -> int:
    """Judged answers in one block: whole releases of the schedule, at least ``wanted`` (default 48)."""
    victims = SHAPES[schedule].victims
    if victims is None:
        return wanted or max(BLOCK_FLOOR, 2 * concurrency)
    release = victims(concurrency)
    return math.ceil((wanted or BLOCK_FLOOR) / release) * release


def prompts_in_block(schedule: ScheduleName, size: int, concurrency: int) -> int:
    """How many different prompts a block of ``size`` judged answers takes."""
    return size // SHAPES[schedule].copies(concurrency)
