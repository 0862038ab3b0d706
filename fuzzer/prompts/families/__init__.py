"""The families of questions, by name. A module of this package declares its own; nothing else has to know them."""

from __future__ import annotations

from fuzzer.prompts.families import codes, constraints, copying, data, lists, numbers
from fuzzer.prompts.families.base import Family

FAMILIES: dict[str, Family] = {
    family.name: family for module in (codes, data, lists, numbers, copying, constraints) for family in module.FAMILIES
}

__all__ = ["FAMILIES", "Family"]
