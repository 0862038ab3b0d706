"""Preflight's questions to one end: what it may silently ignore is probed, never believed.

A dozen short requests, one at a time, and nearly as many again only where the first ones looked odd. They are recorded
like all others, as preflight exchanges, which no rate counts; what is sampled among them is looked at by no oracle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from fuzzer.history.records import Arm, Exchange, Prompt, Received
from fuzzer.history.schedule import Overrides, Release, Send
from fuzzer.judge.speeds import SPEED
from fuzzer.plan import Plan
from fuzzer.prompts.questions import NAMES, THINGS, TOWNS
from fuzzer.summary import Check, CheckCode, Probed, ProbeName
from fuzzer.traffic.driver import TOP_LOGPROBS, Driver, Line, StageSpec
from fuzzer.wire import probing
from fuzzer.wire.dialects import REQUIRED, Dialect

TOKENS = 24  # of a reply to an open question: enough to part, and soon over
FIRST_TOKENS = 8
SEEDS = (1, 2, 3)
HOT = 1.0  # temperature at which a seed must show
KEPT = REQUIRED | {"n"}
_PENALTIES = ("repetition_penalty", "repeat_penalty")


@dataclass(slots=True)
class Asked:
    """One end's answers: ``first`` the first usable reply to each question, ``probed`` what the probes have shown."""

    first: dict[str, Received] = field(default_factory=dict)
    replies: list[Received] = field(default_factory=list)
    probed: list[Probed] = field(default_factory=list)


class Prober:
    """Asks one end; ``name`` is what it is called in reports, ``attempt`` tells this process's stages from others'."""

    def __init__(self, plan: Plan, arm: Arm, line: Line, driver: Driver, attempt: int, name: str) -> None:
        self._arm: Arm = arm
        self._line = line
        self._driver = driver
        self._attempt = attempt
        self._name = name
        self._streamed = plan.sampling.stream
        self._part = 0
        self._asked = Asked()

    async def run(self) -> Asked:
        """All questions; never raises for what a server does."""
        sends = [_send(TOWNS, seed=seed, logprobs=TOP_LOGPROBS) for seed in SEEDS]
        sends += [_send(TOWNS, stream=not self._streamed)]
        sends += [_send(question, tokens=FIRST_TOKENS, logprobs=TOP_LOGPROBS) for question in (NAMES, THINGS)]
        replies = await self._ask(sends)
        same, other = replies[: len(SEEDS)], replies[len(SEEDS) : len(SEEDS) + 1]
        again: list[Received] = []
        if probing.sampled(same):
            again = await self._ask([_send(NAMES, seed=seed) for seed in SEEDS])
        limited = [(reply, TOKENS) for reply in (*same, *again)]
        limited += [(reply, FIRST_TOKENS) for reply in replies[len(SEEDS) + 1 :]]
        self._note(probing.temperature(self._name, same, again), probing.limit(self._name, limited))
        base = probing.steady(same)
        if base is not None:
            await self._stop(base)
            await self._stream(same, other)
            await self._neutral(same)
        await self._seed()
        return self._asked

    async def works_otherwise(self) -> bool:
        """Whether a reply comes at all if it is streamed where the run does not, or not streamed where it does."""
        replies = await self._ask([_send(TOWNS, stream=not self._streamed)])
        return any(reply.outcome == "ok" for reply in replies)

    async def _stop(self, base: Received) -> None:
        strings = probing.stops(base)
        if strings:
            replies = await self._ask([_send(TOWNS, stop=(string,)) for string in strings])
            self._note(probing.stop(self._name, base, list(zip(strings, replies, strict=False))))

    async def _stream(self, same: Sequence[Received], other: Sequence[Received]) -> None:
        if probing.stream(self._name, same, other, streamed=self._streamed).result == "odd":
            other = [*other, *await self._ask([_send(TOWNS, stream=not self._streamed)])]
        self._note(probing.stream(self._name, same, other, streamed=self._streamed))

    async def _neutral(self, same: Sequence[Received]) -> None:
        plain = self._line.client.dialect
        sent = any(name in plain.neutral and name not in plain.dropped for name in _PENALTIES)
        with _speaking(self._line, without_neutral(plain) if sent else with_penalty(plain)):
            other = await self._ask([_send(TOWNS)])
            if probing.neutral(self._name, same, other, sent=sent).result == "odd":
                other += await self._ask([_send(TOWNS)])
        if len(other) > 1:
            same = [*same, *await self._ask([_send(TOWNS)])]  # or it is the server that has changed meanwhile
        self._note(probing.neutral(self._name, same, other, sent=sent))

    async def _seed(self) -> None:
        first, other, _ = SEEDS
        replies = await self._ask([_send(TOWNS, seed=seed) for seed in (first, first, other)], HOT)
        self._note(probing.seed(self._name, replies[:2], replies[2:]))

    async def _ask(self, sends: Sequence[Send], temperature: float | None = None) -> list[Received]:
        """The replies, in order; one that was lost to an interruption is missing. What is sampled, nobody judges."""
        self._part += 1
        spec = StageSpec(
            cell=f"{self._line.name}/preflight{'' if temperature is None else f'/{SPEED}'}",
            arm=self._arm,
            phase="preflight",
            block=self._attempt,
            concurrency=1,
            releases=(Release(width=1, chains=tuple((send,) for send in sends), keep_full=True),),
            part=self._part,
            max_tokens=TOKENS,
            temperature=temperature,
        )
        exchanges = await self._driver.drive(spec, self._line)
        if temperature is None:
            self._remember(exchanges)
        return [exchange.received for exchange in exchanges if exchange.received is not None]

    def _remember(self, exchanges: Iterable[Exchange]) -> None:
        for exchange in exchanges:
            if exchange.received is not None and exchange.ok:
                self._asked.replies.append(exchange.received)
                self._asked.first.setdefault(exchange.sent.prompt, exchange.received)

    def _note(self, *probed: Probed) -> None:
        self._asked.probed.extend(probed)


