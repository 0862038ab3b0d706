"""The books of one stage: what was sent and what came back, and where the stage departed from its schedule."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fuzzer.events import ExchangeDone, ExchangeSent
from fuzzer.history.records import Done, Exchange, Message, Phase, Prompt, Received, Sent
from fuzzer.history.schedule import Deviations, Send, padding
from fuzzer.plan import Sampling
from fuzzer.traffic.gauge import Flight, Gauge
from fuzzer.traffic.stage import Line, Means, StageSpec
from fuzzer.wire.pace import Pace
from fuzzer.wire.params import Params

TOP_LOGPROBS = 5
LATE_NS = 1_000_000  # a request that leaves later than this after its time is late


@dataclass(frozen=True, slots=True)
class Job:
    """One request that is to be sent: a part of the schedule, or filler (whose index is negative)."""

    key: str
    index: int
    round: int | None
    send: Send
    prompt: Prompt
    phase: Phase
    width: int
    after: str = ""

    @property
    def judged(self) -> bool:
        """Whether it is a victim."""
        return self.phase not in ("filler", "neighbour")

    @property
    def messages(self) -> tuple[Message, ...]:
        """What is said to the model."""
        return said(self.send, self.prompt)


class Ledger:
    """Records what one stage sends, and counts how well it kept to its schedule."""

    def __init__(self, spec: StageSpec, line: Line, means: Means) -> None:
        self.spec = spec
        self.means = means
        self.histogram: Counter[int] = Counter()
        self.least = self.most = 0
        self.still_running = self.others = 0
        self.early_ends = self.unsent = 0
        self._line = line
        self._exchanges: dict[str, Exchange] = {}
        self._shares: list[float] = []
        self._counts: Counter[str] = Counter()
        self._worst_ns = 0
        self._fillers = 0

    @property
    def judged(self) -> list[Exchange]:
        """The judged exchanges, in schedule order."""
        return sorted(self._exchanges.values(), key=lambda exchange: exchange.sent.index)

    @property
    def share(self) -> float:
        """The share of the time with exactly the profile's number in flight, or of that which met at barriers."""
        return sum(self._shares) / len(self._shares) if self._shares else 1.0

    def job(self, index: int, round_: int | None, send: Send, width: int, after: str) -> Job:
        """A request of the schedule, by its place in the stage."""
        prompt = self.means.prompts.find(send.prompt)
        phase: Phase = self.spec.phase if send.role == "victim" else "neighbour"
        return Job(self.key(index), index, round_, self._heated(send), prompt, phase, width, after)

    def filler(self, round_: int | None, width: int) -> Job:
        """A fresh request that only keeps the load up."""
        self._fillers += 1
        prompt = self.means.prompts.fresh_filler()
        key = f"{self.spec.key}/{prompt.id}"
        return Job(key, -self._fillers, round_, self._heated(Send(prompt=prompt.id)), prompt, "filler", width)

    def _heated(self, send: Send) -> Send:
        if self.spec.temperature is None:
            return send
        overrides = send.overrides.model_copy(update={"temperature": self.spec.temperature})
        return send.model_copy(update={"overrides": overrides})

    def key(self, index: int) -> str:
        """The identity of a request of the schedule."""
        return f"{self.spec.key}/{index}"

    def known(self, index: int, *, judged: bool) -> bool:
        """Whether an earlier process of the run has sent this request; it is not sent again."""
        exchange = self.means.memo.exchanges.get(self.key(index))
        if exchange is None:
            return False
        if judged:
            self._exchanges[exchange.key] = exchange
        return True

    async def ask(self, job: Job, pace: Pace) -> Received:
        """Send the request and wait for what becomes of it."""
        pace.cancel_ms, pace.cancel_tokens = job.send.cancel_ms, job.send.cancel_tokens
        return await self._line.client.ask(job.messages, self._params(job), pace=pace)

    def sent(self, job: Job, flight: Flight, now: int, due: int | None) -> None:
        """A request is about to leave."""
        self.means.prompts.note(job.prompt, self.means.record)
        exposure = self._line.exposures[job.prompt.id]
        self._line.exposures[job.prompt.id] += 1
        params = self._params(job)
        sent = Sent(
            key=job.key,
            arm=self.spec.arm,
            endpoint=self._line.name,
            cell=self.spec.cell,
            phase=job.phase,
            block=self.spec.block,
            pass_index=self.spec.pass_index,
            index=job.index,
            round=job.round,
            prompt=job.prompt.id,
            concurrency=job.width,
            exposure=exposure,
            cache=params.cache,
            stream=params.stream,
            logprobs=params.logprobs > 0,
            max_tokens=params.max_tokens,
            sent_ns=now,
            in_flight=flight.at_send,
            overrides=job.send.overrides,
            turn=job.send.turn,
            tag=job.send.tag,
            due_ns=due,
            after=job.after,
        )
        self.means.record(sent)
        self.means.emit(ExchangeSent(sent.arm, sent.phase))
        self._exchanges[job.key] = Exchange(sent=sent, done=None)

    def done(self, job: Job, flight: Flight, received: Received, pace: Pace) -> None:
        """A request has ended, however it ended; without a connection it may have ended before it counts as sent."""
        sent = self._exchanges[job.key].sent
        if received.end_ns < sent.sent_ns:
            received = received.model_copy(update={"end_ns": sent.sent_ns})
        done = Done(key=job.key, min_in_flight=flight.least, max_in_flight=flight.most, received=received)
        self.means.record(done)
        del self._exchanges[job.key]
        if job.judged:
            self._exchanges[job.key] = Exchange(sent=sent, done=done)
            self.least = min(self.least or flight.least, flight.least)
            self.most = max(self.most, flight.most)
        self._count(job, sent, received, pace)
        self.means.emit(ExchangeDone(self.spec.arm, job.phase, received.outcome))

    def account(self, gauge: Gauge, *, keep_full: bool) -> None:
        """A release is over."""
        self.histogram.update(gauge.histogram)
        self._shares.append(gauge.share() if keep_full else gauge.met)

    def deviations(self) -> Deviations:
        """Where the stage departed from its schedule."""
        return Deviations(
            worst_late_ms=round(self._worst_ns / 1e6, 3),
            early_ends=self.early_ends,
            unsent=self.unsent,
            still_running=self.still_running,
            others=self.others,
            **self._counts,
        )

    def _count(self, job: Job, sent: Sent, received: Received, pace: Pace) -> None:
        counts = {
            "cancelled": received.outcome == "cancelled",
            "late_cancels": job.send.cancelled and received.outcome != "cancelled",
            "refused": job.phase == "neighbour" and received.outcome == "refused",
            "reused": pace.reused,
        }
        if sent.due_ns is not None and pace.written_ns is not None:
            late = pace.written_ns - sent.due_ns
            counts["late_sends"] = late > LATE_NS
            self._worst_ns = max(self._worst_ns, late if late > LATE_NS else 0)
        self._counts.update({name: 1 for name, applies in counts.items() if applies})

    def _params(self, job: Job) -> Params:
        top = TOP_LOGPROBS if self.spec.logprobs else 0
        return asked(job.send, job.prompt, self.means.sampling, job.key, logprobs=top, max_tokens=self.spec.max_tokens)


