"""Schedules: which prompts are released together, and how many are in flight meanwhile.

A schedule is data: a tuple of releases. It is a pure function of its arguments, so a recorded plan replays exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fuzzer.plan import ScheduleName


@dataclass(frozen=True, slots=True)
class Release:
    """Prompts (ids) let go at one barrier, with the in-flight profile ``width``.

    ``keep_full``: a closed loop holds exactly ``width`` in flight, with filler, until the last of them has ended.
    Otherwise all are sent at once and the release drains before the next one.
    """

    width: int
    prompts: tuple[str, ...]
    keep_full: bool = False

    def __post_init__(self) -> None:
        if not self.keep_full and len(self.prompts) > self.width:
            raise ValueError(f"a barrier of {self.width} cannot release {len(self.prompts)} prompts at once")


@dataclass(frozen=True, slots=True)
class Schedule:
    """A name for people (``specfuzz schedules``) and the traffic shape it stands for."""

    name: ScheduleName
    summary: str


SCHEDULES: dict[ScheduleName, Schedule] = {
    "closed-loop": Schedule("closed-loop", "exactly N in flight all the time: the next prompt goes when one ends"),
    "rounds": Schedule("rounds", "N prompts released together, drained, and again: equal neighbours, natural clusters"),
    "replicas": Schedule("replicas", "one prompt N times at once, another prompt each round; judged by round"),
    "burst-solo": Schedule("burst-solo", "a burst of N, drained, then a lone probe: finds state left by the burst"),
}


def releases(name: ScheduleName, prompts: Sequence[str], concurrency: int) -> tuple[Release, ...]:
    """The releases of a block. ``replicas`` takes one prompt a round and sends it ``concurrency`` times."""
    if name == "closed-loop":
        return (Release(concurrency, tuple(prompts), keep_full=True),)
    if name == "rounds":
        return tuple(Release(concurrency, group) for group in _groups(prompts, concurrency))
    if name == "replicas":
        return tuple(Release(concurrency, (prompt,) * concurrency) for prompt in prompts)
    return tuple(_burst_solo(prompts, concurrency))


def prompts_in_block(name: ScheduleName, size: int, concurrency: int) -> int:
    """How many different prompts a block of ``size`` judged answers takes."""
    return size // concurrency if name == "replicas" else size


def _burst_solo(prompts: Sequence[str], concurrency: int) -> Iterator[Release]:
    for group in _groups(prompts, concurrency + 1):
        burst, probe = group[:concurrency], group[concurrency:]
        yield Release(concurrency, burst)
        if probe:
            yield Release(1, probe)


def _groups(prompts: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    for start in range(0, len(prompts), size):
        yield tuple(prompts[start : start + size])
