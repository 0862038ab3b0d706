"""Preflight: before a run costs anything, who stands at each end, and can the two be compared?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

import anyio

from fuzzer.errors import UnavailableError
from fuzzer.history.records import AnyRecord, Arm, Block, Counters, Exchange, Phase
from fuzzer.history.schedule import Release
from fuzzer.oracles.flaws import Reply
from fuzzer.oracles.loops import repetition
from fuzzer.plan import PROBE_COUNT, Endpoint, Plan
from fuzzer.probes import Asked, Prober, objections
from fuzzer.prompts.pool import PromptPool
from fuzzer.prompts.questions import OPEN, TOWNS
from fuzzer.summary import Check, CheckCode, EndpointSummary, Preflight, Reason, ReasonCode
from fuzzer.traffic.driver import TOP_LOGPROBS, Driver, Line, StageSpec
from fuzzer.traffic.loops import barrier, closed_loop
from fuzzer.traffic.memo import PROBES
from fuzzer.traffic.setting import Traits
from fuzzer.wire.client import Client
from fuzzer.wire.compare import compare
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.identify import Identity, identify, wait_until_ready
from fuzzer.wire.negotiate import negotiate
from fuzzer.wire.pairing import render, scored, template, weights
from fuzzer.wire.params import Params
from fuzzer.wire.watching import clock, limited, narrow, standing_still

WARMUP_TOKENS = 32
TRUNCATED_SHARE = 0.05
TRUNCATED_LEAST = 2  # one cut probe of a dozen is no estimate of a share
QUICK_SECONDS, QUICK_SAMPLES, SLOW_SECONDS = 0.02, 20, 0.25  # how often a server is asked while it warms up
NEGOTIATION = 2_000_000  # the filler that asks which parameters an engine takes
LAG_SECONDS = 2.0  # by which an engine's counters may lag behind its replies

Probes = dict[tuple[Arm, str], list[Exchange]]

CODES: dict[CheckCode, ReasonCode] = {"no-speculation": "no-speculation", "slots": "concurrency-not-reached"}


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

    @property
    def title(self) -> str:
        """What it is called in a sentence."""
        name = self.endpoint.name
        return name if name == self.arm else f"{self.arm} {name}"

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
            kv_tokens=identity.kv_tokens,
            kv_block=identity.kv_block,
            memory_bytes=identity.memory_bytes,
            memory_kind=identity.memory_kind,
            clock_seconds=identity.clock_seconds,
            dropped_parameters=self.dropped,
        )


async def open_end(stack: AsyncExitStack, plan: Plan, pool: PromptPool, arm: Arm, endpoint: Endpoint) -> End:
    """Find out who is there and which parameters it takes; connected until the stack closes.

    Raises UnavailableError if nobody can be reached, UsageError if it takes an option to go on.
    """
    sampling = plan.sampling
    if plan.wait_ready:
        await wait_until_ready(endpoint, plan.wait_ready, role=arm)
    identity = await identify(endpoint, role=arm)
    dialect = dialect_for(identity.engine)
    client = await stack.enter_async_context(
        Client(identity.pin(endpoint), dialect, timeout=sampling.timeout, role=arm)
    )
    asked = Params(
        max_tokens=8,
        stream=sampling.stream,
        logprobs=TOP_LOGPROBS,
        cache=sampling.cache,
        salt="negotiation",
        thinking=sampling.thinking,
    )
    _, dropped, _ = await negotiate(client, dialect, pool.filler(NEGOTIATION).messages, asked)
    return End(endpoint, arm, identity, client, dropped)


def traits(identity: Identity) -> Traits:
    """What a schedule may go by at this end."""
    return Traits(
        kv_block=identity.kv_block,
        kv_tokens=identity.kv_tokens,
        context=identity.context_length,
        pins=identity.engine == "llamacpp",
        salts=identity.engine in ("vllm", "sglang", "llamacpp"),
    )


def compare_ends(plan: Plan, ends: Sequence[End]) -> list[Check]:
    """What speaks against comparing the ends, by what they say of themselves."""
    checks: list[Check] = []
    by_name = {(end.arm, end.endpoint.name): end for end in ends}
    for candidate in plan.candidates:
        ours, theirs = by_name["candidate", candidate.name], _reference(plan, candidate.name, by_name)
        strict = plan.policy.require_speculation
        found = compare(ours.identity, theirs.identity if theirs else None)
        checks.extend(check for check in found if strict or check.code != "no-speculation")
        checks.extend(defaults(ours, theirs))
    for end in ends:
        slots = end.identity.slots
        if slots is not None and slots < max(plan.concurrency):
            message = f"it has {slots} slots: no concurrency of {max(plan.concurrency)} can be reached"
            change = "start it with more (--parallel, --max-num-seqs), or lower --concurrency"
            checks.append(Check(code="slots", severity="blocking", end=end.title, message=message, change=change))
    return checks


def notes(plan: Plan, ends: Sequence[End]) -> list[str]:
    """What one should know of the ends besides."""
    said: list[str] = []
    for candidate in plan.candidates:
        reference = plan.reference_of(candidate.name)
        if reference and reference.lm_head is None and candidate.lm_head is not None:
            said.append(f"{candidate.name}: the reference's lm_head is not stated; assumed to be the candidate's")
    for end in ends:
        said.extend(f"{end.endpoint.name}: {text}" for text in end.identity.warnings)
        told, stated = end.identity.lm_head, end.endpoint.lm_head
        if told is not None and stated is not None and told != stated:
            said.append(f"{end.endpoint.name}: it says that its lm_head runs in {told}; --lm-head says {stated}")
        if end.dropped:
            said.append(f"{end.endpoint.name} refuses {', '.join(end.dropped)}: left out of every request")
    return said


def defaults(ours: End, theirs: End | None) -> Iterator[Check]:
    """At most one check: generation defaults that the ends tell of, and that are not the same at both.

    Every request overrides those that its dialect knows, so it takes a refused parameter to make them unfair.
    """
    told = {end.title: end.identity.default_generation for end in (ours, theirs) if end is not None}
    names = sorted({name for table in told.values() for name in table})
    unlike = [name for name in names if len({str(table.get(name)) for table in told.values()}) > 1]
    if theirs is None or not unlike:
        return
    shown = "; ".join(
        f"{title} has {', '.join(f'{name} {table[name]}' for name in unlike if name in table) or 'none'}"
        for title, table in told.items()
    )
    exposed = [name for name in unlike if name in (*ours.dropped, *theirs.dropped)]
    yield Check(
        code="generation-defaults",
        severity="blocking" if exposed else "warning",
        message=f"different generation defaults: {shown}",
        change=f"the engine refuses {', '.join(exposed)}, so start both without them"
        if exposed
        else "they are overridden in every request",
    )


def _reference(plan: Plan, candidate: str, ends: Mapping[tuple[Arm, str], End]) -> End | None:
    reference = plan.reference_of(candidate)
    return ends["reference", reference.name] if reference else None


def reasons(checks: Sequence[Check]) -> list[Reason]:
    """The blocking checks as reasons of the verdict."""
    blocking = [check for check in checks if check.severity == "blocking"]
    return [Reason(code=CODES.get(check.code, "not-comparable"), message=check.text) for check in blocking]


def changed_ends(before: Sequence[EndpointSummary], now: Sequence[EndpointSummary]) -> list[Reason]:
    """What is not as it was when the run began, if it had begun: a run on two different servers says nothing."""
    old = {(end.role, end.name): end for end in before}
    reasons = []
    for end in now:
        then = old.get((end.role, end.name))
        fields = [] if then is None else _unlike(then.lasting, end.lasting)
        if fields:
            was = ", ".join(f"{name} was {getattr(then, name)} and is {getattr(end, name)}" for name in fields)
            text = f"{end.role} {end.name} is not what it was when the run began ({was}): start a new run"
            reasons.append(Reason(code="not-comparable", message=text))
    return reasons


def _unlike(then: EndpointSummary, now: EndpointSummary) -> list[str]:
    return [name for name in EndpointSummary.model_fields if getattr(then, name) != getattr(now, name)]


@dataclass(slots=True)
class Looked:
    """What preflight's requests have shown: probes by end, what they object to, and what ends the run by itself."""

    probes: Probes = field(default_factory=dict)
    asked: dict[tuple[Arm, str], Asked] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)


