"""Rows as a measurement would leave them."""

from __future__ import annotations

from typing import Any

from fuzzer.power.jobs import Row
from fuzzer.sim.faults import FAULTS


def row(fault: str = "stale-slot", seed: int = 0, **fields: Any) -> Row:
    """A detection of this fault, right in all respects unless told otherwise."""
    known = FAULTS.get(fault)
    given: dict[str, Any] = {
        "purpose": "find" if known else "clean",
        "fault": fault,
        "schedule": (known.schedule if known else "") or "closed-loop",
        "concurrency": known.concurrency if known else 8,
        "seed": seed,
        "rate": known.default_rate if known else 0.0,
        "exit": known.exit_status if known else 0,
        "found": True,
        "kind_ok": True,
        "donors": {"right": 2} if known and known.donors else {},
        "first": 40 + seed if known else None,
        "cpu": 4.0,
    }
    return Row(**given | fields)