def _send(
    question: Prompt,
    *,
    tokens: int = TOKENS,
    seed: int | None = None,
    logprobs: int | None = None,
    stream: bool | None = None,
    stop: tuple[str, ...] = (),
) -> Send:
    overrides = Overrides(max_tokens=tokens, seed=seed, logprobs=logprobs, stream=stream, stop=stop)
    return Send(prompt=question.id, overrides=overrides)


@contextmanager
def _speaking(line: Line, dialect: Dialect) -> Iterator[None]:
    plain = line.client.dialect
    line.client.dialect = dialect
    try:
        yield
    finally:
        line.client.dialect = plain


def without_neutral(dialect: Dialect) -> Dialect:
    """The dialect without the neutral values that override a server's own generation defaults."""
    return dialect.without(*(name for name in dialect.neutral if name not in KEPT))


def with_penalty(dialect: Dialect) -> Dialect:
    """The dialect with a neutral repetition penalty, for a server that is not known to take one."""
    return dataclasses.replace(dialect, neutral={**dialect.neutral, "repetition_penalty": 1})


_OBJECTIONS: dict[tuple[ProbeName, str], tuple[CheckCode, str]] = {
    ("temperature", "bad"): (
        "temperature-ignored",
        "greedy decoding is a must: look for a gateway or a server option that sets the temperature",
    ),
    ("temperature", "odd"): ("not-repeatable", "near-ties do that; more differences than usual are to be expected"),
    ("max-tokens", "bad"): ("max-tokens-ignored", "look for a gateway or a server option that sets the limit"),
    ("stop", "bad"): ("stop-ignored", "no stop string is sent in usual traffic; --schedule param-fuzz does send some"),
    ("stream", "bad"): ("stream-differs", "ask for them in the way that your users do: --stream or --no-stream"),
    ("neutral", "odd"): ("generation-defaults", "see the checkpoint's generation_config.json and the server's options"),
    ("neutral", "bad"): (
        "generation-defaults",
        "start it without them (vLLM: --generation-config vllm), or name the engine with --engine",
    ),
}
_ALIKE = ("max-tokens", "neutral")  # unfair only where the other end does otherwise


def objections(ours: Sequence[Probed], theirs: Sequence[Probed] | None) -> list[Check]:
    """What the probes of one end object to; ``theirs`` are those of the end that it is compared with, if there is one.

    Blocking where the comparison would be unfair.
    """
    other = {probed.probe: probed.result for probed in theirs or ()}
    checks = []
    for probed in ours:
        if (known := _OBJECTIONS.get((probed.probe, probed.result))) is None:
            continue
        unfair = probed.probe == "temperature" or (probed.probe in _ALIKE and other.get(probed.probe) in ("ok", "odd"))
        checks.append(
            Check(
                code=known[0],
                severity="blocking" if unfair and probed.result == "bad" else "warning",
                message=probed.detail,
                change=known[1],
                end=probed.end,
            )
        )
    return checks