async def probe(
    plan: Plan, ends: Sequence[End], driver: Driver, pool: PromptPool, record: Callable[[AnyRecord], None], attempt: int
) -> Looked:
    """Send a few prompts and questions to each end, one at a time, and then warm it up within the concurrency cap.

    ``attempt`` counts the processes of the run before this one: probes that stopped it are sent anew when it goes on.
    Raises UnavailableError if an end fails all prompts.
    """
    looked = Looked()
    for end in ends:
        await _Look(plan, end, driver, pool, attempt, looked).run()
    for candidate in plan.candidates:
        looked.checks.extend(await _compare(plan, candidate.name, ends, looked))
    looked.reasons.extend(reasons(looked.checks))
    for name in () if looked.reasons else dict.fromkeys(end.endpoint.name for end in ends):
        record(Block(cell=f"{name}/preflight", block=attempt, judged_prompts=()))
    return looked


@dataclass(slots=True)
class _Look:
    """One end's part of preflight."""

    plan: Plan
    end: End
    driver: Driver
    pool: PromptPool
    attempt: int
    looked: Looked

    async def run(self) -> None:
        """Probes, questions, warm-up, and what the counters did meanwhile."""
        end, key = self.end, (self.end.arm, self.end.endpoint.name)
        before = await end.client.counters()
        prompts = tuple(self.pool.filler(PROBES + index).id for index in range(PROBE_COUNT))
        got = await self.driver.drive(self._spec("preflight", closed_loop(1, prompts)), end.line)
        prober = Prober(self.plan, end.arm, end.line, self.driver, self.attempt, end.title)
        if not any(exchange.ok for exchange in got):
            raise UnavailableError(_all_failed(self.plan, end, got, otherwise=await prober.works_otherwise()))
        self.looked.probes[key] = got
        if end.arm == "reference" and (share := truncated(got)) > TRUNCATED_SHARE:
            self.looked.reasons.append(_truncated(self.plan, end, share))
        self.looked.asked[key] = asked = await prober.run()
        samples, warm = await self._warm_up()
        replies = [*(exchange.received for exchange in got if exchange.ok and exchange.received), *asked.replies]
        after = await _moved(end.client, before)
        speculates = end.arm == "candidate" and end.identity.speculation is True
        checks = self.looked.checks
        checks.extend(standing_still(end.title, before, after, replies, speculates=speculates))
        checks.extend(clock(end.title, end.identity.clock_seconds, replies))
        checks.extend(narrow(end.title, samples, max(self.plan.concurrency)))
        sent = [exchange.received for exchange in (*got, *warm) if exchange.received is not None]
        checks.extend(limited(end.title, sent, max(self.plan.concurrency)))

    async def _warm_up(self) -> tuple[list[Counters], list[Exchange]]:
        """As many requests at once as the run will send, and what the server says of them while they run."""
        width = max(self.plan.concurrency)
        prompts = tuple(self.pool.filler(PROBES + PROBE_COUNT + index).id for index in range(width))
        samples: list[Counters] = []

        async def watch() -> None:
            pause = QUICK_SECONDS
            while (counters := await self.end.client.counters()) is not None:
                samples.append(counters)
                pause = pause if len(samples) < QUICK_SAMPLES else SLOW_SECONDS
                await anyio.sleep(pause)

        async with anyio.create_task_group() as tasks:
            if width > 1:
                tasks.start_soon(watch)
            spec = self._spec("warmup", barrier(width, prompts), width, WARMUP_TOKENS)
            warm = await self.driver.drive(spec, self.end.line)
            tasks.cancel_scope.cancel()
        return samples, warm

    def _spec(self, phase: Phase, release: Release, width: int = 1, tokens: int | None = None) -> StageSpec:
        return StageSpec(
            cell=f"{self.end.endpoint.name}/preflight",
            arm=self.end.arm,
            phase=phase,
            block=self.attempt,
            concurrency=width,
            releases=(release,),
            max_tokens=tokens,
        )


