"""Back to back: every slot sends two judged requests, one right after the other, and then all drain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.schedule import Release, Send
from fuzzer.shapes import Shape
from fuzzer.traffic.loops import groups
from fuzzer.traffic.setting import Setting


def back_to_back(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """The second request of each slot meets what the first one left there, while the others still run."""
    width = setting.concurrency
    for group in groups(prompts, 2 * width):
        chains = (group[slot::width] for slot in range(min(width, len(group))))
        yield Release(width=width, chains=tuple(tuple(Send(prompt=prompt) for prompt in chain) for chain in chains))


SHAPE = Shape(victims=lambda concurrency: 2 * concurrency)
