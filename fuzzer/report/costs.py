"""What speculation costs and buys, in words: the decision table that every report shows, and the figures behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, duration, figure, fraction, ordered, percent, place, plural
from fuzzer.summary import (
    ArmSpeed,
    CellStatus,
    CellSummary,
    EndpointSummary,
    Quantiles,
    SampledSpeed,
    Speed,
    Summary,
)

DECISION: Final = ("N", "lm_head", "candidate", "schedule", "speed-up", "wrong answers", "ruled out", "may roll out?")
LATENCY: Final = ("N", "lm_head", "schedule", "whose", "tokens/s", "first token", "between tokens", "whole answer")
DECISION_NOTE: Final = (
    "speed-up: the candidate's tokens per second of answering over the reference's, on the prompts that both answered, "
    "with a 95 % bootstrap interval (BCa, Efron 1987) over requests that were in flight together, where ten such "
    "groups were; tokens/s under latency and throughput is another figure: it counts every token that came out, "
    "fillers' and what a fault added to answers included, so that the two can point opposite ways"
)
LATENCY_NOTE: Final = (
    "tokens/s: all output tokens, fillers' and neighbours' included, over the time of the stages; the speed-up above "
    "is another figure: it compares the answers to the same prompts, so that the two can point opposite ways; times: "
    "median / 90 % / 99 % of the measured answers, the first token counted from "
    "sending, between tokens (last - first) / (tokens - 1); - where answers are not streamed"
)
NO_INTERVAL: Final = "no interval: too few groups of requests"
_MAY: Final[dict[CellStatus, str]] = {"pass": "yes", "fail": "NO", "informational": "control"}


@dataclass(frozen=True, slots=True)
class Decision:
    """A row of the decision table, in the order of ``DECISION``; ``yours`` at the user's own concurrency."""

    yours: bool
    status: CellStatus
    texts: tuple[str, ...]


def decisions(summary: Summary) -> list[Decision]:
    """The rollout question in one look: what each cell buys and what it costs in wrong answers."""
    return [_decision(cell, summary) for cell in ordered(summary.cells)]


def _decision(cell: CellSummary, summary: Summary) -> Decision:
    yours = cell.concurrency == summary.p50_concurrency
    texts = (
        f"{cell.concurrency}{' (yours)' if yours else ''}",
        clean(cell.lm_head or "unstated", 40),
        clean(cell.candidate, 60),
        cell.schedule,
        speed_up(cell.speed),
        f"{_hundred(cell)} in 100 ({fraction(cell.rate)})" if cell.rate.n else "-",
        f"{percent(cell.bound.value)} or more" if cell.bound and cell.status == "pass" else "-",
        _MAY.get(cell.status, f"not known ({STATUS[cell.status]})"),
    )
    return Decision(yours, cell.status, texts)


def answers(summary: Summary) -> list[str]:
    """The table in a sentence a candidate: at the user's concurrency, or else at the highest that was gated."""
    said = []
    for candidate in dict.fromkeys(cell.candidate for cell in ordered(summary.cells)):
        cells = [cell for cell in ordered(summary.cells) if cell.candidate == candidate and cell.rate.n]
        gated = [cell.concurrency for cell in cells if cell.role == "gated"]
        level = summary.p50_concurrency or max(gated, default=None)
        here = [cell for cell in cells if cell.concurrency == level]
        if here:
            said.append(_answer(here, summary, several=len({cell.candidate for cell in summary.cells}) > 1))
    return said


def _answer(cells: Sequence[CellSummary], summary: Summary, *, several: bool) -> str:
    first = min(cells, key=lambda cell: cell.schedule != "closed-loop")
    worst = max(cells, key=lambda cell: cell.rate.k / cell.rate.n)
    own = summary.p50_concurrency is not None
    where = f"at your concurrency, {first.concurrency}," if own else f"at concurrency {first.concurrency}"
    head = f" (lm_head {clean(first.lm_head, 40)})" if first.lm_head else ""
    who = f"{clean(first.candidate, 60)}{head}" if several else f"this drafter{head}"
    cost = _wrong(worst, alone=len(cells) == 1)
    if first.speed.speed_up is None:
        return f"{where} {who} gives {cost}; its speed was not compared"
    return f"{where} {who} gives {speed_up(first.speed)} and {cost}"


def _wrong(cell: CellSummary, *, alone: bool) -> str:
    under = "" if alone else f", under {cell.schedule}"
    there = f"; the reference {fraction(cell.reference_rate)}" if cell.reference_rate else ""
    if cell.rate.k:
        return f"{_hundred(cell)} wrong answers in 100 ({fraction(cell.rate)}{under}{there})"
    bound = f"; {percent(cell.bound.value)} or more is ruled out" if cell.bound and cell.status == "pass" else ""
    return f"no wrong answer in {cell.rate.n}{bound}"


