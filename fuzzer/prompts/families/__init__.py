"""The families of questions, by name. A module of this package declares its own; nothing else has to know them."""

from __future__ import annotations

from fuzzer.prompts.families import (
    code,
    codes,
    constraints,
    conversation,
    copying,
    data,
    languages,
    lists,
    long,
    numbers,
    structured,
    thinking,
    tools,
    transforms,
)
from fuzzer.prompts.families.base import Family

_MODULES = (
    codes, data, lists, numbers, copying, constraints, transforms, languages, long, code, structured, tools,
    conversation, thinking,
)  # fmt: skip

FAMILIES: dict[str, Family] = {family.name: family for module in _MODULES for family in module.FAMILIES}

__all__ = ["FAMILIES", "Family"]
