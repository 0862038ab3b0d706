"""Preflight: before a run costs anything, who stands at each end, and can the two be compared?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fuzzer.errors import UnavailableError
from fuzzer.history.records import AnyRecord, Arm, Block, Exchange
from fuzzer.oracles.flaws import Reply
from fuzzer.oracles.loops import repetition
from fuzzer.plan import PROBE_COUNT, Endpoint, Plan
from fuzzer.prompts.pool import PromptPool
from fuzzer.summary import EndpointSummary, Preflight, Reason, ReasonCode
from fuzzer.traffic.driver import Driver, Line, StageSpec
from fuzzer.traffic.loops import barrier, closed_loop
from fuzzer.traffic.memo import PROBES
from fuzzer.traffic.setting import Traits
from fuzzer.wire.client import Client
from fuzzer.wire.compare import compare
from fuzzer.wire.identify import Identity

WARMUP_TOKENS = 32
TRUNCATED_SHARE = 0.05
TRUNCATED_LEAST = 2  # one cut probe of a dozen is no estimate of a share

Probes = dict[tuple[Arm, str], list[Exchange]]

CODES: dict[str, ReasonCode] = {"no-speculation": "no-speculation"}


@dataclass(slots=True)
class End:
    """One endpoint of the run, made ready."""

    endpoint: Endpoint
    arm: Arm
    identity: Identity
    client: Client
    dropped: tuple[str, ...] = ()
    line: Line = field(init=False)

    def __post_init__(self) -> None:
        self.line = Line(self.endpoint.name, self.client, traits(self.identity))

    def summary(self) -> EndpointSummary:
        """The endpoint for ``summary.json``."""
        identity = self.identity
        return EndpointSummary(
            name=self.endpoint.name,
            role=self.arm,
            url=self.endpoint.url,
            engine=identity.engine,
            model=identity.model,
            fingerprint=identity.fingerprint,
            lm_head=self.endpoint.lm_head,
            speculation=identity.speculation,
            context_length=identity.context_length,
            slots=identity.slots,
            dropped_parameters=self.dropped,
        )


def traits(identity: Identity) -> Traits:
    """What a schedule may go by at this end."""
    return Traits(
        kv_block=identity.kv_block,
        kv_tokens=identity.kv_tokens,
        context=identity.context_length,
        pins=identity.engine == "llamacpp",
        salts=identity.engine in ("vllm", "sglang", "llamacpp"),
    )


def compare_ends(plan: Plan, ends: Sequence[End]) -> tuple[list[Reason], list[str]]:
    """What stands against comparing the ends (blocking), and what one should know (warnings)."""
    blocking: list[Reason] = []
    warnings: list[str] = []
    identities = {(end.arm, end.endpoint.name): end.identity for end in ends}
    for candidate in plan.candidates:
        reference = plan.reference_of(candidate.name)
        theirs = identities["reference", reference.name] if reference else None
        for problem in compare(identities["candidate", candidate.name], theirs):
            if problem.code == "no-speculation" and not plan.policy.require_speculation:
                continue
            text = f"{candidate.name}: {problem.message}"
            if problem.severity == "blocking":
                blocking.append(Reason(code=CODES.get(problem.code, "not-comparable"), message=text))
            else:
                warnings.append(text)
        if reference and reference.lm_head is None and candidate.lm_head is not None:
            warnings.append(f"{candidate.name}: the reference's lm_head is not stated; assumed to be the candidate's")
    for end in ends:
        slots = end.identity.slots
        if slots is not None and slots < max(plan.concurrency):
            text = f"{end.endpoint.name} has {slots} slots: no concurrency of {max(plan.concurrency)} can be reached"
            blocking.append(Reason(code="concurrency-not-reached", message=text))
        warnings.extend(f"{end.endpoint.name}: {text}" for text in end.identity.warnings)
        if end.dropped:
            warnings.append(f"{end.endpoint.name} refuses {', '.join(end.dropped)}: left out of every request")
    return blocking, warnings


def changed_ends(before: Sequence[EndpointSummary], now: Sequence[EndpointSummary]) -> list[Reason]:
    """What is not as it was when the run began, if it had begun: a run on two different servers says nothing."""
    old = {(end.role, end.name): end for end in before}
    reasons = []
    for end in now:
        then = old.get((end.role, end.name))
        if then is not None and then != end:
            fields = [name for name in EndpointSummary.model_fields if getattr(then, name) != getattr(end, name)]
            was = ", ".join(f"{name} was {getattr(then, name)} and is {getattr(end, name)}" for name in fields)
            text = f"{end.role} {end.name} is not what it was when the run began ({was}): start a new run"
            reasons.append(Reason(code="not-comparable", message=text))
    return reasons


async def probe(
    plan: Plan, ends: Sequence[End], driver: Driver, pool: PromptPool, record: Callable[[AnyRecord], None], attempt: int
) -> tuple[Probes, list[Reason]]:
    """Send a few prompts to each end, one at a time, and then warm it up within the concurrency cap.

    ``attempt`` counts the processes of the run before this one: probes that stopped it are sent anew when it goes on.
    """
    probes: Probes = {}
    reasons: list[Reason] = []
    prompts = tuple(pool.filler(PROBES + index).id for index in range(PROBE_COUNT))
    width = max(plan.concurrency)
    warm = tuple(pool.filler(PROBES + PROBE_COUNT + index).id for index in range(width))
    for end in ends:
        cell = f"{end.endpoint.name}/preflight"
        spec = StageSpec(
            cell=cell,
            arm=end.arm,
            phase="preflight",
            block=attempt,
            concurrency=1,
            releases=(closed_loop(1, prompts),),
        )
        got = await driver.drive(spec, end.line)
        probes[end.arm, end.endpoint.name] = got
        if not any(exchange.ok for exchange in got):
            raise UnavailableError(_all_failed(end, got))
        if end.arm == "reference" and (share := truncated(got)) > TRUNCATED_SHARE:
            reasons.append(_truncated(plan, end, share))
        spec = StageSpec(
            cell=cell,
            arm=end.arm,
            phase="warmup",
            block=attempt,
            concurrency=width,
            releases=(barrier(width, warm),),
            max_tokens=WARMUP_TOKENS,
        )
        await driver.drive(spec, end.line)
    for name in () if reasons else dict.fromkeys(end.endpoint.name for end in ends):
        record(Block(cell=f"{name}/preflight", block=attempt, judged_prompts=()))
    return probes, reasons


def truncated(exchanges: Sequence[Exchange]) -> float:
    """The share of replies, from 0 to 1, that max_tokens cut short.

    A reply that goes round in a loop does not count: no limit is long enough for it, and calibration drops its prompt.
    """
    cut = sum(_cut_short(exchange) for exchange in exchanges)
    return cut / len(exchanges) if cut >= TRUNCATED_LEAST else 0.0


def _cut_short(exchange: Exchange) -> bool:
    received = exchange.received
    if received is None or received.finish_reason != "length":
        return False
    texts = (received.text, received.reasoning)
    return not any(next(repetition(Reply(text, "", whole=False)), None) for text in texts)


def _truncated(plan: Plan, end: End, share: float) -> Reason:
    text = (
        f"{share:.0%} of the probes at {end.endpoint.name} ran into max_tokens ({plan.sampling.tokens}): "
        f"raise --max-tokens, or use --thinking off"
    )
    return Reason(code="truncated", message=text)


def _all_failed(end: End, exchanges: Sequence[Exchange]) -> str:
    first = next((exchange.received for exchange in exchanges if exchange.received is not None), None)
    why = f"{first.outcome}: {first.detail}" if first else "no reply"
    return f"{end.arm} {end.endpoint.name} at {end.endpoint.url} failed every probe ({why})"


def report(ends: Sequence[End], probes: Probes, reasons: Sequence[Reason], warnings: list[str]) -> Preflight:
    """The preflight for ``summary.json``."""
    seconds = [
        (exchange.received.end_ns - exchange.sent.sent_ns) / 1e9
        for got in probes.values()
        for exchange in got
        if exchange.received is not None
    ]
    references = [probes[end.arm, end.endpoint.name] for end in ends if end.arm == "reference"] if probes else []
    return Preflight(
        comparable=not reasons,
        problems=tuple(reason.message for reason in reasons),
        warnings=tuple(dict.fromkeys(warnings)),
        truncated_share=max((truncated(got) for got in references), default=0.0),
        seconds_per_request=sum(seconds) / len(seconds) if seconds else None,
    )
