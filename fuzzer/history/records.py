"""What the history is made of: prompts, what was sent, what came back.

Every line of ``history.jsonl`` is one of these records; everything right of the history (oracles, tally, verdict,
reports) is a pure function of them. Times are nanoseconds since the Unix epoch, taken from a monotonic clock that is
anchored once per process, so that they are comparable inside a run and never step backwards inside a process.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fuzzer.history.messages import PLAIN as PLAIN
from fuzzer.history.messages import Message as Message
from fuzzer.history.messages import Record as Record
from fuzzer.history.messages import Tool as Tool
from fuzzer.history.messages import ToolCall as ToolCall
from fuzzer.history.messages import Wants as Wants
from fuzzer.history.schedule import AS_PLANNED, NO_DEVIATIONS, CacheTag, Deviations, Overrides, Scheduled
from fuzzer.history.scores import Scored

HISTORY_VERSION = 1

Arm = Literal["candidate", "reference"]
Channel = Literal["system", "history", "user"]
Level = Literal["easy", "medium", "hard"]
Phase = Literal["preflight", "warmup", "calibration", "measure", "speed", "filler", "neighbour"]
CacheClass = Literal["warm", "cold"]

Outcome = Literal[
    "ok",
    "connect",  # no connection: refused, DNS, reset before a reply
    "tls",  # the TLS handshake failed
    "timeout-connect",
    "timeout-read",  # nothing came for the read time-out: a hang
    "timeout-total",
    "unauthorised",  # HTTP 401 or 403
    "refused",  # HTTP 4xx other than 401/403/429
    "overloaded",  # HTTP 429 or 503
    "server-error",  # HTTP 5xx other than 503
    "stream-error",  # an error object inside an HTTP 200 stream or body
    "content-type",  # neither JSON nor an event stream (an HTML page, for instance)
    "bad-json",
    "bad-shape",  # JSON, but not a chat completion: wrong types, no choices
    "bad-encoding",  # not UTF-8
    "empty-body",  # HTTP 200 and nothing in it
    "too-large",  # a body, line or nesting beyond the bounds
    "truncated-stream",  # the stream ended without finish_reason and without [DONE]
    "disconnect",  # the connection broke in mid-reply
    "cancelled",  # a neighbour that this program broke off, as its schedule says
]


class Canary(Record):
    """A token of at least 40 random bits that names its owner wherever it turns up.

    ``cohort`` canaries are shared by every prompt of a cohort (so that shared prefixes stay shared): a hit on one
    names the cohort, not a prompt.
    """

    channel: Channel
    text: str
    cohort: bool = False


class Prompt(Record):
    """One generated prompt with all that is needed to check an answer to it, without a model.

    ``answer`` is the canonical right answer. ``items`` are the names that are distinctive for this prompt (8 characters
    or more; used for *likely* attribution). ``spec`` is the family's own: whatever its checker needs. ``attributable``
    is false for families whose answers cannot be unique; those are never used for attribution by answer. ``checkable``
    is false where no right answer is known (a row of a traffic log): such a prompt serves divergence and bleed only.
    """

    type: Literal["prompt"] = "prompt"
    id: str
    family: str
    level: Level
    messages: tuple[Message, ...]
    answer: str
    items: tuple[str, ...] = ()
    canaries: tuple[Canary, ...] = ()
    elicits: tuple[Channel, ...] = ()
    spec: dict[str, JsonValue] = Field(default_factory=dict)
    attributable: bool = True
    checkable: bool = True
    wants: Wants = PLAIN

    @property
    def text(self) -> str:
        """All contents and arguments of calls, a line each: what "absent from the victim's own prompt" is tested on."""
        parts = [message.content for message in self.messages]
        parts += [call.arguments for message in self.messages for call in message.tool_calls]
        return "\n".join(parts)


class Sent(Record):
    """A request, journalled before it goes out.

    ``key`` is unique in the run and the same for the same plan and seed: the identity that resume goes by. ``cell`` is
    the cell's key ("" before any cell), ``block`` counts the cell's blocks from 0, ``pass_index`` tells calibration
    passes apart (0 and 1 at N, 2 alone), ``index`` is the place in the stage, ``round`` numbers barrier releases
    (None in a closed loop). ``concurrency`` is the in-flight profile at this request's release, ``exposure`` how often
    this endpoint had been sent this prompt before, ``in_flight`` how many were in flight with this one counted.
    ``recalled`` is empty, or the key under which an earlier run sent this request in place of the present one.
    ``overrides`` is what it asks otherwise than the run does, ``turn`` how many of the prompt's messages were sent
    (None: all), ``tag`` what the prefix cache should hold of it. ``due_ns`` is the schedule's time where it has one,
    ``after`` the exchange that its slot had sent before it in the same chain.
    """

    type: Literal["sent"] = "sent"
    key: str
    arm: Arm
    endpoint: str
    cell: str
    phase: Phase
    block: int
    pass_index: int = 0
    index: int
    round: int | None = None
    prompt: str
    concurrency: int
    exposure: int
    cache: CacheClass = "warm"
    stream: bool = True
    logprobs: bool = False
    max_tokens: int
    sent_ns: int
    in_flight: int
    recalled: str = ""
    overrides: Overrides = AS_PLANNED
    turn: int | None = None
    tag: CacheTag | None = None
    due_ns: int | None = None
    after: str = ""

    @property
    def plain(self) -> bool:
        """Whether the whole prompt was asked as calibration asks it, so that its right answer is the right one here."""
        return self.turn is None and not self.overrides.altered


class TokenLogprob(Record):
    """One emitted token with its log-probability and the alternatives that the engine gave (natural log).

    ``logprob`` is None where the engine gave none (llama.cpp: accepted draft tokens), never 0 in its place. ``top`` is
    (text, log-probability) in the engine's order, which is not always sorted.
    """

    token: str
    id: int | None = None
    logprob: float | None = None
    top: tuple[tuple[str, float], ...] = ()

    @property
    def margin(self) -> float | None:
        """Top-1 minus top-2 log-probability in nats, or None if fewer than two alternatives were given."""
        if len(self.top) < 2:
            return None
        first, second = sorted((value for _, value in self.top), reverse=True)[:2]
        return first - second


class Usage(Record):
    """Token counts as the engine reports them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    total_tokens: int | None = None


