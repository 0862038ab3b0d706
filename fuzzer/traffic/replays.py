"""Warm replays: the same prompts cold, and then warm, so that what the prefix cache holds is tested against itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.schedule import CacheTag, Overrides, Release, Send
from fuzzer.traffic.loops import groups
from fuzzer.traffic.setting import Setting

APART = 8  # words of padding that make a prompt new to a cache that cannot be kept apart otherwise


def warm_replay(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Rounds of N, each three times: cold, warm in the same order, warm in a shuffled one.

    Cold is a salt of its own, which the replays share; an engine without salts gets a few words before the prompt.
    """
    for group in groups(prompts, setting.concurrency):
        apart = {prompt: _apart(setting) for prompt in group}
        shuffled = list(group)
        setting.rng.shuffle(shuffled)
        rounds: tuple[tuple[Sequence[str], CacheTag], ...] = ((group, "cold"), (group, "warm"), (shuffled, "warm"))
        for order, tag in rounds:
            yield Release(
                width=setting.concurrency, chains=tuple((_tagged(prompt, apart[prompt], tag),) for prompt in order)
            )


def _apart(setting: Setting) -> Overrides:
    key = f"{setting.rng.getrandbits(48):012x}"
    return Overrides(salt=key) if setting.traits.salts else Overrides(pad=APART, pad_key=key)


def _tagged(prompt: str, apart: Overrides, tag: CacheTag) -> Send:
    return Send(prompt=prompt, overrides=apart, tag=tag)
