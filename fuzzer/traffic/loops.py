"""The plain shapes: nothing but judged requests, in a loop or from barriers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.history.schedule import CacheTag, Release, Send
from fuzzer.traffic.setting import Setting


def closed_loop(width: int, prompts: Sequence[str], tag: CacheTag | None = None) -> Release:
    """These prompts, exactly ``width`` in flight until the last has ended; ``tag`` is what caches should hold."""
    return Release(width=width, chains=tuple((Send(prompt=prompt, tag=tag),) for prompt in prompts), keep_full=True)


def barrier(width: int, prompts: Sequence[str]) -> Release:
    """These prompts at one moment, at most ``width`` of them; then all drain."""
    return Release(width=width, chains=tuple((Send(prompt=prompt),) for prompt in prompts))


def loop(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """One closed loop."""
    yield closed_loop(setting.concurrency, prompts)


def rounds(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Barriers of N."""
    for group in groups(prompts, setting.concurrency):
        yield barrier(setting.concurrency, group)


def replicas(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """Barriers of N times the same prompt."""
    for prompt in prompts:
        yield barrier(setting.concurrency, (prompt,) * setting.concurrency)


def burst_solo(prompts: Sequence[str], setting: Setting) -> Iterator[Release]:
    """A barrier of N, and when it has drained a lone probe."""
    for group in groups(prompts, setting.concurrency + 1):
        burst, probe = group[: setting.concurrency], group[setting.concurrency :]
        yield barrier(setting.concurrency, burst)
        if probe:
            yield barrier(1, probe)


def groups(prompts: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    """The prompts in groups of ``size``; the last may be smaller."""
    for start in range(0, len(prompts), size):
        yield tuple(prompts[start : start + size])
