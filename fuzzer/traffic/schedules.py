"""All schedules by name: which requests go together, how many are in flight meanwhile, and what is done to them.

A schedule is data. It is a pure function of its name, the victims and the setting, and it is journalled before anything
of it is sent, so a recorded run replays exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fuzzer.history.schedule import Release
from fuzzer.shapes import ScheduleName
from fuzzer.traffic import cancels, hot, lengths, loops, params, replays, turns
from fuzzer.traffic.setting import Setting

Build = Callable[[Sequence[str], Setting], Iterator[Release]]


@dataclass(frozen=True, slots=True)
class Schedule:
    """A name for people (``specfuzz schedules``), the traffic shape it stands for, and how a block of it is made."""

    name: ScheduleName
    summary: str
    build: Build


_ALL = (
    Schedule("closed-loop", "exactly N in flight all the time: the next prompt goes when one ends", loops.loop),
    Schedule(
        "rounds", "N prompts released together, drained, and again: equal neighbours, natural clusters", loops.rounds
    ),
    Schedule("replicas", "one prompt N times at once, another prompt each round; judged by round", loops.replicas),
    Schedule("burst-solo", "a burst of N, drained, then a lone probe: finds state left by the burst", loops.burst_solo),
    Schedule(
        "shared-prefix-cancel",
        "neighbours on a shared prefix broken off after milliseconds or tokens and sent again; bystanders are judged",
        cancels.shared_prefix_cancel,
    ),
    Schedule(
        "mixed-lengths", "long prompts and replies of random length join while short ones decode", lengths.mixed_lengths
    ),
    Schedule(
        "hot-neighbours",
        "half of the slots sampled, penalised, held to a schema, with tools or log-probabilities; victims greedy",
        hot.hot_neighbours,
    ),
    Schedule("warm-replay", "every round cold, then warm in the same order, then warm in another", replays.warm_replay),
    Schedule("multi-turn", "each slot goes through a whole conversation; its last turn is judged", turns.multi_turn),
    Schedule(
        "param-fuzz",
        "block-edge lengths, near-miss stop strings, streamed or not, among replies cut short, stopped or in choices",
        params.param_fuzz,
    ),
    Schedule(
        "long-pairs",
        "on every slot a long request, then one prompt twice; where slots can be pinned, among lists easy to draft",
        lengths.long_pairs,
    ),
    Schedule("pool-pressure", "neighbours fill the KV pool and grow in it while victims pass", lengths.pool_pressure),
)

SCHEDULES: dict[ScheduleName, Schedule] = {schedule.name: schedule for schedule in _ALL}
"""All schedules, in the order in which people are told of them."""


def releases(name: ScheduleName, prompts: Sequence[str], setting: Setting) -> tuple[Release, ...]:
    """What a block of this schedule sends to judge these prompts."""
    return tuple(SCHEDULES[name].build(prompts, setting))
