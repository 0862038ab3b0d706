"""What is wrong: one module an oracle; exchanges in, findings out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fuzzer.oracles.registry import ORACLES as ORACLES

__all__ = ["ORACLES"]


def __getattr__(name: str) -> object:
    """Load the oracles when they are asked for: reporters import ``fuzzer.oracles.finding`` and need none of them."""
    if name == "ORACLES":
        from fuzzer.oracles.registry import ORACLES

        return ORACLES
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