class Draft(Record):
    """Drafting in one exchange, where the reply tells: tokens drafted and tokens accepted."""

    drafted: int
    accepted: int
    steps: int | None = None


class Received(Record):
    """All that came back for one request. ``outcome`` other than "ok" means no usable answer; ``detail`` says why.

    ``text``, ``reasoning``, ``tool_arguments`` (of all calls) and ``tool_calls`` hold what came before a failure, too.
    ``anomalies`` are protocol faults that left the answer usable ("duplicate-chunk", "no-done", "role-twice" ...).
    ``raw`` is the start of the body where it could not be understood. ``parts`` counts content-bearing chunks (1 when
    not streamed). ``created`` is the server's own time of the reply, in Unix seconds.
    """

    outcome: Outcome
    detail: str = ""
    http_status: int | None = None
    text: str = ""
    reasoning: str = ""
    tool_arguments: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    token_ids: tuple[int, ...] | None = None
    logprobs: tuple[TokenLogprob, ...] | None = None
    usage: Usage | None = None
    draft: Draft | None = None
    model: str | None = None
    fingerprint: str | None = None
    request_id: str | None = None
    created: int | None = None
    anomalies: tuple[str, ...] = ()
    parts: int = 0
    raw: str = ""
    first_ns: int | None = None
    end_ns: int

    @property
    def rate_limited(self) -> bool:
        """Whether the server refused by number (HTTP 429)."""
        return self.http_status == 429