def said(send: Send, prompt: Prompt) -> tuple[Message, ...]:
    """What a request says: the prompt's messages, or the first of them, behind the schedule's padding."""
    messages = prompt.messages[: send.turn]
    overrides = send.overrides
    if not overrides.pad:
        return messages
    content = f"{padding(overrides.pad_key, overrides.pad, overrides.pad_cycle)}\n{messages[0].content}"
    return (messages[0].model_copy(update={"content": content}), *messages[1:])


def asked(
    send: Send, prompt: Prompt, sampling: Sampling, key: str, *, logprobs: int = 0, max_tokens: int | None = None
) -> Params:
    """A request's parameters; ``key`` names it, ``logprobs`` and ``max_tokens`` are its stage's."""
    overrides = send.overrides
    cache = send.tag or sampling.cache
    stream = sampling.stream if overrides.stream is None else overrides.stream
    return Params(
        max_tokens=overrides.max_tokens or max_tokens or prompt.wants.max_tokens or sampling.tokens,
        stream=stream or send.cancel_tokens is not None,  # only a stream shows when so many have come
        logprobs=overrides.logprobs or logprobs,
        cache=cache,
        salt=overrides.salt or (key if cache == "cold" else ""),
        seed=sampling.seed,
        thinking=prompt.wants.thinking or sampling.thinking,
        request_id=key,
        wants=overrides.wants or prompt.wants,
        overrides=overrides,
    )
