"""What we ask: families of prompts with checkable constraints, canaries, corpora."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuzzer.errors import UsageError
from fuzzer.history.records import Level, Prompt, ToolCall
from fuzzer.prompts import corpora
from fuzzer.prompts.families import FAMILIES, Family
from fuzzer.prompts.grade import Grade, canonical
from fuzzer.prompts.pool import PromptPool


@dataclass(frozen=True, slots=True)
class Description:
    """A family for people: ``shares`` are its prompts among 100 of the default mix, by level."""

    name: str
    levels: tuple[Level, ...]
    summary: str
    exposes: str
    shares: Mapping[Level, float]


def check(
    prompt: Prompt, text: str, *,
    finish_reason: str | None = None, calls: Sequence[ToolCall] = (), reasoning: str = "",
) -> Grade:  # fmt: skip
    """What an answer is worth, from the recorded prompt alone; never raises for anything that a server sends.

    ``reasoning`` is what the server kept apart from the answer; it is never searched for one.
    """
    if not prompt.checkable:
        said = bool(text.strip()) or bool(calls)
        return Grade("unchecked") if said else Grade("none", "empty", "nothing was said")
    if prompt.family.startswith(corpora.PREFIX):
        return corpora.check(prompt, text, finish_reason, calls)
    family = FAMILIES.get(prompt.family)
    if family is None:
        raise UsageError(f"prompt {prompt.id} is of the unknown family {prompt.family!r}; known: {', '.join(FAMILIES)}")
    return family.check(prompt, text, finish_reason, calls, reasoning)


def describe() -> tuple[Description, ...]:
    """All families, for ``specfuzz families``."""
    whole = sum(sum(family.weights.values()) for family in FAMILIES.values())
    return tuple(
        Description(
            family.name,
            family.levels,
            family.summary,
            family.exposes,
            {level: 100 * weight / whole for level, weight in family.weights.items()},
        )
        for family in FAMILIES.values()
    )


__all__ = ["FAMILIES", "Description", "Family", "Grade", "PromptPool", "canonical", "check", "describe"]
