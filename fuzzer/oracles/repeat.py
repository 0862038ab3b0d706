"""Run-to-run variation: at temperature 0 a candidate that answers the same prompt differently from pass to pass.

The reference shows the same prompts twice in the same two orders. Where it varies too, that is what batching does to
this model, and its rate is in the noise floor. Where it has next to none, a candidate that does is a finding, one for
all the blocks of a level.
"""

from __future__ import annotations

from collections.abc import Iterator

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.oracles.build import finding, label
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import first_divergence, matched
from fuzzer.stats import mcnemar

ALPHA = 0.001  # a level is tested after each of its blocks, and this is no reason to fail
STEADY = 0.01  # the share of prompts on which a reference that "has none" may vary

COMPARED, OURS, THEIRS, ONLY_CANDIDATE, ONLY_REFERENCE, TOLD = (
    f"repeat.{name}" for name in ("compared", "ours", "theirs", "b", "c", "told")
)

_ALLOWED = {"exposure", "cache", "cache tag"}


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """At most one finding: so far the candidate varies between its passes, and the reference does not."""
    ours, theirs = _varied(batch, "candidate"), _varied(batch, "reference")
    common = ours.keys() & theirs.keys()
    only = [prompt for prompt in sorted(common) if ours[prompt] is not None and theirs[prompt] is None]
    so_far = context.so_far
    so_far[COMPARED] += len(common)
    so_far[OURS] += sum(ours[prompt] is not None for prompt in common)
    so_far[THEIRS] += sum(theirs[prompt] is not None for prompt in common)
    so_far[ONLY_CANDIDATE] += len(only)
    so_far[ONLY_REFERENCE] += sum(theirs[prompt] is not None and ours[prompt] is None for prompt in common)
    anchor = ours[only[0]] if only else None
    n, b, c = (so_far[name] for name in (COMPARED, ONLY_CANDIDATE, ONLY_REFERENCE))
    if anchor is None or so_far[TOLD] or so_far[THEIRS] > STEADY * n or mcnemar(b, c, "greater") >= ALPHA:
        return
    so_far[TOLD] = 1
    yield finding(
        anchor,
        "divergence",
        "run-to-run",
        "possible",
        f"{label(anchor.sent.arm, anchor.sent.endpoint)}: {so_far[OURS]} of {n} prompts are answered otherwise the "
        f"second time at temperature 0; the reference varies on {so_far[THEIRS]}",
        evidence={"only_candidate": b, "only_reference": c, "prompts": n, "examples": list(only[:5])},
    )


def _varied(batch: Batch, arm: Arm) -> dict[str, Exchange | None]:
    """By prompt: the second pass's exchange where it differs from the first's, None where they are the same."""
    passes: dict[str, dict[int, Exchange]] = {}
    for exchange in batch:
        sent = exchange.sent
        if sent.arm == arm and sent.phase == "calibration" and sent.pass_index in (0, 1):
            passes.setdefault(sent.prompt, {})[sent.pass_index] = exchange
    return {
        prompt: found[1] if first_divergence(found[0], found[1]) is not None else None
        for prompt, found in passes.items()
        if len(found) == 2 and found[0].sent.concurrency > 1 and _comparable(found[0], found[1])
    }


def _comparable(first: Exchange, second: Exchange) -> bool:
    unlike = matched(first, second)
    return unlike is None or set(unlike.split(", ")) <= _ALLOWED
