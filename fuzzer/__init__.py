"""specfuzz: a correctness fuzzer for batched speculative serving.

The call behind ``specfuzz gate``::

    from fuzzer import Endpoint, Plan, run_gate

    run = run_gate(
        Plan(
            candidates=(Endpoint(name="candidate", url="http://127.0.0.1:8001"),),
            references=(Endpoint(name="reference", url="http://127.0.0.1:8000"),),
        )
    )
    print(run.summary.verdict, run.directory)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.errors import HistoryError, SpecfuzzError, UnavailableError, UsageError

if TYPE_CHECKING:
    from fuzzer.plan import Endpoint, Plan, Policy, Sampling
    from fuzzer.run import Run, gate, run_gate
    from fuzzer.summary import Summary

__all__ = [
    "Endpoint",
    "HistoryError",
    "Plan",
    "Policy",
    "Run",
    "Sampling",
    "SpecfuzzError",
    "Summary",
    "UnavailableError",
    "UsageError",
    "gate",
    "run_gate",
]

_ROOMS = {
    **dict.fromkeys(("Endpoint", "Plan", "Policy", "Sampling"), "fuzzer.plan"),
    **dict.fromkeys(("Run", "gate", "run_gate"), "fuzzer.run"),
    "Summary": "fuzzer.summary",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``specfuzz --help`` stays quick."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'fuzzer' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_ROOMS[name]), name)
