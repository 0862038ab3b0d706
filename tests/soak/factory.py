"""Legs and soaks by hand: counts as legs would leave them, without a server."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from pydantic import TypeAdapter

from fuzzer.night import Boot, CellCount, FindingCount, Leg, Night, Why
from fuzzer.plan import Endpoint, Plan, Policy, ScheduleName
from fuzzer.soak.ledger import Booted, Ended, Settings, SoakManifest, State, new_soak
from fuzzer.soak.verdict import Ending, judged

SCHEDULES: tuple[ScheduleName, ...] = ("closed-loop", "rounds", "burst-solo")
BLEED = FindingCount(
    key="bleed/concurrent/user@candidate", kind="bleed", certainty="certain", schedule="rounds", count=1, breaks=True
)


def plan(**update: object) -> Plan:
    given: dict[str, object] = {
        "candidates": (Endpoint(name="candidate", url="http://127.0.0.1:1", lm_head="bf16"),),
        "references": (Endpoint(name="reference", url="http://127.0.0.1:2", lm_head="bf16"),),
        "schedules": SCHEDULES,
        "policy": Policy(max_wrong_rate=0.01),
    }
    return Plan.model_validate(given | update)


def cell(schedule: ScheduleName, k: int, n: int = 64, **update: object) -> CellCount:
    given: dict[str, object] = {
        "key": f"candidate/bf16/c8/{schedule}",
        "role": "gated",
        "candidate": "candidate",
        "lm_head": "bf16",
        "concurrency": 8,
        "schedule": schedule,
        "counted": True,
        "k": k,
        "n": n,
        "reference_n": n,
        "b": k,
    }
    return TypeAdapter(CellCount).validate_python(given | update)


def leg(number: int, *cells: CellCount, **update: object) -> Leg:
    schedule = cells[0].schedule if cells else "closed-loop"
    given: dict[str, object] = {
        "number": number,
        "run_id": f"{number:05d}-{schedule}",
        "purpose": "sweep",
        "why": "rotation",
        "schedule": schedule,
        "concurrency": 8,
        "seed": number,
        "boot": 1,
        "started": f"2026-11-29T{number // 60:02d}:{number % 60:02d}:00+00:00",
        "ended": f"2026-11-29T{number // 60:02d}:{number % 60:02d}:30+00:00",
        "active": 60.0 * number,
        "first_request": 400 * (number - 1),
        "verdict": "pass",
        "exit_status": 0,
        "cells": cells,
        "exchanges": 800,
        "candidate_requests": 400,
    }
    return TypeAdapter(Leg).validate_python(given | update)


def soak(**update: object) -> SoakManifest:
    return new_soak(plan(**update), Settings(seconds=3600), "night")


def state(*legs: Leg) -> State:
    made = State()
    for number in sorted({one.boot for one in legs}):
        made.add(Booted(boot=Boot(number=number, since="2026-11-29T22:00:00+00:00", why="it was started")))
    for one in legs:
        made.add(Ended(leg=one))
    return made


def night(*legs: Leg, manifest: SoakManifest | None = None, ending: Ending | None = None) -> Night:
    return judged(manifest or soak(), state(*legs), ending or Ending(ended="2026-11-30T06:00:00+00:00"), {})


def drawn(
    rng: np.random.Generator,
    rate: Callable[[int], float],
    *,
    legs: int = 60,
    reference: float = 0.0,
    boot: Callable[[int], int] = lambda _: 1,
    why: Callable[[int], Why] = lambda number: "anchor" if number % 6 == 1 else "rotation",
) -> list[Leg]:
    """A night of legs whose answers fail at ``rate`` by leg at the candidate, at ``reference`` at the reference."""
    made = []
    for number in range(1, legs + 1):
        reason = why(number)
        schedule = "closed-loop" if reason == "anchor" else SCHEDULES[number % 3]
        ours, theirs = rng.random(64) < rate(number), rng.random(64) < reference
        b, c = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        counts = cell(schedule, int(ours.sum()), reference_k=int(theirs.sum()), b=b, c=c)
        purpose = "anchor" if reason == "anchor" else "sweep"
        made.append(leg(number, counts, why=reason, purpose=purpose, boot=boot(number)))
    return made
