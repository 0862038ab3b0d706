"""How fast an arm answered, and how much faster than the other on the same prompts. No texts are kept.

Time to first token, inter-token latency and end-to-end latency are those of NVIDIA's GenAI-Perf: the second is
(end - first token) / (tokens - 1) of one answer. First tokens are told of streamed answers only.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from fuzzer.history.records import Arm, Exchange
from fuzzer.stats import rate_ratio
from fuzzer.summary import ArmSpeed, Quantiles, SpeedUp

SPEED: Final = "speed"


def speed_key(candidate: str, lm_head: str | None, concurrency: int) -> str:
    """The key under which speed at a temperature over 0 is recorded, as if it were a cell."""
    return f"{candidate}/{lm_head or 'unstated'}/c{concurrency}/{SPEED}"


def _seconds() -> array[float]:
    return array("d")


@dataclass(slots=True)
class Times:
    """The times of one arm's answers in seconds, and all tokens that it gave over its stages."""

    whole: array[float] = field(default_factory=_seconds)
    first: array[float] = field(default_factory=_seconds)
    between: array[float] = field(default_factory=_seconds)
    tokens: int = 0
    stage_seconds: float = 0.0

    def add(self, exchange: Exchange) -> None:
        """Take one measured answer."""
        received = exchange.received
        if received is None or received.outcome != "ok":
            return
        self.whole.append((received.end_ns - exchange.sent.sent_ns) / 1e9)
        if received.first_ns is None or not exchange.sent.stream or "not-streamed" in received.anomalies:
            return
        self.first.append((received.first_ns - exchange.sent.sent_ns) / 1e9)
        tokens = _tokens(exchange)
        if tokens > 1:
            self.between.append((received.end_ns - received.first_ns) / 1e9 / (tokens - 1))

    def count(self, exchange: Exchange) -> None:
        """Take the tokens of whatever was sent, neighbours and filler included."""
        self.tokens += _tokens(exchange)

    def summary(self) -> ArmSpeed | None:
        """The figures, or None where nothing was answered."""
        if not self.whole:
            return None
        return ArmSpeed(
            tokens_per_second=self.tokens / self.stage_seconds if self.tokens and self.stage_seconds else None,
            end_to_end=_quantiles(self.whole),
            first_token=_quantiles(self.first),
            inter_token=_quantiles(self.between),
        )


def _tokens(exchange: Exchange) -> int:
    usage = exchange.received.usage if exchange.received is not None else None
    return (usage.completion_tokens or 0) if usage is not None else 0


def _quantiles(values: array[float]) -> Quantiles | None:
    if not values:
        return None
    import numpy as np

    p50, p90, p99 = (float(value) for value in np.quantile(np.frombuffer(values), (0.5, 0.9, 0.99)))
    return Quantiles(n=len(values), p50=p50, p90=p90, p99=p99)


@dataclass(slots=True)
class Race:
    """Both arms' tokens and seconds on the prompts that both answered; a cluster is what was in flight together."""

    clusters: list[tuple[int, int]] = field(default_factory=list)
    figures: array[float] = field(default_factory=_seconds)

    def add(self, candidate: Exchange, reference: Exchange) -> None:
        """Take a pair, if both answered and say how long their answers are."""
        tokens = (_tokens(candidate), _tokens(reference))
        if not (candidate.ok and reference.ok and min(tokens) > 0):
            return
        sent = candidate.sent
        together = sent.index // max(sent.concurrency, 1) if sent.round is None else sent.round
        self.clusters.append((sent.block, together))
        for count, exchange in zip(tokens, (candidate, reference), strict=True):
            received = exchange.received
            assert received is not None  # noqa: S101  # it is ok
            self.figures.extend((float(count), (received.end_ns - exchange.sent.sent_ns) / 1e9))

    def summary(self, confidence: float) -> SpeedUp | None:
        """The candidate's speed as a multiple of the reference's, or None where no pair was answered."""
        figures = iter(self.figures)
        pairs = list(zip(self.clusters, figures, figures, figures, figures, strict=True))
        found = rate_ratio(pairs, confidence) if pairs else None
        if found is None:
            return None
        return SpeedUp(
            value=found.value,
            low=found.low,
            high=found.high,
            confidence=confidence,
            pairs=found.pairs,
            clusters=found.clusters,
        )


def race(measured: Mapping[Arm, Sequence[Exchange]], into: Race) -> list[tuple[Exchange, Exchange | None]]:
    """Pair one block's exchanges by their place in the schedule; the candidate's, each with the reference's there."""
    references = {exchange.sent.index: exchange for exchange in measured.get("reference", ())}
    pairs = [(exchange, references.get(exchange.sent.index)) for exchange in measured.get("candidate", ())]
    for exchange, pair in pairs:
        if pair is not None:
            into.add(exchange, pair)
    return pairs
