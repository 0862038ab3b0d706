"""One reply delivered twice: two different questions of a block are answered alike, to the letter."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzer.finding import Finding
from fuzzer.history.records import Exchange
from fuzzer.oracles.build import finding, label, quote
from fuzzer.oracles.context import Batch, Context

LEAST = 20  # characters: shorter replies may agree by chance


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every reply that another question of the same endpoint got as well."""
    first: dict[tuple[str, str], Exchange] = {}
    for exchange in batch:
        received, prompt = exchange.received, context.prompt(exchange)
        if received is None or prompt is None or not exchange.ok or len(received.text) < LEAST:
            continue
        where = label(exchange.sent.arm, exchange.sent.endpoint)
        earlier = first.setdefault((where, received.text), exchange)
        other = context.prompt(earlier)
        if other is None or other.messages == prompt.messages or other.answer == prompt.answer:
            continue
        yield finding(
            exchange,
            "bleed",
            "same-reply",
            "likely",
            f"{where}: the reply to {prompt.id} is the one to {other.id}, to the letter: {quote(received.text)}",
            evidence={"other": earlier.key},
        )