async def _moved(client: Client, before: Counters | None) -> Counters | None:
    """The counters once they have counted something since ``before``, or what they are after two seconds of waiting."""
    after = await client.counters()
    with anyio.move_on_after(LAG_SECONDS):
        while before and after and before.generated_tokens == after.generated_tokens:
            await anyio.sleep(SLOW_SECONDS)
            after = await client.counters() or after
    return after


async def _compare(plan: Plan, candidate: str, ends: Sequence[End], looked: Looked) -> list[Check]:
    """What the replies of a candidate and its reference object to."""
    by_name = {(end.arm, end.endpoint.name): end for end in ends}
    ours, theirs = by_name["candidate", candidate], _reference(plan, candidate, by_name)
    mine = looked.asked["candidate", candidate]
    if theirs is None:
        return objections(mine.probed, None)
    other = looked.asked["reference", theirs.endpoint.name]
    checks = [*objections(mine.probed, other.probed), *objections(other.probed, mine.probed)]
    names = f"{ours.title} and {theirs.title}"
    questions = [(mine.first[prompt], other.first[prompt]) for prompt in mine.first if prompt in other.first]
    probes = zip(looked.probes["candidate", candidate], looked.probes["reference", theirs.endpoint.name], strict=False)
    pairs = [(left.received, right.received) for left, right in probes if left.received and right.received]
    rendered = [
        (left, right)
        for question in OPEN
        if (left := await render(ours.client, question.messages, plan.sampling.thinking)) is not None
        and (right := await render(theirs.client, question.messages, plan.sampling.thinking)) is not None
    ]
    same_engine = ours.identity.engine == theirs.identity.engine
    checks.extend(template(names, [*questions, *pairs], rendered, same_engine=same_engine))
    apart = await scored(ours.client, theirs.client, TOWNS.messages, other.first.get(TOWNS.id))
    checks.extend(weights(names, questions, apart))
    return checks


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


