"""Small exchanges, prompts and contexts for the oracles' tests; what is not said is clean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fuzzer.history.overlap import OverlapIndex
from fuzzer.history.records import (
    Arm,
    Canary,
    Done,
    Draft,
    Exchange,
    Message,
    Outcome,
    Phase,
    Prompt,
    Received,
    Sent,
    TokenLogprob,
    ToolCall,
    Usage,
)
from fuzzer.history.schedule import AS_PLANNED, CacheTag, Overrides
from fuzzer.oracles.content import ContentIndex
from fuzzer.oracles.context import Batch, Checker, Context
from fuzzer.prompts.grade import Grade


def prompt(
    name: str,
    *,
    user: str = "Which harbour lies north?",
    system: str = "Be brief.",
    answer: str = "",
    items: tuple[str, ...] = (),
    canaries: tuple[Canary, ...] = (),
    attributable: bool = True,
) -> Prompt:
    """A prompt whose canaries stand in its messages."""
    marks = {
        channel: " ".join(c.text for c in canaries if c.channel == channel) for channel in ("system", "history", "user")
    }
    return Prompt(
        id=name,
        family="test",
        level="easy",
        messages=(
            Message(role="system", content=f"{system} {marks['system']}"),
            Message(role="user", content=f"Hello. {marks['history']}"),
            Message(role="assistant", content="Hello."),
            Message(role="user", content=f"{user} {marks['user']} {' '.join(items)}"),
        ),
        answer=answer or f"the answer of {name}",
        items=items,
        canaries=canaries,
        attributable=attributable,
    )


def exchange(
    name: str,
    text: str = "",
    *,
    arm: Arm = "candidate",
    endpoint: str | None = None,
    at: tuple[int, int] = (0, 10),
    phase: Phase = "measure",
    pass_index: int = 0,
    index: int = 0,
    outcome: Outcome = "ok",
    detail: str = "",
    reasoning: str = "",
    tool_arguments: str = "",
    calls: tuple[ToolCall, ...] = (),
    finish: str | None = "stop",
    ids: Sequence[int] | None = None,
    logprobs: Sequence[TokenLogprob] | None = None,
    asked_logprobs: bool | None = None,
    completion: int | None = None,
    prompt_tokens: int | None = None,
    total: int | None = None,
    max_tokens: int = 256,
    anomalies: tuple[str, ...] = (),
    draft: Draft | None = None,
    exposure: int = 0,
    stream: bool = True,
    concurrency: int = 8,
    lost: bool = False,
    overrides: Overrides = AS_PLANNED,
    turn: int | None = None,
    tag: CacheTag | None = None,
) -> Exchange:
    """One exchange of the prompt ``name``, sent and ended ``at`` those times (seconds)."""
    sent = Sent(
        key=f"{arm}/{phase}{pass_index}/{index}/{name}@{at[0]}",
        arm=arm,
        endpoint=endpoint or arm,
        cell="cell",
        phase=phase,
        block=0,
        pass_index=pass_index,
        index=index,
        prompt=name,
        concurrency=concurrency,
        exposure=exposure,
        stream=stream,
        logprobs=asked_logprobs if asked_logprobs is not None else logprobs is not None,
        max_tokens=max_tokens,
        sent_ns=at[0] * 10**9,
        in_flight=concurrency,
        overrides=overrides,
        turn=turn,
        tag=tag,
    )
    usage = None
    if completion is not None or prompt_tokens is not None:
        usage = Usage(completion_tokens=completion, prompt_tokens=prompt_tokens, total_tokens=total)
    received = Received(
        outcome=outcome,
        detail=detail,
        text=text,
        reasoning=reasoning,
        tool_arguments=tool_arguments or "\n".join(call.arguments for call in calls),
        tool_calls=calls,
        finish_reason=finish,
        token_ids=tuple(ids) if ids is not None else None,
        logprobs=tuple(logprobs) if logprobs is not None else None,
        usage=usage,
        draft=draft,
        anomalies=anomalies,
        end_ns=at[1] * 10**9,
    )
    done = Done(key=sent.key, min_in_flight=1, max_in_flight=concurrency, received=received)
    return Exchange(sent=sent, done=None if lost else done)


def containment(
    prompt: Prompt, text: str, *,
    finish_reason: str | None = None, calls: Sequence[ToolCall] = (), reasoning: str = "",
) -> Grade:  # fmt: skip
    """A checker: right if the answer stands in the text, none if there is no text."""
    if not text:
        return Grade("none", "empty")
    if finish_reason == "length":
        return Grade("none", "runaway")
    return Grade("right") if prompt.answer in text else Grade("wrong", "wrong-value")


@dataclass
class World:
    """All prompts and exchanges of a little run; its block is every exchange."""

    prompts: Iterable[Prompt] = ()
    exchanges: tuple[Exchange, ...] = ()
    lm_heads: Mapping[str, str | None] = field(default_factory=dict)
    check: Checker = containment

    @property
    def batch(self) -> Batch:
        """The block that is judged."""
        return self.exchanges

    def context(self) -> Context:
        """What the oracles may look at."""
        overlap, content = OverlapIndex(), ContentIndex()
        for known in self.prompts:
            content.register(known)
        for done in self.exchanges:
            overlap.add(done)
        return Context(
            prompts={known.id: known for known in self.prompts},
            overlap=overlap,
            content=content,
            lm_heads=self.lm_heads,
            batch=self.batch,
            check=self.check,
        )
