"""Divergence: where two matched greedy outputs part, and whether rounding can explain it.

A divergence alone is no defect. What tells is how far apart the two tokens were for the model: the *gap* of a side is
its regret for the other side's token (its best log-probability minus that token's), or its margin (best minus second
best) where that token's is unknown. The smaller gap of the two sides is triaged by a band that comes from the reference
against itself, or from the precision of the output head; but a side that emitted a token below its own best is no
witness that the two were close. One material divergence proves nothing; their rate is judged elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from fuzzer.finding import Finding
from fuzzer.history.records import Exchange, Received, TokenLogprob
from fuzzer.oracles.build import excerpt, finding, label, quote
from fuzzer.oracles.context import Batch, Context
from fuzzer.oracles.heads import DEFAULT_BANDS, head_class

Severity = Literal["near-tie", "grey", "material"]
Triage = Literal[Severity, "untriaged"]

MIN_FLIPS = 59  # the largest of 59 is above the 95th percentile with 95 % confidence
MIN_BAND = 0.1  # nats
MIN_MATERIAL = 0.5  # nats: four steps of a bf16 logit between 16 and 32, the least that any head's defaults call so
CLEARANCE = 1.5  # times the widest benign one: a healthy candidate verifies more rows than its reference runs
ALONE = 2  # the pass index of the calibration pass that runs one at a time
_SHOWN = 60  # characters of text after the divergence


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a divergence: what it said next ("" where it had ended), its margin and its regret, in nats.

    The margin is top-1 minus top-2 there. The regret is the top minus the other side's token, a lower bound where that
    token is not among the alternatives. None where the engine did not tell. ``slip`` is the top minus the token that
    this side itself emitted: 0 in a greedy engine.
    """

    said: str
    margin: float | None = None
    regret: float | None = None
    slip: float = 0.0

    @property
    def gap(self) -> float | None:
        """How sure this side was that the other side's token is the wrong one, in nats."""
        return self.margin if self.regret is None else self.regret


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first place where two outputs differ; ``index`` tokens (or characters) before it are the same."""

    unit: Literal["token", "character"]
    index: int
    left: Side
    right: Side

    @property
    def margin(self) -> float | None:
        """The smaller of the two margins that are known."""
        return _smaller(self.left.margin, self.right.margin)

    @property
    def gap(self) -> float | None:
        """What the band is compared with: the smaller of the two gaps that are known, but no less than either slip."""
        gap, slip = _smaller(self.left.gap, self.right.gap), max(self.left.slip, self.right.slip)
        return slip or None if gap is None else max(gap, slip)


@dataclass(frozen=True, slots=True)
class Band:
    """Up to ``tie`` nats a divergence is a near-tie, above ``material`` rounding cannot explain it; grey between.

    ``flips`` is the number of benign divergences of known gap that were seen, ``source`` where the band comes from.
    """

    tie: float
    material: float
    flips: int
    source: str


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """A finding for every divergence of matched exchanges that is material by its gap, unless its regret is known."""
    flips = benign_flips(batch)
    for exchange in batch:
        pair = partner(exchange, context)
        if pair is None or context.told(exchange) is not None:
            continue  # what the reference has scored is judged by its regret
        divergence = first_divergence(exchange, pair)
        band = calibrate(flips, context.lm_head(pair) or context.lm_head(exchange))
        if divergence is not None and triage(divergence, band) == "material":
            yield _finding(exchange, pair, divergence, band)


def partner(exchange: Exchange, context: Context) -> Exchange | None:
    """The reference's exchange that a candidate's is matched with; both asked for log-probabilities, of like heads."""
    pair = context.pair(exchange) if exchange.sent.arm == "candidate" and exchange.sent.logprobs else None
    if pair is None or matched(exchange, pair) is not None or _confounded(exchange, pair, context):
        return None
    return pair


def first_divergence(left: Exchange, right: Exchange) -> Divergence | None:
    """Where two replies first differ, by token ids if both have them, else by text; None where they do not."""
    one, other = left.received, right.received
    if one is None or other is None or not (left.ok and right.ok):
        return None
    if one.token_ids is not None and other.token_ids is not None:
        return _by_tokens(one, other, one.token_ids, other.token_ids)
    return _by_text(one, other)


def matched(left: Exchange, right: Exchange) -> str | None:
    """What keeps two exchanges from being compared, or None if they are matched."""
    a, b = left.sent, right.sent
    unlike = [
        name
        for name, differs in (
            ("prompt", a.prompt != b.prompt),
            ("concurrency", a.concurrency != b.concurrency),
            ("log-probabilities", a.logprobs != b.logprobs),
            ("stream", a.stream != b.stream),
            ("cache", a.cache != b.cache),
            ("exposure", (a.exposure > 0) != (b.exposure > 0)),
            ("max_tokens", a.max_tokens != b.max_tokens),
            ("parameters", a.overrides != b.overrides or a.turn != b.turn),
            ("cache tag", a.tag != b.tag),
            ("outcome", not (left.ok and right.ok)),
        )
        if differs
    ]
    return ", ".join(unlike) or None


def benign_flips(batch: Batch) -> list[Divergence]:
    """Divergences of the reference from itself: its calibration passes against each other, and against alone."""
    passes: dict[tuple[str, str], dict[int, Exchange]] = {}
    for exchange in batch:
        sent = exchange.sent
        if sent.arm == "reference" and sent.phase == "calibration" and sent.logprobs:
            passes.setdefault((sent.cell, sent.prompt), {})[sent.pass_index] = exchange
    flips = [
        first_divergence(own[0], own[other])
        for own in passes.values()
        for other in (1, ALONE)
        if {0, other} <= set(own)
    ]
    return [flip for flip in flips if flip is not None]


def calibrate(benign: Sequence[Divergence], lm_head: str | None) -> Band:
    """The band of these benign divergences (see `band_of`)."""
    return band_of([flip.gap for flip in benign if flip.gap is not None], lm_head)


def band_of(gaps: Sequence[float], lm_head: str | None, clearance: float = CLEARANCE) -> Band:
    """The band: the largest benign gap or regret, at least 0.1, or the output head's defaults under 59 of them.

    What lies up to ``clearance`` times as high, or under 0.5, is grey: batches of more rows are noisier, and the
    largest of a few dozen may have been a small one.
    """
    if len(gaps) >= MIN_FLIPS:
        widest = max(MIN_BAND, *gaps)
        return Band(widest, max(MIN_MATERIAL, clearance * widest), len(gaps), "calibrated")
    name = head_class(lm_head)
    tie, material = DEFAULT_BANDS[name]
    return Band(tie, material, len(gaps), f"default ({name})")


def triage(divergence: Divergence, band: Band) -> Triage:
    """Whether rounding explains a divergence; untriaged where neither side gave log-probabilities there."""
    return "untriaged" if divergence.gap is None else severity(divergence.gap, band)


def severity(nats: float, band: Band) -> Severity:
    """Where a gap or a regret lies."""
    if nats <= band.tie:
        return "near-tie"
    return "material" if nats > band.material else "grey"


def _by_tokens(one: Received, other: Received, left: tuple[int, ...], right: tuple[int, ...]) -> Divergence | None:
    index = next((place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if index is None:
        if len(left) == len(right) or (abs(len(left) - len(right)) == 1 and _said(one) == _said(other)):
            return None  # an end token that only one engine lists is no divergence
        index = min(len(left), len(right))
    a, b = _entry(one, left, index), _entry(other, right, index)
    return Divergence("token", index, _side(a, left, index, b, right), _side(b, right, index, a, left))


def _by_text(one: Received, other: Received) -> Divergence | None:
    left, right = _said(one), _said(other)
    if left == right:
        return None
    index = next((place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    index = min(len(left), len(right)) if index is None else index
    a, b = _covering(one, left, index), _covering(other, right, index)
    if a is not None and b is not None and a[0] != b[0]:
        a = b = None  # cut into tokens differently: the two entries do not stand at the same place
    first, second = a[1] if a else None, b[1] if b else None
    return Divergence(
        "character",
        index,
        _told(left[index : index + _SHOWN], first, second, ended=index >= len(right)),
        _told(right[index : index + _SHOWN], second, first, ended=index >= len(left)),
    )


def _side(
    own: TokenLogprob | None, ids: tuple[int, ...], index: int, other: TokenLogprob | None, other_ids: tuple[int, ...]
) -> Side:
    if index >= len(ids):
        return Side("")
    said = own.token if own is not None else f"token {ids[index]}"
    return _told(said, own, other, ended=index >= len(other_ids))


def _told(said: str, own: TokenLogprob | None, other: TokenLogprob | None, *, ended: bool) -> Side:
    return Side(said, _margin(own), _regret(own, other, ended=ended), _slip(own))


def _entry(received: Received, ids: tuple[int, ...], index: int) -> TokenLogprob | None:
    """The log-probabilities at a token, if they stand at the same place as its id."""
    entries = received.logprobs or ()
    if index >= len(ids) or index >= len(entries):
        return None
    entry = entries[index]
    aligned = len(entries) == len(ids) if entry.id is None else entry.id == ids[index]
    return entry if aligned else None


def _covering(received: Received, text: str, index: int) -> tuple[int, TokenLogprob] | None:
    """The entry whose token covers a character, and where it starts; None if entries and text do not agree up to it."""
    start = 0
    for entry in received.logprobs or ():
        if start + len(entry.token) > index:
            return start, entry
        if not text.startswith(entry.token, start):
            return None
        start += len(entry.token)
    return None


def _margin(entry: TokenLogprob | None) -> float | None:
    margin = entry.margin if entry is not None else None
    return margin if margin is not None and math.isfinite(margin) else None


def _regret(own: TokenLogprob | None, other: TokenLogprob | None, *, ended: bool) -> float | None:
    """The best of ``own`` minus the token that ``other`` emitted, or the least that it can be."""
    if own is None or other is None or ended or len(own.top) < 2 or other.token == own.token:
        return None
    best = max(value for _, value in own.top)
    listed = [value for token, value in own.top if token == other.token]
    if not listed:  # unlisted alternatives lie below the listed ones, but for the emitted token, which is always listed
        listed = [min(value for token, value in own.top if token != own.token or value == best)]
    regret = best - max(listed)
    return regret if math.isfinite(regret) else None


def _slip(own: TokenLogprob | None) -> float:
    """The best of ``own`` minus the token that it emitted, or the least that it can be; 0 where nothing is known."""
    if own is None or not own.top:
        return 0.0
    values = [value for _, value in own.top]
    listed = [value for token, value in own.top if token == own.token]
    emitted = own.logprob if own.logprob is not None else max(listed or [min(values)])
    slip = max(values) - emitted
    return max(slip, 0.0) if math.isfinite(slip) else 0.0


def _smaller(left: float | None, right: float | None) -> float | None:
    known = [value for value in (left, right) if value is not None]
    return min(known) if known else None


def _said(received: Received) -> str:
    return received.reasoning + received.text + received.tool_arguments


def _confounded(exchange: Exchange, pair: Exchange, context: Context) -> bool:
    """Whether the two output heads are known to differ in precision."""
    reference = context.lm_head(pair)
    return reference is not None and reference != context.lm_head(exchange)


def _finding(exchange: Exchange, pair: Exchange, divergence: Divergence, band: Band) -> Finding:
    where = label(exchange.sent.arm, exchange.sent.endpoint)
    evidence: dict[str, JsonValue] = {
        "unit": divergence.unit,
        "index": divergence.index,
        "candidate": _evidence(divergence.left),
        "reference": _evidence(divergence.right),
        "gap": divergence.gap,
        "band": {"tie": band.tie, "material": band.material, "flips": band.flips, "source": band.source},
        "pair": pair.key,
    }
    return finding(
        exchange,
        "divergence",
        "material",
        "possible",
        f"{where}: the reply to {exchange.sent.prompt} leaves the reference's at {divergence.unit} {divergence.index}: "
        f"{quote(divergence.left.said, 40)} for {quote(divergence.right.said, 40)}, {divergence.gap:.2f} nats apart "
        f"(band {band.material:.2f}, {band.source})",
        evidence=evidence,
    )


def _evidence(side: Side) -> dict[str, JsonValue]:
    return {"said": excerpt(side.said), "margin": side.margin, "regret": side.regret, "slip": side.slip}
