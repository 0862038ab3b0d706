"""What replies of both ends to the same messages show: are these the same chat template and the same weights?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Literal

import anyio
from pydantic import JsonValue

from fuzzer.history.records import Message, Received
from fuzzer.plan import Thinking
from fuzzer.summary import Check
from fuzzer.wire.bounds import quoted
from fuzzer.wire.client import Client
from fuzzer.wire.params import Params
from fuzzer.wire.scoring import Scorer
from fuzzer.wire.tokens import count

UNLIKE = 2  # prompts that must differ: one may be a server's slip
ANSWERS = 3  # prompts whose first token must be known
APART = 2.0  # nats, median over prompts; another lm_head precision moves first tokens by half a nat, W4A4 by one
SCORED_APART = 1.0  # nats a token, median: W4A4 against another head stays under 0.7 on the simulated engine
PLACES = 8  # tokens that are scored: llama.cpp takes a request for each
SCORING_SECONDS = 30.0
NOT_LISTED = 5.0  # nats that stand for a token that the other end does not even list

Pair = tuple[Received, Received]
Rendered = str | tuple[int, ...]

_CHANGE = "start both with the same --chat-template and tokenizer, and look at what a gateway adds"


def template(
    names: str, pairs: Sequence[Pair], rendered: Sequence[tuple[Rendered, Rendered]], *, same_engine: bool
) -> Iterator[Check]:
    """At most one check: the ends render the same messages differently.

    Blocking, for they are then asked different things; only numbers of tokens, of two engines that may count
    differently, are no proof. ``pairs`` are replies to the same messages, candidate first, ``rendered`` what each end
    says that it makes of the same messages.
    """
    for left, right in rendered:
        if type(left) is type(right) and left != right:
            yield _template(names, _first_difference(left, right), proof=True)
            return
    counts = [(_prompt_tokens(ours), _prompt_tokens(theirs)) for ours, theirs in pairs]
    known = [(ours, theirs) for ours, theirs in counts if ours is not None and theirs is not None]
    unlike = [(ours, theirs) for ours, theirs in known if ours != theirs]
    if len(unlike) >= UNLIKE:
        ours, theirs = unlike[0]
        words = f"of {len(known)} prompts {len(unlike)} have another length, the first {ours} tokens and {theirs}"
        yield _template(names, words, proof=same_engine)


def _template(names: str, words: str, *, proof: bool) -> Check:
    message = f"{names} render the same messages differently: {words}"
    severity: Literal["blocking", "warning"] = "blocking" if proof else "warning"
    return Check(code="different-template", severity=severity, message=message, change=_CHANGE)


def _first_difference(ours: Rendered, theirs: Rendered) -> str:
    shorter = min(len(ours), len(theirs))
    at = next((place for place in range(shorter) if ours[place] != theirs[place]), shorter)
    if isinstance(ours, str) and isinstance(theirs, str):
        return f"{quoted(ours[at : at + 40])} and {quoted(theirs[at : at + 40])} from character {at}"
    return f"{len(ours)} tokens and {len(theirs)}, unlike from token {at}"


def _prompt_tokens(received: Received) -> int | None:
    return received.usage.prompt_tokens if received.outcome == "ok" and received.usage is not None else None


async def scored(ours: Client, theirs: Client, messages: Sequence[Message], answer: Received | None) -> list[float]:
    """How far apart two ends score the same text, token by token, in nats; nothing where either cannot.

    The text is one end's own answer to these messages, given to both.
    """
    ids = (answer.token_ids or ())[:PLACES] if answer is not None else ()
    scores = []
    with anyio.move_on_after(SCORING_SECONDS):
        for client in (ours, theirs) if ids else ():
            params = Params(max_tokens=1)
            async with Scorer(client.endpoint, client.dialect, params=params, timeout=SCORING_SECONDS) as scorer:
                scores.append((await scorer.score(messages, ids, places=PLACES)).tokens)
    if len(scores) < 2:
        return []
    pairs = zip(*scores, strict=False)
    known = [(left.logprob, right.logprob) for left, right in pairs if not (left.bounded or right.bounded)]
    gaps = (abs(left - right) for left, right in known if left is not None and right is not None)
    return [gap for gap in gaps if math.isfinite(gap)]


def weights(names: str, pairs: Sequence[Pair], scores: Sequence[float] = ()) -> Iterator[Check]:
    """At most one check, a warning: the same text, or the same prompts' first tokens, are far from equally likely.

    ``scores`` are what ``scored`` found; without enough of them the first tokens of ``pairs`` have to do.
    """
    if len(scores) >= PLACES // 2:
        if median(scores) >= SCORED_APART:
            yield _weights(
                f"{names} score the same text {median(scores):.1f} nats a token apart (median of {len(scores)})"
            )
        return
    gaps = [gap for ours, theirs in pairs if (gap := _first_token_gap(ours, theirs)) is not None]
    if len(gaps) < ANSWERS or median(gaps) < APART:
        return
    yield _weights(
        f"{names} give the first tokens of the same prompts log-probabilities that are {median(gaps):.1f} nats apart "
        "(median)"
    )


def _weights(found: str) -> Check:
    return Check(
        code="different-weights",
        severity="warning",
        message=f"{found}: hardly the same weights",
        change="see that both serve the same revision and quantisation of the model",
    )


def _first_token_gap(ours: Received, theirs: Received) -> float | None:
    """The mean distance of the log-probabilities that both list for the first token, in nats."""
    left, right = (dict(reply.logprobs[0].top) if reply.logprobs else {} for reply in (ours, theirs))
    if min(len(left), len(right)) < 2:
        return None
    common = left.keys() & right.keys()
    if not common:
        return NOT_LISTED
    gap = sum(abs(left[token] - right[token]) for token in common) / len(common)
    return gap if gap == gap else None  # an engine's NaN tells nothing


async def render(client: Client, messages: Sequence[Message], thinking: Thinking) -> Rendered | None:
    """What the engine makes of these messages: token ids or text, as far as it tells; nothing is generated.

    vLLM's ``/tokenize`` takes messages (vllm/entrypoints/serve/tokenize/protocol.py) and gives ids; llama.cpp's
    ``/apply-template`` (tools/server/README.md) gives text.
    """
    body = client.dialect.body(client.endpoint.model, messages, Params(max_tokens=1, thinking=thinking))
    asked: dict[str, JsonValue] = {
        name: body[name] for name in ("model", "messages", "chat_template_kwargs", "tools") if name in body
    }
    if client.dialect.engine == "vllm":
        reply = await client.post("/tokenize", asked | {"add_generation_prompt": True})
        ids = reply.get("tokens") if isinstance(reply, dict) else None
        return _ids(ids) if isinstance(ids, list) else None
    if client.dialect.engine == "llamacpp":
        reply = await client.post("/apply-template", asked)
        prompt = reply.get("prompt") if isinstance(reply, dict) else None
        return prompt if isinstance(prompt, str) else None
    return None


def _ids(values: list[JsonValue]) -> tuple[int, ...] | None:
    ids = [count(value) for value in values]
    good = tuple(value for value in ids if value is not None)
    return good if len(good) == len(ids) else None
