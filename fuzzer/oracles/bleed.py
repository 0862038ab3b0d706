"""Bleed: a reply holds content of another exchange.

Certain is a canary of another prompt, seen by this endpoint, that stands nowhere in the victim's own prompt. Likely are
item names and answers of another prompt that the paired reply does not hold either, and a wrong answer that fits
another prompt's far better than its own. What no prompt of this endpoint can have supplied is never certain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from fuzzer.finding import Certainty, Donor, Finding
from fuzzer.history.overlap import When
from fuzzer.history.records import Exchange, Prompt, Received
from fuzzer.oracles.build import around, excerpt, finding, label, quote
from fuzzer.oracles.content import Hit, Source, holds
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.likeness import Likeness, likeness

_RANK: dict[Source, int] = {"user": 0, "history": 1, "system": 2, "cohort": 3, "answer": 4, "items": 5}
_DISTINCTIVE = 2  # an item name or answer that more prompts own than this names nobody
_WHEN: dict[When, str] = {
    "concurrent": "in flight at the same time",
    "ambiguous": "in flight at the same time, more than once",
    "stale": "finished earlier",
    "unconditioned": "never sent to this endpoint before",
}
_WHAT: dict[Source, str] = {
    "user": "last user message",
    "history": "history",
    "system": "system message",
    "cohort": "shared system message",
    "answer": "answer",
    "items": "item names",
}


@dataclass(frozen=True, slots=True)
class Bleed:
    """One donor's content in one reply; ``prompt`` is None where the donor is a cohort or cannot be told apart.

    ``channel`` is the part of the reply that holds it, ``spans`` all that matched, ``controlled`` whether there was a
    paired reply to compare with.
    """

    certainty: Certainty
    source: Source
    span: str
    prompt: str | None
    exchange: str | None
    when: When
    channel: str
    excerpt: str
    spans: tuple[tuple[Source, str], ...]
    controlled: bool
    like: Likeness | None = None


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every donor whose content a reply of the block holds."""
    for exchange in batch:
        for bleed in bleeds(exchange, context):
            yield _finding(exchange, bleed)


def bleeds(exchange: Exchange, context: Context) -> tuple[Bleed, ...]:
    """Whose content the reply holds, the surest first; one entry a donor."""
    received, prompt = exchange.received, context.prompt(exchange)
    if received is None or prompt is None:
        return ()
    found: dict[tuple[str, ...], list[tuple[Hit, str, str]]] = {}
    for channel, text in _channels(received):
        for hit in context.content.scan(text):
            if prompt.id not in hit.owners and _counts(hit, exchange, prompt, context):
                donor = (hit.words,) if hit.source == "cohort" else tuple(hit.owners)
                found.setdefault(donor, []).append((hit, channel, text))
    named = {donor[0] for donor in found if len(donor) == 1}
    spoken = [
        _bleed(exchange, hits, context) for donor, hits in found.items() if len(donor) == 1 or named.isdisjoint(donor)
    ]
    if not spoken and exchange.sent.plain and (fit := _fitting(exchange, received, prompt, context)) is not None:
        return (fit,)
    return tuple(sorted(spoken, key=lambda bleed: (bleed.certainty != "certain", _RANK[bleed.source])))


def _channels(received: Received) -> Iterator[tuple[str, str]]:
    replies = {"content": received.text, "reasoning": received.reasoning, "tool arguments": received.tool_arguments}
    yield from ((channel, text) for channel, text in replies.items() if text)


def _counts(hit: Hit, exchange: Exchange, prompt: Prompt, context: Context) -> bool:
    """Whether a known text says anything: it is not the victim's own nor, for less than a canary, the pair's either."""
    if holds(prompt.text, hit.words):
        return False
    if hit.source not in ("items", "answer"):
        return True
    if len(hit.owners) > _DISTINCTIVE or holds(prompt.answer, hit.words):
        return False
    control = _control(exchange, context)
    return control is None or not any(holds(text, hit.words) for _, text in _channels(control))


