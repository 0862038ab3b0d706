"""What ``specfuzz inspect`` finds out: the preflight of one endpoint, or of a pair, without a run."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from fuzzer.history.records import Arm
from fuzzer.plan import Endpoint, Plan
from fuzzer.preflight import End, compare_ends, notes, open_end, probe, reasons, report
from fuzzer.prompts.pool import PromptPool
from fuzzer.summary import Preflight, Reason
from fuzzer.traffic.driver import Driver, Prompts
from fuzzer.traffic.memo import Memo
from fuzzer.wire.identify import Identity


@dataclass(frozen=True, slots=True)
class Inspected:
    """One end: what it says of itself, and which parameters it refused."""

    arm: Arm
    title: str
    identity: Identity
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inspection:
    """Both ends and what preflight says of them; ``blocking`` is empty where they may be compared."""

    ends: tuple[Inspected, ...]
    preflight: Preflight
    blocking: tuple[Reason, ...]


async def inspect(plan: Plan) -> Inspection:
    """Ask the plan's endpoints all that preflight asks, and keep nothing.

    Raises UnavailableError if an end cannot be reached or fails every prompt, UsageError if it takes an option to go on.
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
        ends = [await open_end(stack, plan.sampling, pool, arm, endpoint) for arm, endpoint in _endpoints(plan)]
        checks = compare_ends(plan, ends)
        blocking = reasons(checks)
        looked = await probe(plan, ends, driver, pool, lambda _: None, 0)
        blocking += [reason for reason in looked.reasons if reason not in blocking]
        looked.checks = [*checks, *looked.checks]
        preflight = report(ends, looked, blocking, notes(plan, ends))
        return Inspection(tuple(_inspected(end) for end in ends), preflight, tuple(blocking))


def _inspected(end: End) -> Inspected:
    return Inspected(end.arm, end.title, end.identity, end.dropped)


def _endpoints(plan: Plan) -> Sequence[tuple[Arm, Endpoint]]:
    ends: list[tuple[Arm, Endpoint]] = [("candidate", endpoint) for endpoint in plan.candidates]
    return ends + [("reference", endpoint) for endpoint in plan.references]
