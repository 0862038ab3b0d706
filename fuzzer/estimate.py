"""What a plan will send and how long it should take; a budget trims the plan to fit and says what was lost."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.decisions import cap, wanted
from fuzzer.plan import PROBE_COUNT, Cell, Plan
from fuzzer.shapes import BLOCK_FLOOR, SHAPES, SPEED_BLOCKS, block_size
from fuzzer.stats import requests_needed

KEPT_SHARE = 0.8  # of the prompts tried, calibration usually keeps about so many


@dataclass(frozen=True, slots=True)
class Estimate:
    """Requests and seconds of a plan with every cell clean, and of each cell (in plan order)."""

    requests: int
    seconds: float | None
    cells: dict[str, tuple[int, float | None]]


def estimate(plan: Plan, seconds_per_request: float | None = None) -> Estimate:
    """The cost if nothing fails; the time assumes that N in flight take no longer than one alone, so it is a floor."""
    arms = 2 if plan.references else 1
    ends = len(plan.candidates) + len(plan.references)
    cells: dict[str, tuple[int, float | None]] = {}
    calibrated: dict[tuple[str, int], int] = {}
    for cell in plan.cells():
        sent = _sent(plan, cell)
        shape = SHAPES[cell.schedule]
        prompts = sent // shape.copies(cell.concurrency)
        level = _level(plan, cell)
        fresh = max(prompts - calibrated.get((cell.candidate, level), 0), 0)
        calibrated[cell.candidate, level] = max(prompts, calibrated.get((cell.candidate, level), 0))
        alone = round(fresh / KEPT_SHARE) + fresh * (arms - 1)
        filler = (level - 1) * -(-fresh // BLOCK_FLOOR)
        batched = (fresh + filler) * 2 * arms if plan.references else fresh
        drained = (cell.concurrency - 1) * -(-sent // BLOCK_FLOOR) if shape.steady else 0
        measured = (round(sent * shape.load) + drained) * arms
        seconds = None
        if seconds_per_request is not None:
            seconds = seconds_per_request * (alone + batched / level + measured / cell.concurrency)
        cells[cell.key] = (alone + batched + measured, seconds)
    known = [seconds for _, seconds in cells.values() if seconds is not None]
    levels = sorted({1, *plan.concurrency}) if plan.speed_temperature is not None else []
    sampled = {level: SPEED_BLOCKS * block_size(level, "closed-loop") * arms * len(plan.candidates) for level in levels}
    if seconds_per_request is not None:
        known += [seconds_per_request * requests / level for level, requests in sampled.items()]
    return Estimate(
        requests=sum(requests for requests, _ in cells.values())
        + ends * (PROBE_COUNT + max(plan.concurrency))
        + sum(sampled.values()),
        seconds=sum(known) if known else None,
        cells=cells,
    )


def trim(plan: Plan, seconds_per_request: float | None) -> dict[str, str]:
    """The gated cells that do not fit the budget, last first, with the reason; one gated cell always stays."""
    if plan.budget_seconds is None or seconds_per_request is None:
        return {}
    costs = estimate(plan, seconds_per_request).cells
    total = sum(seconds or 0.0 for _, seconds in costs.values())
    dropped: dict[str, str] = {}
    for cell in reversed(plan.gated[1:]):
        if total <= plan.budget_seconds:
            break
        seconds = costs[cell.key][1] or 0.0
        total -= seconds
        dropped[cell.key] = f"the budget of {plan.budget_seconds:.0f} s has no room for its {seconds:.0f} s"
    return dropped


def describe(plan: Plan, seconds_per_request: float | None) -> str:
    """One line: what will be sent, and how long it should take."""
    cost = estimate(plan, seconds_per_request)
    sizes = ", ".join(f"{cell.key} {wanted(plan, cell)}" for cell in plan.cells())
    limit = max((cap(plan, cell) for cell in plan.gated), default=0)
    time = f", about {_duration(cost.seconds)}" if cost.seconds is not None else ""
    more = f"; an undecided cell goes on to {limit} at most" if plan.policy.sequential else ""
    least = requests_needed(plan.policy.max_wrong_rate, plan.policy.confidence)
    if plan.policy.requests is not None and plan.policy.requests < least:
        more = f"; {plan.policy.requests} a cell can fail but cannot pass, {least} could"
    if plan.budget_seconds is not None and cost.seconds is not None and cost.seconds > plan.budget_seconds:
        more += f"; the budget is {_duration(plan.budget_seconds)}, so not all of it will be decided"
    return f"about {cost.requests} requests{time} if nothing fails (judged answers a cell: {sizes}{more})"


def _sent(plan: Plan, cell: Cell) -> int:
    """Judged requests an arm of a clean cell; where prompts come in copies, the unit is all copies of one."""
    size = wanted(plan, cell) * SHAPES[cell.schedule].copies(cell.concurrency)
    if cell.role == "control" or not plan.policy.sequential:
        return size
    block = block_size(cell.concurrency, cell.schedule)
    return -(-size // block) * block


def _level(plan: Plan, cell: Cell) -> int:
    return cell.concurrency if cell.role == "gated" else plan.gated[0].concurrency


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