def _control(exchange: Exchange, context: Context) -> Received | None:
    pair = context.pair(exchange)
    return pair.received if pair is not None and pair.ok else None


def _bleed(exchange: Exchange, hits: list[tuple[Hit, str, str]], context: Context) -> Bleed:
    hits.sort(key=lambda entry: _RANK[entry[0].source])
    hit, channel, text = hits[0]
    donor, donor_exchange, when = _donor(exchange, hit, context)
    controlled = _control(exchange, context) is not None
    return Bleed(
        certainty=_certainty(hit.source, when, controlled=controlled),
        source=hit.source,
        span=hit.span,
        prompt=donor,
        exchange=donor_exchange,
        when=when,
        channel=channel,
        excerpt=around(text, max(text.lower().find(hit.span.lower()), 0), len(hit.span)),
        spans=tuple((other.source, other.span) for other, _, _ in hits),
        controlled=controlled,
    )


def _certainty(source: Source, when: When, *, controlled: bool) -> Certainty:
    seen = when != "unconditioned"
    if source in ("items", "answer"):
        return "likely" if controlled and seen else "possible"
    return "certain" if seen else "likely"


def _donor(exchange: Exchange, hit: Hit, context: Context) -> tuple[str | None, str | None, When]:
    """The prompt meant, its exchange where only one can be meant, and how the donor lay to the victim."""
    relations = {owner: context.overlap.relation(exchange, owner) for owner in hit.owners}
    order: tuple[When, ...] = ("concurrent", "ambiguous", "stale", "unconditioned")
    when = min((relation.when for relation in relations.values()), key=order.index)
    owners = [owner for owner, relation in relations.items() if relation.when == when]
    if hit.source == "cohort" or len(owners) > 1:
        return None, None, when
    return owners[0], relations[owners[0]].exchange, when


def _fitting(exchange: Exchange, received: Received, prompt: Prompt, context: Context) -> Bleed | None:
    """A wrong or unchecked answer that reads like the answer of one neighbour, by far more than like its own."""
    grade = context.grade(exchange)
    if grade is None or grade.value not in ("wrong", "unchecked"):
        return None
    if (like := likeness(exchange, prompt, context)) is None:
        return None
    relation = context.overlap.relation(exchange, like.prompt)
    answer = context.prompts[like.prompt].answer or excerpt(context.reference_reply(like.prompt) or "")
    controlled = _control(exchange, context) is not None
    return Bleed(
        certainty=_certainty("answer", relation.when, controlled=controlled),
        source="answer",
        span=answer,
        prompt=like.prompt,
        exchange=relation.exchange,
        when=relation.when,
        channel="content" if received.text else "tool arguments",
        excerpt=excerpt(received.text or received.tool_arguments),
        spans=(("answer", answer),),
        controlled=controlled,
        like=like,
    )


def _finding(exchange: Exchange, bleed: Bleed) -> Finding:
    where = label(exchange.sent.arm, exchange.sent.endpoint)
    whose = bleed.prompt or ("another cohort" if bleed.source == "cohort" else "one of several prompts")
    how = "reads like" if bleed.like else "holds"
    evidence: dict[str, JsonValue] = {
        "in": bleed.channel,
        "excerpt": bleed.excerpt,
        "spans": [[source, span] for source, span in bleed.spans],
        "controlled": bleed.controlled,
    }
    if bleed.like:
        evidence["likeness"] = {"donor": bleed.like.donor, "own": bleed.like.own}
    return finding(
        exchange,
        "bleed",
        bleed.when,
        bleed.certainty,
        f"{where}: the reply to {exchange.sent.prompt} {how} the {_WHAT[bleed.source]} of {whose} "
        f"({_WHEN[bleed.when]}): {quote(bleed.span)}",
        detail=bleed.source,
        evidence=evidence,
        donor=Donor(
            prompt=bleed.prompt,
            exchange=bleed.exchange,
            channel=bleed.source,
            span=bleed.span,
            when=bleed.when,
        ),
    )
