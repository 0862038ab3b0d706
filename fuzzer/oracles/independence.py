"""Neighbour independence: one prompt, asked the same way, must get one answer whoever else is in the batch.

Copies of a prompt in one block are compared with each other: replicas, pairs, cold and warm, streamed and not. Batching
alone makes outputs part, so a single difference says nothing: what counts are prompts that vary on the candidate while
the reference answers all of its copies alike, against the reverse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.oracles.build import finding, label
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import first_divergence
from fuzzer.stats import mcnemar

ALPHA = 0.001  # a cell has many blocks, and is tested after each of them

COMPARED, ONLY_CANDIDATE, ONLY_REFERENCE = "independence.compared", "independence.b", "independence.c"

_Question = tuple[str, str]  # prompt, and how it is asked


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """At most one finding: so far in this cell, the candidate varies on prompts where the reference does not."""
    ours, theirs = _copies(batch, "candidate"), _copies(batch, "reference")
    common = ours.keys() & theirs.keys()
    varied = {question: _varying(ours[question]) for question in common}
    steady = {question: _varying(theirs[question]) is None for question in common}
    fresh = sorted(question for question in common if varied[question] is not None and steady[question])
    context.so_far[COMPARED] += len(common)
    context.so_far[ONLY_CANDIDATE] += len(fresh)
    context.so_far[ONLY_REFERENCE] += sum(varied[question] is None and not steady[question] for question in common)
    b, c, n = (context.so_far[name] for name in (ONLY_CANDIDATE, ONLY_REFERENCE, COMPARED))
    anchor = varied[fresh[0]] if fresh else None
    if anchor is None or mcnemar(b, c, "greater") >= ALPHA:
        return
    first, other = anchor
    evidence: dict[str, JsonValue] = {
        "only_candidate": b,
        "only_reference": c,
        "prompts": n,
        "differ_in": [*_unlike(first, other)],
        "other": other.key,
        "examples": [prompt for prompt, _ in fresh[:5]],
    }
    yield finding(
        first,
        "independence",
        "varies",
        "possible",
        f"{label(first.sent.arm, first.sent.endpoint)}: of {n} prompts asked more than once in a block, {b} are "
        f"answered in more than one way where the reference has one answer, {c} the other way round",
        evidence=evidence,
    )


def _copies(batch: Batch, arm: Arm) -> dict[_Question, list[Exchange]]:
    """The exchanges of one arm that ask the same, where there are two or more."""
    asked: dict[_Question, list[Exchange]] = {}
    for exchange in batch:
        sent = exchange.sent
        wanted = sent.arm == arm and sent.phase in ("measure", "neighbour") and exchange.ok and sent.turn is None
        overrides = sent.overrides
        if not wanted or not overrides.greedy or overrides.n > 1 or overrides.wants is not None or overrides.logprobs:
            continue
        same = overrides.model_copy(update={"stream": None, "salt": "", "slot": None})
        asked.setdefault((sent.prompt, same.model_dump_json()), []).append(exchange)
    return {question: copies for question, copies in asked.items() if len(copies) > 1}


def _varying(copies: Sequence[Exchange]) -> tuple[Exchange, Exchange] | None:
    """The first copy, and the first of the others that is answered otherwise; None where all are answered alike."""
    first = copies[0]
    return next(((first, other) for other in copies[1:] if first_divergence(first, other) is not None), None)


def _unlike(first: Exchange, other: Exchange) -> Iterator[str]:
    """How two copies were asked differently, besides their neighbours."""
    a, b = first.sent, other.sent
    yield from (
        name
        for name, differs in (
            ("cache", a.tag != b.tag),
            ("stream", a.stream != b.stream),
            ("slot", a.overrides.slot != b.overrides.slot),
            ("role", a.phase != b.phase),
        )
        if differs
    )
