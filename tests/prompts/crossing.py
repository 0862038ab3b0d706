"""Prompts in large numbers, and one prompt's answer given to another: what bleed looks like at its best."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from fuzzer.history.records import Prompt
from fuzzer.prompts import FAMILIES, PromptPool, canonical, check
from tests.prompts.styles import core, marks


def many(count: int, seed: int) -> list[Prompt]:
    """So many prompts over all families, in the shares that a gate asks them in."""
    pool = PromptPool(seed, families=list(FAMILIES))
    return [pool.prompt(index) for index in range(count)]


def of_a_kind(prompts: Iterable[Prompt]) -> list[list[Prompt]]:
    """The prompts by family and level."""
    kinds: dict[tuple[str, str], list[Prompt]] = defaultdict(list)
    for prompt in prompts:
        kinds[prompt.family, prompt.level].append(prompt)
    return list(kinds.values())


def right_alone(prompt: Prompt) -> bool:
    """Whether the canonical answer is right by the prompt's own check, and no more than right."""
    text, calls = canonical(prompt)
    return check(prompt, text, calls=calls).value == "right"


def passes_for(prompt: Prompt, other: Prompt) -> bool:
    """Whether another prompt's answer, between this one's own marks, passes for its answer.

    Such a reply restates its constraints and then answers another question.
    """
    text, calls = canonical(other)
    own = marks(prompt)
    said = f"{own[0]}\n{core(other)}\n{own[1]}" if own and not calls else text
    return check(prompt, said, calls=calls).passed


def likeliest_to_be_confused(kind: list[Prompt]) -> Iterator[tuple[Prompt, Prompt]]:
    """Pairs whose answers begin alike, end alike or are about as long, both ways round."""
    for order in (core, _backwards, _length):
        for one, other in pairwise(sorted(kind, key=order)):
            yield one, other
            yield other, one


def differ(prompt: Prompt, other: Prompt) -> bool:
    """Whether the two have different answers, as only families that are never used for attribution may not."""
    return prompt.attributable or other.attributable or core(prompt) != core(other)


def _backwards(prompt: Prompt) -> str:
    return core(prompt)[::-1]


def _length(prompt: Prompt) -> tuple[int, str]:
    return len(core(prompt)), prompt.id[::-1]
