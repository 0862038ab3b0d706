"""The page's tables as CSV would have them: one value a column, plain numbers, nothing where nothing was measured.

Shares are between 0 and 1, times in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fuzzer.report.text import clean
from fuzzer.report.words import decisive, ordered
from fuzzer.summary import ArmSpeed, CellSummary, SampledSpeed, Summary

Values = tuple[tuple[str, ...], list[tuple[str, ...]]]

_WHOSE: Final = ("concurrency", "lm_head", "candidate", "schedule")
_QUANTILES: Final = ("p50", "p90", "p99")
_TIMES: Final = ("first_token", "inter_token", "end_to_end")
_ARMS: Final = ("candidate", "reference")
_GRADES: Final = ("sent", "completed", "right", "verbose", "wrong", "unjudged", "error", "lost")


def decisions(summary: Summary) -> Values:
    """Speed-up, failures and what is ruled out, a line a cell."""
    names = (*_WHOSE, "status", "speed_up", "speed_up_low", "speed_up_high", "failed", "judged", "bound")
    return names, [_decision(cell) for cell in ordered(summary.cells)]


def results(summary: Summary) -> Values:
    """Failures with interval and test, a line a cell."""
    rate = ("failed", "judged", "rate", "wilson_low", "wilson_high", "bound")
    return (*_WHOSE, "status", *rate, "reference_failed", "reference_judged", "p"), [
        _result(cell) for cell in ordered(summary.cells)
    ]


def basis(summary: Summary) -> Values:
    """Divergence, noise floor, load, acceptance and clusters, a line a cell."""
    floor = ("floor_prompts", "floor_candidate", "floor_reference", "material_candidate", "material_reference")
    load = ("at_n_candidate", "at_n_reference", "acceptance_length", "clusters_failed", "clusters", "cluster_unit")
    return (*_WHOSE, "differ", "compared", *floor, "floor_p", "worst_regret", *load), [
        _basis(cell) for cell in ordered(summary.cells)
    ]


def speeds(summary: Summary) -> Values:
    """Throughput and latency, a line an arm of each cell and of each level that was sampled."""
    times = tuple(f"{name}_{quantile}" for name in _TIMES for quantile in _QUANTILES)
    names = ("concurrency", "lm_head", "schedule", "whose", "tokens_per_second", *times)
    lines = [line for cell in ordered(summary.cells) for line in _speeds(cell, cell.schedule)]
    lines += [line for one in summary.sampled for line in _speeds(one, f"temperature {one.temperature:g}")]
    return names, lines


def counts(summary: Summary) -> Values:
    """What became of the exchanges of each arm, a line a cell."""
    names = (*_WHOSE, *(f"{arm}_{grade}" for arm in _ARMS for grade in _GRADES))
    return names, [(*_whose(cell), *_counts(cell)) for cell in ordered(summary.cells)]


def _whose(cell: CellSummary) -> tuple[str, ...]:
    return (str(cell.concurrency), clean(cell.lm_head or "", 40), clean(cell.candidate, 60), cell.schedule)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _decision(cell: CellSummary) -> tuple[str, ...]:
    found = cell.speed.speed_up
    speed = (found.value, found.low, found.high) if found is not None else (None, None, None)
    ruled = cell.bound.value if cell.bound and cell.status == "pass" else None
    return (*_whose(cell), cell.status, *map(_number, (*speed, cell.rate.k, cell.rate.n, ruled)))


def _result(cell: CellSummary) -> tuple[str, ...]:
    rate, wilson, there = cell.rate, cell.rate.wilson, cell.reference_rate
    figures = (
        rate.k, rate.n, rate.k / rate.n if rate.n else None, wilson.low if wilson else None,
        wilson.high if wilson else None, cell.bound.value if cell.bound else None, there.k if there else None,
        there.n if there else None, decisive(cell.paired) if cell.paired else None,
    )  # fmt: skip
    return (*_whose(cell), cell.status, *map(_number, figures))


def _basis(cell: CellSummary) -> tuple[str, ...]:
    parted, floor, clusters = cell.divergence, cell.noise_floor, cell.clusters
    noise: tuple[float | None, ...] = (None,) * 7
    if floor is not None:
        p = floor.p if floor.p_adjusted is None else floor.p_adjusted
        worst = floor.regret.worst if floor.regret is not None and floor.regret.used else None
        noise = (
            floor.n, floor.candidate, floor.reference, floor.candidate_material, floor.reference_material, p, worst
        )  # fmt: skip
    sides = (cell.achieved.get("candidate"), cell.achieved.get("reference"))
    shares = [got.share_at_n if got else None for got in sides]
    length = cell.acceptance.length if cell.acceptance else None
    held = (clusters.failed, clusters.n) if clusters else (None, None)
    compared = (parted.differ, parted.n) if parted else (None, None)
    figures = (*compared, *noise, *shares, length, *held)
    return (*_whose(cell), *map(_number, figures), clusters.unit if clusters else "")


def _speeds(one: CellSummary | SampledSpeed, shape: str) -> Iterator[tuple[str, ...]]:
    whose = (str(one.concurrency), clean(one.lm_head or "", 40), shape)
    for name, arm in ((clean(one.candidate, 60), one.speed.candidate), ("reference", one.speed.reference)):
        if arm is not None:
            yield (*whose, name, _number(arm.tokens_per_second), *_times(arm))


def _times(arm: ArmSpeed) -> Iterator[str]:
    for found in (arm.first_token, arm.inter_token, arm.end_to_end):
        yield from map(_number, (found.p50, found.p90, found.p99) if found is not None else (None,) * 3)


def _counts(cell: CellSummary) -> Iterator[str]:
    for arm in (cell.arms.get("candidate"), cell.arms.get("reference")):
        if arm is None:
            yield from ("",) * len(_GRADES)
            continue
        kinds = (sum(arm.wrong.values()), sum(arm.unjudged.values()), sum(arm.error.values()))
        yield from map(str, (arm.sent, arm.completed, arm.right, arm.verbose, *kinds, arm.lost))
