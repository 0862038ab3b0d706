"""Run-to-run variation: at temperature 0 a candidate that answers the same prompt differently from pass to pass.

The reference shows the same prompts twice in the same two orders, so what batching alone does is in its own numbers.
Only a rate beyond those is a finding, one for the block.
"""

from __future__ import annotations

from collections.abc import Iterator

from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Exchange
from fuzzer.oracles.build import finding, label
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.divergence import first_divergence, matched
from fuzzer.stats import mcnemar

ALPHA = 0.001  # a run has many blocks, and this is no reason to fail


def judge(batch: Batch, _: Context) -> Iterator[Finding]:
    """At most one finding: the candidate varies between its two calibration passes where the reference does not."""
    ours, theirs = _varied(batch, "candidate"), _varied(batch, "reference")
    common = ours.keys() & theirs.keys()
    only = [prompt for prompt in sorted(common) if ours[prompt] is not None and theirs[prompt] is None]
    c = sum(theirs[prompt] is not None and ours[prompt] is None for prompt in common)
    if not only or mcnemar(len(only), c, "greater") >= ALPHA:
        return
    anchor = ours[only[0]]
    if anchor is None:
        return
    where = label(anchor.sent.arm, anchor.sent.endpoint)
    varied = sum(one is not None for one in ours.values())
    yield finding(
        anchor,
        "divergence",
        "run-to-run",
        "possible",
        f"{where}: {varied} of {len(common)} prompts are answered otherwise the second time at temperature 0; the "
        f"reference varies on {sum(theirs[prompt] is not None for prompt in common)}",
        evidence={"only_candidate": len(only), "only_reference": c, "prompts": len(common), "examples": list(only[:5])},
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
    return unlike is None or unlike == "exposure"
