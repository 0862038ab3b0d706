"""What the replies to preflight's questions show: was a parameter heeded, or silently ignored?

Nothing here sends anything. A single odd reply proves nothing: batches and caches make near-ties flip at temperature 0,
and a fault that strikes one request in a hundred is the gate's to find. So a parameter counts as ignored only where
every reply that could show it does.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fuzzer.history.records import Received
from fuzzer.summary import Probed, ProbeName
from fuzzer.wire.bounds import quoted

EARLY = 0.5  # of the shorter reply's words: a sampled reply to an open question parts from the others before
MOST = 0.5  # of the pairs, where the question is put again to be sure
OVER = 2.0  # times the limit; a verify step may run a few tokens over, and that is a fault to be found, not a habit
WORD = 3  # characters that a stop string has at least
TWICE = 2


def said(received: Received) -> str:
    """All that the model said, thinking included."""
    return f"{received.reasoning}{received.text}"


def parted(left: Received, right: Received) -> tuple[int, int] | None:
    """After how many words two replies part, and how many the shorter one has; None where they are equal."""
    if said(left) == said(right):
        return None
    ours, theirs = said(left).split(), said(right).split()
    shorter = min(len(ours), len(theirs))
    place = next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
    return place, shorter


def sampled(replies: Sequence[Received], *, early: float = 1.0) -> bool:
    """Whether replies to one open question look drawn by lot: three or more, no two alike, parting early.

    ``early`` is the share of the pairs, from 0 to 1, that part early.
    """
    good = [reply for reply in replies if reply.outcome == "ok"]
    pairs = [pair for left, right in itertools.combinations(good, 2) if (pair := parted(left, right)) is not None]
    if len(good) <= TWICE or len(pairs) < len(good) * (len(good) - 1) // 2:
        return False
    return sum(place < EARLY * shorter for place, shorter in pairs) >= early * len(pairs)


def steady(replies: Sequence[Received]) -> Received | None:
    """The reply where all are usable and alike, else None."""
    if not replies or any(reply.outcome != "ok" for reply in replies):
        return None
    return replies[0] if all(said(reply) == said(replies[0]) for reply in replies) else None


def temperature(end: str, replies: Sequence[Received], again: Sequence[Received]) -> Probed:
    """Whether temperature 0 is heeded: ``replies`` to one question, and ``again`` to another where those looked drawn.

    Every request should have had a seed of its own, or a server that draws by the seed would look greedy.
    """
    if sampled(replies) and sampled(again, early=MOST):
        first, second = said(replies[0]).split()[:6], said(replies[1]).split()[:6]
        shown = f"{quoted(' '.join(first))}, {quoted(' '.join(second))} ..."
        return _probed(end, "temperature", "bad", f"the same question gets another reply every time: {shown}")
    good = [reply for reply in replies if reply.outcome == "ok"]
    parts = [pair for left, right in itertools.combinations(good, 2) if (pair := parted(left, right)) is not None]
    if parts:
        place = min(place for place, _ in parts)
        different = len({said(reply) for reply in good})
        words = f"the same question, alone, got {different} replies in {len(good)}, parting after {place} words"
        return _probed(end, "temperature", "odd", words)
    if len(good) < TWICE:
        return _probed(end, "temperature", "unknown", "too few replies came")
    return _probed(end, "temperature", "ok", f"the same question, alone, got the same reply {len(good)} times")


def tokens(received: Received) -> int:
    """How long a reply is: as the server counts, else by its token ids, else in words."""
    if received.usage is not None and received.usage.completion_tokens is not None:
        return received.usage.completion_tokens
    return len(received.token_ids) if received.token_ids is not None else len(said(received).split())


def limit(end: str, replies: Sequence[tuple[Received, int]]) -> Probed:
    """Whether ``max_tokens`` is heeded: replies, with their limits, to questions that ask for more than that."""
    good = [(reply, tokens(reply), most) for reply, most in replies if reply.outcome == "ok"]
    over = [f"{length} tokens came where {most} were asked for" for _, length, most in good if length > most]
    if len(good) >= TWICE and all(length > OVER * most for _, length, most in good):
        return _probed(end, "max-tokens", "bad", over[0])
    if over:
        return _probed(end, "max-tokens", "odd", over[0])
    cut = [most for reply, length, most in good if length == most or reply.finish_reason == "length"]
    if cut:
        return _probed(end, "max-tokens", "ok", f"replies end after {max(cut)} tokens")
    return _probed(end, "max-tokens", "unknown", "no reply was long enough to show it")


def stops(reply: Received) -> tuple[str, ...]:
    """Two words out of the middle of a reply, to be sent as stop strings with the same question; or none."""
    words = [word for word in said(reply).split() if len(word) >= WORD]
    fresh = [word for word in dict.fromkeys(words) if said(reply).find(word) > len(said(reply)) // 4]
    middle = [word for word in fresh if not said(reply).rstrip().endswith(word)]
    return (middle[0], middle[len(middle) // 2]) if middle else ()


def stop(end: str, before: Received, replies: Sequence[tuple[str, Received]]) -> Probed:
    """Whether ``stop`` is heeded: each reply with the stop string it was asked with, and the reply without any."""
    whole, past, ended = said(before), 0, 0
    for string, reply in replies:
        text = said(reply)
        at = text.find(string)
        if at >= 0 and text[at + len(string) :].strip():
            past += 1
        elif reply.outcome == "ok" and text.strip() and whole.startswith(text.rstrip()) and len(text) < len(whole):
            ended += 1
    if past >= TWICE and past == len(replies):
        return _probed(end, "stop", "bad", f"replies go on past their stop string {quoted(replies[0][0])}")
    if ended:
        return _probed(end, "stop", "ok", f"a reply ends before its stop string {quoted(replies[0][0])}")
    return _probed(end, "stop", "odd" if past else "unknown", "some replies go on past it" if past else "")


def stream(end: str, before: Sequence[Received], other: Sequence[Received], *, streamed: bool) -> Probed:
    """Whether replies are the same streamed or not; ``other`` came the other way than ``before`` (``streamed``)."""
    way, against = ("streamed", "whole") if streamed else ("whole", "streamed")
    if not any(reply.outcome == "ok" for reply in other):
        why = f"{other[0].outcome}: {other[0].detail}" if other else "none was sent"
        return _probed(end, "stream", "unknown", f"no reply comes {against} ({why}); this run asks for them {way}")
    ours, theirs = steady(before), steady(other)
    if ours is None or theirs is None:
        return _probed(end, "stream", "unknown", "replies vary too much to tell")
    if (pair := parted(ours, theirs)) is None:
        return _probed(end, "stream", "ok", "streamed and whole replies are alike")
    result = "bad" if len(other) >= TWICE else "odd"
    return _probed(end, "stream", result, f"streamed and whole replies part after {pair[0]} words")


def neutral(end: str, before: Sequence[Received], other: Sequence[Received], *, sent: bool) -> Probed:
    """Whether the server has generation defaults that change greedy decoding.

    ``other`` came without the neutral parameters that the run sends (``sent``), or with those that it does not send.
    """
    ours, theirs = steady(before), steady(other)
    if ours is None or theirs is None:
        return _probed(end, "neutral", "unknown", "replies vary too much to tell")
    if (pair := parted(ours, theirs)) is None:
        return _probed(end, "neutral", "ok", "no generation default of the server's changes greedy decoding")
    held = "they are overridden in every request" if sent else "this run does not send what would override them"
    words = f"generation defaults of its own change greedy decoding (after {pair[0]} words); {held}"
    return _probed(end, "neutral", "odd" if sent or len(other) < TWICE else "bad", words)


def seed(end: str, same: Sequence[Received], other: Sequence[Received]) -> Probed:
    """Whether ``seed`` is heeded where one samples: replies with one seed, and with another.

    Nothing that is judged depends on it: without it, what neighbours sample cannot be had again.
    """
    if len(same) < TWICE or any(reply.outcome != "ok" for reply in (*same, *other)):
        return _probed(end, "seed", "unknown", "too few replies came")
    if (pair := parted(*same)) is not None:
        return _probed(end, "seed", "odd", f"at temperature 1 one seed gave two replies, parting after {pair[0]} words")
    if all(said(reply) == said(same[0]) for reply in other):
        return _probed(end, "seed", "unknown", "at temperature 1 another seed gave the same reply, too")
    return _probed(end, "seed", "ok", "at temperature 1 one seed gave one reply, and another seed another")


def _probed(end: str, probe: ProbeName, result: str, detail: str) -> Probed:
    return Probed.model_validate({"end": end, "probe": probe, "result": result, "detail": detail})
