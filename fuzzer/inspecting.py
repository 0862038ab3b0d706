"""What ``specfuzz inspect`` finds out: the preflight of one endpoint, or of a pair, without a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from fuzzer.history.records import Arm
from fuzzer.plan import Endpoint, Plan
from fuzzer.preflight import End, Looked, compare_ends, notes, open_end, probe, reasons, report
from fuzzer.prompts.pool import PromptPool
from fuzzer.prompts.questions import TOWNS
from fuzzer.summary import Preflight, Reason
from fuzzer.traffic.driver import Driver, Prompts
from fuzzer.traffic.memo import Memo
from fuzzer.wire.features import FEATURES, FeatureName
from fuzzer.wire.identify import Identity
from fuzzer.wire.pairing import render
from fuzzer.wire.watching import clock_seconds


@dataclass(frozen=True, slots=True)
class Inspected:
    """One end: what it says of itself, and which parameters it refused.

    ``features`` says of each whether its replies and pages showed it, or, where nothing was asked that could, how it is
    known of the engine. ``clock_seconds`` is how far its clock is ahead of ours.
    """

    arm: Arm
    title: str
    identity: Identity
    dropped: tuple[str, ...]
    features: Mapping[str, str]
    clock_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """Both ends and what preflight says of them; ``blocking`` is empty where they may be compared."""

    ends: tuple[Inspected, ...]
    preflight: Preflight
    blocking: tuple[Reason, ...]


async def inspect(plan: Plan) -> Inspection:
    """Ask the plan's endpoints all that preflight asks, and keep nothing.

    Raises UnavailableError if an end cannot be reached or fails every prompt, UsageError where it takes an option.
    """
    pool = PromptPool.of(plan)
    memo = Memo()
    driver = Driver(
        record=lambda _: None,
        emit=lambda _: None,
        memo=memo,
        prompts=Prompts(pool.find, pool.filler, memo),
        sampling=plan.sampling,
    )
    async with AsyncExitStack() as stack:
        ends = [await open_end(stack, plan, pool, arm, endpoint) for arm, endpoint in _endpoints(plan)]
        checks = compare_ends(plan, ends)
        blocking = reasons(checks)
        looked = await probe(plan, ends, driver, pool, lambda _: None, 0)
        blocking += [reason for reason in looked.reasons if reason not in blocking]
        looked.checks = [*checks, *looked.checks]
        preflight = report(ends, looked, blocking, notes(plan, ends))
        inspected = [
            Inspected(end.arm, end.title, end.identity, end.dropped, await _features(end, looked), _clock(end, looked))
            for end in ends
        ]
        return Inspection(tuple(inspected), preflight, tuple(blocking))


def _clock(end: End, looked: Looked) -> float | None:
    return clock_seconds(end.identity.clock_seconds, looked.asked[end.arm, end.endpoint.name].replies)


async def _features(end: End, looked: Looked) -> dict[str, str]:
    replies = looked.asked[end.arm, end.endpoint.name].replies
    shown = {
        "token ids": any(reply.token_ids is not None for reply in replies),
        "log-probabilities": any(token.top for reply in replies for token in reply.logprobs or ()),
        "metrics": await end.client.counters() is not None,
        "rendered prompt": await render(end.client, TOWNS.messages, "auto") is not None,
    }
    known: tuple[FeatureName, ...] = ("scoring", "cancellation")
    engine = FEATURES[end.identity.engine]
    return {name: "seen" if seen else "not seen" for name, seen in shown.items()} | {
        name: f"not probed; for this engine: {engine[name].standing}" for name in known
    }


def _endpoints(plan: Plan) -> Sequence[tuple[Arm, Endpoint]]:
    ends: list[tuple[Arm, Endpoint]] = [("candidate", endpoint) for endpoint in plan.candidates]
    return ends + [("reference", endpoint) for endpoint in plan.references]