def _all_failed(plan: Plan, end: End, exchanges: Sequence[Exchange], *, otherwise: bool) -> str:
    first = next((exchange.received for exchange in exchanges if exchange.received is not None), None)
    why = f"{first.outcome}: {first.detail}" if first else "no reply"
    hint = f"; it does answer with {'--no-stream' if plan.sampling.stream else '--stream'}" if otherwise else ""
    return f"{end.arm} {end.endpoint.name} at {end.endpoint.url} failed every probe ({why}){hint}"


def report(ends: Sequence[End], looked: Looked, blocking: Sequence[Reason], said: Sequence[str]) -> Preflight:
    """The preflight for ``summary.json``; ``said`` are warnings besides those of the checks."""
    probes = looked.probes
    seconds = [
        (exchange.received.end_ns - exchange.sent.sent_ns) / 1e9
        for got in probes.values()
        for exchange in got
        if exchange.received is not None
    ]
    references = [probes[end.arm, end.endpoint.name] for end in ends if end.arm == "reference"] if probes else []
    warnings = [*(check.text for check in looked.checks if check.severity == "warning"), *said]
    return Preflight(
        comparable=not blocking,
        problems=tuple(reason.message for reason in blocking),
        warnings=tuple(dict.fromkeys(warnings)),
        checks=tuple(dict.fromkeys(looked.checks)),
        probes=tuple(probed for asked in looked.asked.values() for probed in asked.probed),
        truncated_share=max((truncated(got) for got in references), default=0.0),
        seconds_per_request=sum(seconds) / len(seconds) if seconds else None,
    )
