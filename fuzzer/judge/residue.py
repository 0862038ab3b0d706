"""Do drafts outlive the requests they were learned from? Told by word lists on a slot, before and after a long request.

Words that repeat are easy to draft. An n-gram cache that is kept for a slot, and takes in only what is longer than all
that the slot has seen, drafts them from what a long request has left behind (ggml-org/llama.cpp#27852): the text stays
right, and hardly a draft token is accepted any more. A list spoils the next one too, so only one comes before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fuzzer.figures import ResidueSummary
from fuzzer.history.records import Exchange
from fuzzer.prompts.questions import GO_ON
from fuzzer.stats import falling

SIGNIFICANT = 0.001


@dataclass(slots=True)
class _Slot:
    before: int | None = None
    long: bool = False
    after: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Residue:
    """Accepted draft tokens of each word list that one arm's slots were given, in the order of sending."""

    slots: dict[int, _Slot] = field(default_factory=dict)

    def add(self, exchange: Exchange) -> None:
        """Take one exchange; all but lists, and long requests that are pinned to a slot, are passed over."""
        overrides, received = exchange.sent.overrides, exchange.received
        if overrides.slot is None or not overrides.pad or received is None or received.outcome != "ok":
            return
        slot = self.slots.setdefault(overrides.slot, _Slot())
        accepted = received.draft.accepted if received.draft else 0  # without drafts llama.cpp tells of none
        if exchange.sent.prompt != GO_ON.id:
            slot.long = True
        elif slot.long:
            slot.after.append(accepted)
        elif slot.before is None:
            slot.before = accepted

    def summary(self) -> ResidueSummary | None:
        """What there is to tell; None where no list was drafted before a long request, so that nothing can fall.

        All lists of a slot are drawn alike: any of them is as likely to be drafted best.
        """
        rows = [(slot.before, *slot.after) for slot in self.slots.values() if slot.before is not None and slot.after]
        before = sum(first for first, *_ in rows)
        if not before:
            return None
        later = [accepted for _, *after in rows for accepted in after]
        return ResidueSummary(
            slots=len(rows), before=before / len(rows), after=sum(later) / len(later), p=falling(rows)
        )


def stale(told: ResidueSummary | None) -> str:
    """A fall to less than half that is no chance (p < 0.001), in words with its figures; "" if there is none."""
    if told is None or not told.halved or told.p >= SIGNIFICANT:
        return ""
    return (
        f"after a long request on the same slot {told.after:.1f} draft tokens of a word list are accepted, before it "
        f"{told.before:.1f} ({told.slots} slots, p = {told.p:.1g}): what a slot drafts from outlives its requests"
    )
