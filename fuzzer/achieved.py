"""Whether a cell's load was what it was meant to be: N in flight, a batch that fills, a full pool, and nobody else."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzer.history.records import Arm
from fuzzer.judge import Judge
from fuzzer.judge.calibration import calibration_key
from fuzzer.judge.tally import ArmTally
from fuzzer.oracles.service import LEAK
from fuzzer.plan import Cell
from fuzzer.shapes import SHAPES

SHARE_AT_N = 0.99
FILLED_SHARE = 0.75  # of N running, as the server tells; under it the batch never filled
FILLED_SAMPLES = {True: 5, False: 10}  # least samples while N are in flight all the time, and between barriers
TURNS_SHARE = 0.1  # earlier turns for each judged answer, at the least, before single questions are conversations
POOL_FULL = 0.9  # of the KV pool in use, at the least, before it counts as filled


def not_reached(arm: ArmTally, cell: Cell, name: str) -> str:
    """Why the load of a cell says nothing, or nothing; ``name`` is the arm's."""
    share = sum(arm.shares) / len(arm.shares) if arm.shares else 0.0
    shape = SHAPES[cell.schedule]
    if share < SHARE_AT_N:
        if not shape.steady:
            return f"only {share:.1%} of {cell.concurrency} met at the {name}'s barriers (99 % is asked for)"
        return f"{cell.concurrency} in flight at the {name} for only {share:.1%} of the time (99 % is asked for)"
    if shape.talks and arm.turns < TURNS_SHARE * arm.counts["sent"]:
        return (
            f"hardly any conversations at the {name}: {arm.turns} earlier turns with {arm.counts['sent']} judged "
            "answers (choose --family conversation, or a corpus with turns)"
        )
    if shape.starved:
        return _no_pressure(arm, name)
    filled = (FILLED_SHARE if shape.steady else FILLED_SHARE * 2 / 3) * cell.concurrency
    if len(arm.running) >= FILLED_SAMPLES[shape.steady] and max(arm.running) < filled:
        return (
            f"the {name}'s batch never filled: no more than {max(arm.running):.0f} requests ran at once with "
            f"{cell.concurrency} in flight ({len(arm.running)} samples); {_why(arm)}"
        )
    return ""


def _why(arm: ArmTally) -> str:
    if arm.waiting:
        return f"up to {arm.waiting:.0f} waited: its batch limit is too small, or it is short of CPU"
    return "none waited: this machine, or the way to the server, is too slow for requests so short"


def _no_pressure(arm: ArmTally, name: str) -> str:
    if arm.pool_usage is None or arm.pool_usage >= POOL_FULL or arm.server.preemptions:
        return ""
    return (
        f"the {name}'s KV pool was never under pressure: no more than {arm.pool_usage:.0%} of it was in use "
        "(more in flight, or an engine started with a smaller pool, would fill it)"
    )


def other_traffic(judge: Judge, cell: Cell, name: Arm) -> str:
    """That somebody else was seen at an end: in the cell or its calibration, or anywhere if it leaks; or nothing."""
    reference = judge.plan.reference_of(cell.candidate)
    end = cell.candidate if name == "candidate" or reference is None else reference.name
    seen: Mapping[str, int] = judge.company.seen.get((name, end), {})
    level = calibration_key(cell.candidate, cell.lm_head, cell.concurrency)
    leaks = any(
        group.example.sub_kind == LEAK and group.example.endpoint == end and group.cells[cell.key]
        for group in judge.groups.by_key.values()
    )
    count = max((seen[key] for key in seen if leaks or key in (cell.key, level)), default=0)
    if not count:
        return ""
    return (
        f"somebody else uses the {name}: {count} of their requests ran while this run had none in flight, so what ran "
        "together is not known: give the gate servers of its own"
    )
