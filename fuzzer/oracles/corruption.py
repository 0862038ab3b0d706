"""Corruption: text that no healthy engine gives, in any channel of a reply, whatever was asked.

Certain are special tokens and control characters as text, and invalid encoding. Loops, script switches and the like
are likely: a weak model may do the same by itself. What stands in the prompt may come back, and is never reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fuzzer.finding import Finding
from fuzzer.history.messages import PLAIN
from fuzzer.history.records import Exchange, Prompt, Received
from fuzzer.oracles.build import around, finding, label, quote
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.flaws import Flaw, Reply
from fuzzer.oracles.loops import doubled_syllables, repetition
from fuzzer.oracles.markers import broken_encoding, call_marks, control_characters, reasoning_marks, special_tokens
from fuzzer.oracles.scripts import look_alikes, script_switches

Detector = Callable[[Reply], Iterator[Flaw]]

_TOKEN_RUN = 64  # equal token ids in a row


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every kind of corruption in every channel of every reply of the block."""
    received_all = [(_line(exchange), exchange.received) for exchange in batch if exchange.received is not None]
    thoughtful = {line for line, received in received_all if received.reasoning}
    calling = {line for line, received in received_all if received.tool_calls}
    for exchange in batch:
        received, prompt = exchange.received, context.prompt(exchange)
        if received is None or not exchange.sent.overrides.greedy:
            continue  # what is drawn from a distribution, or from a bent one, may be any text
        if received.outcome == "bad-encoding":
            flaw = Flaw("invalid-encoding", "certain", 0, 0, "is not UTF-8")
            yield _finding(exchange, flaw, "body", received.raw)
        found: set[str] = set()
        known = prompt.text if prompt is not None else ""
        parsed, calls = _line(exchange) in thoughtful, _line(exchange) in calling and _offered(exchange, prompt)
        for channel, reply in _replies(exchange, received, known, parsed=parsed, calls=calls):
            for flaw in flaws(reply):
                found.add(flaw.sub_kind)
                yield _finding(exchange, flaw, channel, reply.text)
        if not found & {"loop", "one-token-run"} and (flaw_run := _token_run(received)) is not None:
            yield _finding(exchange, flaw_run, "token ids", received.text)


def flaws(reply: Reply) -> Iterator[Flaw]:
    """Every flaw of one channel of a reply."""
    for detector in DETECTORS:
        yield from detector(reply)


def unclosed(reply: Reply) -> Iterator[Flaw]:
    """A reply that the engine calls finished, but that breaks off inside JSON or a code fence."""
    text = reply.text.strip()
    if not reply.stopped or not text:
        return
    fence = text.startswith("```") and text.count("```") == 1
    opening = text[0]
    closing = {"{": "}", "[": "]"}.get(opening)
    bracket = closing is not None and text[-1] != closing and text.count(opening) > text.count(closing)
    if fence or bracket:
        start = max(len(reply.text.rstrip()) - 20, 0)
        yield Flaw("truncation", "likely", start, 20, "breaks off though the engine says it stopped by itself")


DETECTORS: tuple[Detector, ...] = (
    special_tokens,
    reasoning_marks,
    call_marks,
    control_characters,
    broken_encoding,
    repetition,
    doubled_syllables,
    script_switches,
    look_alikes,
    unclosed,
)


def _offered(exchange: Exchange, prompt: Prompt | None) -> bool:
    """Whether the request offered functions: where it did not, no parser takes a call out of the text."""
    wants = exchange.sent.overrides.wants or (prompt.wants if prompt is not None else PLAIN)
    return bool(wants.tools)


def _line(exchange: Exchange) -> tuple[str, str]:
    return exchange.sent.arm, exchange.sent.endpoint


def _replies(
    exchange: Exchange, received: Received, prompt: str, *, parsed: bool, calls: bool
) -> Iterator[tuple[str, Reply]]:
    """The channels of a reply; ``parsed`` and ``calls`` say what this endpoint takes out of the text elsewhere."""
    whole = received.outcome == "ok" and received.finish_reason != "length"
    ended = received.outcome == "ok" and received.finish_reason in ("stop", "tool_calls")
    stopped = ended and not exchange.sent.overrides.stop
    if received.text:
        yield "content", Reply(received.text, prompt, whole, stopped, parsed, calls)
    if received.reasoning:
        yield "reasoning", Reply(received.reasoning, prompt, whole, stopped=False, parsed=False)
    if received.tool_arguments:
        yield "tool arguments", Reply(received.tool_arguments, prompt, whole, stopped, parsed, calls)


def _token_run(received: Received) -> Flaw | None:
    """A long run of one token id, which may leave nothing to see in the text."""
    run = 0
    previous: int | None = None
    for token in received.token_ids or ():
        run = run + 1 if token == previous else 1
        previous = token
        if run == _TOKEN_RUN:
            return Flaw("one-token-run", "likely", 0, 0, f"repeats the token id {token} {run} times or more")
    return None


def _finding(exchange: Exchange, flaw: Flaw, channel: str, text: str) -> Finding:
    where = label(exchange.sent.arm, exchange.sent.endpoint)
    span = text[flaw.start : flaw.start + flaw.length]
    shown = f": {quote(span)}" if span else ""
    return finding(
        exchange,
        "corruption",
        flaw.sub_kind,
        flaw.certainty,
        f"{where}: the {channel} of the reply to {exchange.sent.prompt} {flaw.words}{shown}",
        detail=flaw.detail,
        evidence={"in": channel, "at": flaw.start, "excerpt": around(text, flaw.start, flaw.length)},
    )
