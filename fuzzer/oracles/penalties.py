"""Parameters that are silently dropped: the strongest penalties must change many a greedy reply.

A schedule sends twins: one prompt plain, and again with penalties. Where the reference's second reply differs from its
first and the candidate's does not, the candidate did not heed them; one such pair says little, ten of them a lot. Now
and then batching alone changes a reply, so a candidate that ignores penalties may seem to have heeded one.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import JsonValue

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.oracles.build import finding, label
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import first_divergence
from fuzzer.stats import mcnemar

ALPHA = 0.001
PAIRS = 10  # changed at the reference, none of them at the candidate: certain
SURE = 1e-4  # certain all the same, if so many more change at the reference

HEEDED, ONLY_REFERENCE, ONLY_CANDIDATE = "penalties.heeded", "penalties.b", "penalties.c"


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """At most one finding: so far in this cell, penalties change the reference's replies and not the candidate's."""
    ours, theirs = _twins(batch, "candidate"), _twins(batch, "reference")
    common = sorted(ours.keys() & theirs.keys())
    unheeded = [prompt for prompt in common if theirs[prompt][0] and not ours[prompt][0]]
    context.so_far[ONLY_REFERENCE] += len(unheeded)
    context.so_far[ONLY_CANDIDATE] += sum(ours[prompt][0] and not theirs[prompt][0] for prompt in common)
    context.so_far[HEEDED] += sum(changed for changed, _ in ours.values())
    b, c = context.so_far[ONLY_REFERENCE], context.so_far[ONLY_CANDIDATE]
    if not unheeded or (p := mcnemar(b, c, "greater")) >= ALPHA:
        return
    exchange = ours[unheeded[0]][1]
    never = context.so_far[HEEDED] == 0 and b >= PAIRS
    evidence: dict[str, JsonValue] = {"only_reference": b, "only_candidate": c, "examples": [*unheeded[:5]]}
    yield finding(
        exchange,
        "self-consistency",
        "penalties-ignored",
        "certain" if never or p < SURE else "likely",
        f"{label(exchange.sent.arm, exchange.sent.endpoint)}: penalties change the reply to {b} prompts at the "
        f"reference and not here, {c} the other way round: they are not heeded",
        evidence=evidence,
    )


def _twins(batch: Batch, arm: Arm) -> dict[str, tuple[bool, Exchange]]:
    """By prompt: whether penalties changed the reply, and the penalised exchange."""
    plain: dict[tuple[str, str], Exchange] = {}
    penalised: list[tuple[tuple[str, str], Exchange]] = []
    for exchange in batch:
        sent, overrides = exchange.sent, exchange.sent.overrides
        if sent.arm != arm or sent.phase != "neighbour" or not exchange.ok or sent.turn is not None:
            continue
        bare = overrides.model_copy(update={"presence_penalty": None, "frequency_penalty": None})
        if not bare.greedy:
            continue
        key = (sent.prompt, bare.model_dump_json())
        if overrides.greedy:
            plain[key] = exchange
        else:
            penalised.append((key, exchange))
    return {
        key[0]: (first_divergence(plain[key], exchange) is not None, exchange)
        for key, exchange in penalised
        if key in plain
    }