def _hundred(cell: CellSummary) -> str:
    return f"{100 * cell.rate.k / cell.rate.n:.2g}"


def speed_up(speed: Speed) -> str:
    """``x1.07 (1.03 to 1.10)``, or why there is no interval, or that it was not measured."""
    if speed.speed_up is None:
        return "not measured"
    spread = _spread(speed)
    return f"x{speed.speed_up.value:.2f} ({spread or NO_INTERVAL})"


def _spread(speed: Speed) -> str:
    found = speed.speed_up
    if found is None or found.low is None or found.high is None:
        return ""
    return f"{found.low:.2f} to {found.high:.2f}"


def latencies(summary: Summary) -> list[tuple[str, ...]]:
    """A row an arm of each cell, in the order of ``LATENCY``; and of each level that was sampled."""
    lines: list[tuple[str, ...]] = []
    for cell in ordered(summary.cells):
        lines += _arms((str(cell.concurrency), _head(cell)), cell.schedule, cell.candidate, cell.speed)
    for sampled in summary.sampled:
        shape = f"temperature {sampled.temperature:g}"
        lines += _arms((str(sampled.concurrency), _head(sampled)), shape, sampled.candidate, sampled.speed)
    return lines


def _head(cell: CellSummary | SampledSpeed) -> str:
    return clean(cell.lm_head or "unstated", 40)


def _arms(whose: tuple[str, str], schedule: str, candidate: str, speed: Speed) -> Iterator[tuple[str, ...]]:
    for name, arm in ((clean(candidate, 60), speed.candidate), ("reference", speed.reference)):
        if arm is not None:
            yield (*whose, schedule, name, *_figures(arm))


def _figures(arm: ArmSpeed) -> tuple[str, ...]:
    rate = "-" if arm.tokens_per_second is None else figure(arm.tokens_per_second)
    return (rate, _times(arm.first_token), _times(arm.inter_token), _times(arm.end_to_end))


def _times(found: Quantiles | None) -> str:
    if found is None:
        return "-"
    scale, unit = (1e3, "ms") if found.p99 < 1 else (1.0, "s")
    return f"{' / '.join(f'{scale * value:.3g}' for value in (found.p50, found.p90, found.p99))} {unit}"


def engines(summary: Summary) -> list[str]:
    """What the engines tell of their memory and, cell by cell, of drafts, caches and preemptions."""
    said = [line for end in summary.endpoints if (line := _memory(end))]
    said += [line for cell in ordered(summary.cells) if (line := _told(cell, summary))]
    return said + [_sampled(sampled) for sampled in summary.sampled]


def _memory(end: EndpointSummary) -> str:
    parts = []
    if end.kv_tokens:
        block = f" in blocks of {end.kv_block}" if end.kv_block else ""
        parts.append(f"a KV cache of {end.kv_tokens:,} tokens{block}")
    if end.memory_bytes:
        where = "on a device" if end.memory_kind == "device" else "in the process that serves HTTP"
        parts.append(f"{end.memory_bytes / 2**30:.3g} GiB {where}")
    name = end.role if end.name == end.role else f"{end.role} {clean(end.name, 60)}"
    return f"{name}: {', '.join(parts)}" if parts else ""


def _told(cell: CellSummary, summary: Summary) -> str:
    parts = []
    if cell.acceptance is not None and cell.acceptance.by_position:
        shares = ", ".join(percent(share) for share in cell.acceptance.by_position[:16])
        parts.append(f"drafts accepted by position {shares}")
    for name, got in cell.achieved.items():
        own = []
        if got.prefix_hit_rate is not None:
            own.append(f"{percent(got.prefix_hit_rate)} of prompt tokens from the prefix cache")
        if got.preemptions is not None:
            own.append(plural(round(got.preemptions), "preemption"))
        if got.pool_usage is not None:
            own.append(f"at most {percent(got.pool_usage)} of the KV cache in use")
        if own:
            parts.append(f"{name} {', '.join(own)}")
    return f"{place(cell, summary)}: {'; '.join(parts)}" if parts else ""


def _sampled(sampled: SampledSpeed) -> str:
    found = sampled.acceptance
    length = f", {found.length:.2f} tokens per verify step" if found is not None and found.length is not None else ""
    median = sampled.speed.candidate_seconds
    time = f", median {duration(median)}" if median is not None else ""
    return (
        f"at temperature {sampled.temperature:g} and concurrency {sampled.concurrency}, where nothing is judged: "
        f"{clean(sampled.candidate, 60)} gives {speed_up(sampled.speed)}{length}{time}"
    )
