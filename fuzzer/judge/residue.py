"""Do drafts outlive the requests they were learned from? Told by word lists on a slot, before and after a long request.

Words that repeat are easy to draft. An n-gram cache that is kept for a slot, and takes in only what is longer than all
that the slot has seen, drafts them from what a long request has left behind (ggml-org/llama.cpp#27852): the text stays
right, and hardly a draft token is accepted any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fuzzer.history.records import Exchange
from fuzzer.prompts.questions import GO_ON
from fuzzer.stats import falling

SIGNIFICANT = 0.001
_HALF = 0.5


@dataclass(slots=True)
class _Slot:
    long: bool = False
    before: list[int] = field(default_factory=list)
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
        if exchange.sent.prompt != GO_ON.id:
            slot.long = True
        else:
            accepted = (
                received.draft.accepted if received.draft is not None else 0
            )  # llama.cpp is silent without drafts
            (slot.after if slot.long else slot.before).append(accepted)

    def found(self) -> str:
        """How the drafts have suffered, in words; "" if they have not, or it cannot be told.

        The lists before and after are drawn alike, so that either of a pair is as likely to be drafted better: told is
        a fall to less than half by more than chance (p < 0.001, Fisher's randomisation test).
        """
        pairs = list(self._pairs())
        before, after = sum(then for then, _ in pairs), sum(now for _, now in pairs)
        p = falling(pairs)
        if p >= SIGNIFICANT or after >= _HALF * before:
            return ""
        return (
            f"after a long request on the same slot {after / len(pairs):.1f} draft tokens of a word list are accepted, "
            f"before it {before / len(pairs):.1f} ({len(pairs)} pairs, p = {p:.1g}): what a slot drafts from outlives "
            "its requests"
        )

    def _pairs(self) -> Iterator[tuple[int, int]]:
        for slot in self.slots.values():
            yield from zip(slot.before, slot.after, strict=False)
