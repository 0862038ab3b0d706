"""Speculation health: whether drafts are made, and whether they are still accepted when the batch is full.

Acceptance length is tokens per verify step: 1 plus the accepted draft tokens of a step. A length that is low already
cannot fall to half, so the share of draft tokens that is accepted is judged as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from fuzzer.finding import Finding
from fuzzer.history.records import Counters
from fuzzer.oracles.build import finding, label
from fuzzer.oracles.context import Batch, Context

SAME_START = 1.0  # seconds by which one process may tell its beginning differently
MIN_DRAFTED = 200  # draft tokens on either side, below which nothing is said
_HALF = 0.5
_Z = 2.326  # one-sided p < 0.01
_ASSUMED_DEPTH = 8  # draft tokens a step where the engine does not count its steps


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Drafting over some stretch: verify steps (0 where they are not counted), tokens drafted, tokens accepted."""

    drafts: float
    drafted: float
    accepted: float

    @property
    def length(self) -> float | None:
        """Tokens per verify step, or None where no steps are known."""
        return 1 + self.accepted / self.drafts if self.drafts > 0 else None

    @property
    def share(self) -> float | None:
        """The share of the draft tokens that was accepted, or None where nothing was drafted."""
        return self.accepted / self.drafted if self.drafted > 0 else None

    @property
    def seen(self) -> bool:
        """Whether anything was drafted at all; a cell without is vacuous."""
        return self.drafted > 0 or self.drafts > 0


def judge(batch: Batch, context: Context) -> Iterator[Finding]:
    """Findings about drafting that single replies report: impossible counts, and a reference that drafts."""
    for exchange in batch:
        draft = exchange.received.draft if exchange.received is not None else None
        if draft is None:
            continue
        where = label(exchange.sent.arm, exchange.sent.endpoint)
        evidence = {"drafted": draft.drafted, "accepted": draft.accepted, "steps": draft.steps}
        if not 0 <= draft.accepted <= draft.drafted:
            summary = (
                f"{where}: the reply to {exchange.sent.prompt} reports {draft.accepted} accepted of "
                f"{draft.drafted} draft tokens"
            )
            yield finding(exchange, "speculation-health", "impossible-count", "likely", summary, evidence={**evidence})
        if exchange.sent.arm == "reference" and draft.drafted > 0:
            summary = (
                f"{where}: the reference drafts itself ({draft.drafted} tokens in the reply to {exchange.sent.prompt})"
            )
            yield finding(exchange, "speculation-health", "reference-drafts", "likely", summary, evidence={**evidence})


def acceptance(before: Counters | None, after: Counters | None) -> Acceptance | None:
    """Drafting between two readings of an engine's counters; None where it does not tell, or has restarted between."""
    if before is None or after is None or after.draft_tokens is None or restarted(before, after):
        return None

    def grown(first: float | None, last: float | None) -> float:
        return (last or 0.0) - (first or 0.0)

    return Acceptance(
        drafts=grown(before.drafts, after.drafts),
        drafted=grown(before.draft_tokens, after.draft_tokens),
        accepted=grown(before.accepted_tokens, after.accepted_tokens),
    )


def restarted(before: Counters, after: Counters) -> bool:
    """Whether a counter went backwards or away, which only a restart of the engine does, or its process is another."""
    if before.started is not None and after.started is not None and abs(after.started - before.started) > SAME_START:
        return True
    pairs = (
        (before.drafts, after.drafts),
        (before.draft_tokens, after.draft_tokens),
        (before.accepted_tokens, after.accepted_tokens),
        (before.generated_tokens, after.generated_tokens),
    )
    return any(first is not None and first > 0 and (last is None or last < first) for first, last in pairs)


def collapsed(control: Acceptance | None, cell: Acceptance | None) -> str:
    """How acceptance has collapsed against concurrency 1, in words; "" if it has not, or cannot be told.

    Collapsed is an acceptance length below half of the control's, or an accepted share below half of it by more than
    chance (p < 0.01, a step counted as one observation, since the tokens of a draft stand or fall together).
    """
    if control is None or cell is None or min(control.drafted, cell.drafted) < MIN_DRAFTED:
        return ""
    if control.length is not None and cell.length is not None and cell.length < _HALF * control.length:
        return (
            f"acceptance length fell from {control.length:.2f} at concurrency 1 to {cell.length:.2f}, "
            "below half, while still drafting"
        )
    before, now = control.accepted / control.drafted, cell.accepted / cell.drafted
    if now < _HALF * before and _z(control, cell) > _Z:
        return f"accepted draft tokens fell from {before:.1%} at concurrency 1 to {now:.1%}, below half"
    return ""


def _z(control: Acceptance, cell: Acceptance) -> float:
    """The normal score of the drop in the accepted share."""
    n1, n2 = (side.drafts or side.drafted / _ASSUMED_DEPTH for side in (control, cell))
    p1, p2 = (min(side.accepted / side.drafted, 1.0) for side in (control, cell))
    pooled = (p1 * n1 + p2 * n2) / (n1 + n2)
    spread = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    return (p1 - p2) / spread if spread > 0 else 0.0
