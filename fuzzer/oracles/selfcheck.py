"""Self-consistency: what a reply says about itself must agree, whatever the prompt was. No reference is needed.

At temperature 0 every emitted token is the maximum of its own log-probabilities; token ids, usage, finish reason and
limit agree with each other, and no text goes on past a stop string. What an engine did not tell is not guessed; certain
are only a token below its maximum, a count of token ids that contradicts usage, a usage that does not add up, and a
stop string in the text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from pydantic import JsonValue

from fuzzer.finding import Certainty, Finding
from fuzzer.history.records import Exchange, Received, TokenLogprob
from fuzzer.oracles.build import excerpt, finding, label, quote
from fuzzer.oracles.context import Batch, Context

TOLERANCE = 1e-3  # nats by which a token may lie below its maximum: engines round what they report
_CUT = "length"  # the finish reason that says: the limit was reached
_HELD_BACK = 3  # tokens of half a character that an engine may hold back for ever when it cuts a reply


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """Findings for every reply of the block that contradicts itself."""
    longest = _longest(batch)
    for exchange in batch:
        received = exchange.received
        if received is None or received.outcome != "ok":
            continue
        overrides = exchange.sent.overrides
        if overrides.greedy and not _constrained(exchange, context):
            yield from _argmax(exchange, received)
        if overrides.n == 1:  # usage counts the tokens of all choices
            yield from _counts(exchange, received)
            yield from _length(exchange, received, longest.get((exchange.sent.arm, exchange.sent.endpoint), 0))
        yield from _sum(exchange, received)
        yield from _finish(exchange, received)
        if overrides.stop:
            yield from _stop_string(exchange, received)
        else:
            yield from _lost_text(exchange, received)


def _constrained(exchange: Exchange, context: Context) -> bool:
    """Whether a grammar ruled tokens out, which the log-probabilities of most engines do not show."""
    prompt = context.prompt(exchange)
    asked = [wants for wants in (exchange.sent.overrides.wants, prompt.wants if prompt is not None else None) if wants]
    return any(wants.json_schema is not None or wants.tools for wants in asked)


def below_maximum(token: TokenLogprob) -> float:
    """By how many nats the emitted token lies below the best of its own alternatives; 0 where nothing is known."""
    known = [value for _, value in token.top if not math.isnan(value)]
    if token.logprob is None or math.isnan(token.logprob) or not known:
        return 0.0
    gap = max(known) - token.logprob
    return max(gap, 0.0) if not math.isnan(gap) else 0.0


def _argmax(exchange: Exchange, received: Received) -> Iterator[Finding]:
    tokens = received.logprobs or ()
    bad = [place for place, token in enumerate(tokens) if below_maximum(token) > TOLERANCE]
    if not bad:
        return
    token = tokens[bad[0]]
    gap = below_maximum(token)
    best = max(token.top, key=lambda entry: entry[1])[0]
    yield _said(
        exchange,
        "argmax",
        "certain",
        f"emits {quote(token.token)} as token {bad[0]}, {gap:.3g} nats below {quote(best)} in its own "
        "log-probabilities, at temperature 0",
        {
            "place": bad[0],
            "token": excerpt(token.token),
            "best": excerpt(best),
            "nats_below": gap if math.isfinite(gap) else None,
            "tokens_below": len(bad),
            "tokens": len(tokens),
        },
    )


def _counts(exchange: Exchange, received: Received) -> Iterator[Finding]:
    usage = _completion_tokens(received)
    if received.token_ids is None or usage is None:
        return
    ids = len(received.token_ids)
    cut = received.finish_reason == _CUT
    if ids == usage or (not cut and abs(ids - usage) == 1):  # an end token may or may not be counted, or listed
        return
    held_back = cut and 0 < usage - ids <= _HELD_BACK
    yield _said(
        exchange,
        "token-count",
        "likely" if held_back else "certain",
        f"holds {ids} token ids, but its usage says {usage}",
        {"token_ids": ids, "completion_tokens": usage, "finish_reason": received.finish_reason},
    )


def _sum(exchange: Exchange, received: Received) -> Iterator[Finding]:
    usage = received.usage
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None or usage.total_tokens is None:
        return
    parts = usage.prompt_tokens + usage.completion_tokens
    if parts != usage.total_tokens:
        yield _said(
            exchange,
            "usage-sum",
            "certain",
            f"counts {usage.prompt_tokens} prompt and {usage.completion_tokens} completion tokens, but "
            f"{usage.total_tokens} in all",
            {
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
                "total_tokens": usage.total_tokens,
            },
        )


def _finish(exchange: Exchange, received: Received) -> Iterator[Finding]:
    if received.finish_reason is None:
        anomalies: list[JsonValue] = [excerpt(anomaly) for anomaly in received.anomalies]
        yield _said(exchange, "no-finish-reason", "likely", "ends without a finish reason", {"anomalies": anomalies})


def _length(exchange: Exchange, received: Received, longest: int) -> Iterator[Finding]:
    limit, tokens = exchange.sent.max_tokens, _tokens(received)
    if tokens is None:
        return
    evidence: dict[str, JsonValue] = {"tokens": tokens, "max_tokens": limit, "longest_seen": longest}
    if tokens > limit:
        yield _said(exchange, "over-length", "likely", f"holds {tokens} tokens, over its limit of {limit}", evidence)
    elif received.finish_reason == _CUT and tokens < limit:
        total = _total(received)
        room_left = total is not None and total < longest
        words = f"was cut for length after {tokens} of {limit} tokens"
        yield _said(exchange, "early-length", "likely" if room_left else "possible", words, evidence)


def _lost_text(exchange: Exchange, received: Received) -> Iterator[Finding]:
    tokens = _completion_tokens(received)
    said = received.text or received.reasoning or received.tool_arguments or received.tool_calls
    if tokens is None or tokens <= 1 or said:
        return
    yield _said(
        exchange,
        "lost-text",
        "likely",
        f"is empty, but its usage says {tokens} tokens",
        {"completion_tokens": tokens, "finish_reason": received.finish_reason},
    )


_STEP = 64  # characters of one step's tokens, drafts included


def _stop_string(exchange: Exchange, received: Received) -> Iterator[Finding]:
    """A stop string in the text. Of several, engines look for one after the other in what a step has added.

    So they may cut at the one that is named first, and leave another that stands before it (vLLM, check_stop_strings).
    """
    stops = exchange.sent.overrides.stop
    stop = next((stop for stop in stops if stop in received.text), None)
    if stop is not None:
        at = received.text.index(stop)
        if len(stops) > 1 and received.finish_reason == "stop" and len(received.text) - at <= _STEP:
            return
        yield _said(
            exchange,
            "stop-string",
            "certain",
            f"goes on past its stop string {quote(stop)} at character {at}",
            {"stop": stop, "at": at, "excerpt": excerpt(received.text)},
        )


def _said(
    exchange: Exchange, sub_kind: str, certainty: Certainty, words: str, evidence: dict[str, JsonValue]
) -> Finding:
    where = label(exchange.sent.arm, exchange.sent.endpoint)
    summary = f"{where}: the reply to {exchange.sent.prompt} {words}"
    return finding(exchange, "self-consistency", sub_kind, certainty, summary, evidence=evidence)


def _completion_tokens(received: Received) -> int | None:
    return received.usage.completion_tokens if received.usage is not None else None


def _tokens(received: Received) -> int | None:
    usage = _completion_tokens(received)
    return len(received.token_ids) if usage is None and received.token_ids is not None else usage


def _total(received: Received) -> int | None:
    """Tokens in the context at the end, where the usage tells."""
    usage = received.usage
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def _longest(batch: Batch) -> dict[tuple[str, str], int]:
    """The longest context each endpoint is known to have held: one shorter than that was not cut for want of room."""
    longest: dict[tuple[str, str], int] = {}
    for exchange in batch:
        if exchange.received is not None and (total := _total(exchange.received)) is not None:
            line = (exchange.sent.arm, exchange.sent.endpoint)
            longest[line] = max(longest.get(line, 0), total)
    return longest