class Done(Record):
    """The end of an exchange: what came back, and how many were in flight over its life (itself counted)."""

    type: Literal["done"] = "done"
    key: str
    min_in_flight: int
    max_in_flight: int
    received: Received


class Recalled(Record):
    """An answer that an earlier run got to the same request; nothing was sent. Only calibration, alone, recalls."""

    type: Literal["recalled"] = "recalled"
    sent: Sent
    received: Received

    @property
    def exchange(self) -> Exchange:
        """The exchange that this stands for."""
        flight = {"min_in_flight": self.sent.in_flight, "max_in_flight": self.sent.in_flight}
        return Exchange(sent=self.sent, done=Done(key=self.sent.key, received=self.received, **flight))


class Counters(Record):
    """An engine's own counters at one moment, from ``/metrics`` or ``/slots``; None where it does not tell.

    ``pool_usage`` is the share of the KV pool in use, from 0 to 1, of the fullest of several pools. ``prefix_queries``
    and ``prefix_hits`` count prompt tokens looked up and found in the prefix cache. ``accepted_at`` counts, for each
    place in a draft, how often the token there was accepted. ``started`` is when the process began, in Unix seconds.
    """

    at_ns: int
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    generated_tokens: float | None = None
    running: float | None = None
    waiting: float | None = None
    preemptions: float | None = None
    pool_usage: float | None = None
    prefix_queries: float | None = None
    prefix_hits: float | None = None
    accepted_at: tuple[float, ...] | None = None
    started: float | None = None


class Stage(Record):
    """One drive phase on one endpoint has ended: what concurrency it achieved, and the engine's counters around it.

    ``share_at_n`` is the share of the time (closed loop) with exactly the profile's number in flight, from 0 to 1,
    or the share of that number which met at barriers. ``histogram`` maps an in-flight count to seconds spent at it.
    ``server_running`` holds the sampled numbers of running requests, ``server_waiting`` the most that were seen
    waiting beside them, ``pool_usage`` the largest share of the KV pool seen in use (0 to 1). ``version`` is the
    engine's, at the end.
    """

    type: Literal["stage"] = "stage"
    key: str
    cell: str
    arm: Arm
    endpoint: str
    phase: Phase
    block: int
    pass_index: int = 0
    concurrency: int
    share_at_n: float
    min_in_flight: int
    max_in_flight: int
    seconds: float
    histogram: dict[int, float] = Field(default_factory=dict)
    server_running: tuple[float, ...] = ()
    server_waiting: float | None = None
    pool_usage: float | None = None
    deviations: Deviations = NO_DEVIATIONS
    version: str | None = None
    before: Counters | None = None
    after: Counters | None = None


class Block(Record):
    """A block of a cell is complete: both arms ran. Judging and stopping happen here and nowhere else."""

    type: Literal["block"] = "block"
    cell: str
    block: int
    judged_prompts: tuple[str, ...]


class Resumed(Record):
    """The run was taken up again by a new process; every ``sent`` without ``done`` before this line is *lost*."""

    type: Literal["resumed"] = "resumed"
    at_ns: int


class Opened(Record):
    """The first line of a history."""

    type: Literal["opened"] = "opened"
    version: int = HISTORY_VERSION
    run_id: str
    at_ns: int


AnyRecord = Opened | Prompt | Scheduled | Sent | Done | Recalled | Stage | Scored | Block | Resumed


class Exchange(BaseModel):
    """One request and all that came back; ``done`` is None for a *lost* one."""

    model_config = ConfigDict(frozen=True)

    sent: Sent
    done: Done | None

    @property
    def key(self) -> str:
        """The identity of the exchange in its run."""
        return self.sent.key

    @property
    def received(self) -> Received | None:
        """What came back, or None for a lost exchange."""
        return self.done.received if self.done else None

    @property
    def ok(self) -> bool:
        """Whether a usable reply came (right or wrong)."""
        return self.done is not None and self.done.received.outcome == "ok"
