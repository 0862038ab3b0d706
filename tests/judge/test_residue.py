"""Word lists on a slot, before and after a long request: what is told of drafts that outlive their requests."""

from __future__ import annotations

import random
from collections.abc import Sequence

from fuzzer.history.records import Draft
from fuzzer.history.schedule import Overrides
from fuzzer.judge.residue import Residue, stale
from fuzzer.prompts.questions import GO_ON
from tests.oracles.factory import exchange

LONG = "f000001"


def told(*slots: Sequence[int], pinned: bool = True, outcome: str = "ok") -> str:
    """What is found where the lists of each slot have so many accepted draft tokens: one before, the others after."""
    residue = Residue()
    for slot, (before, *after) in enumerate(slots):
        rows = [(GO_ON.id, before), (LONG, 30), ("p", 3), *((GO_ON.id, count) for count in after)]
        for name, accepted in rows:
            overrides = Overrides(slot=slot if pinned else None, pad=0 if name == "p" else 200)
            draft = Draft(drafted=40, accepted=accepted) if accepted else None
            sound = "ok" if outcome == "ok" or name == LONG else "timeout-read"
            residue.add(exchange(name, overrides=overrides, draft=draft, outcome=sound))  # type: ignore[arg-type]
    return stale(residue.summary())


def test_lists_that_are_drafted_worse_after_a_long_request_are_told_with_the_figures() -> None:
    text = told(*[(20, 0, 1, 2)] * 8)
    assert "1.0 draft tokens of a word list are accepted, before it 20.0" in text
    assert "8 slots, p = 2e-05" in text


def test_a_healthy_server_is_not_told_of_however_uneven_its_lists_are() -> None:
    rng = random.Random(5)

    alarms = sum(bool(told(*[rng.choices((0, 0, 3, 14, 22), k=4) for _ in range(8)])) for _ in range(500))
    assert alarms <= 3  # one in a thousand at most


def test_a_small_loss_is_none() -> None:
    assert told(*[(20, 19, 12, 14)] * 8) == ""


def test_too_few_slots_tell_nothing() -> None:
    assert told(*[(20, 0, 0, 0)] * 4) == ""


def test_requests_that_are_not_pinned_or_failed_are_no_lists() -> None:
    assert told(*[(20, 0, 0, 0)] * 8, pinned=False) == ""
    assert told(*[(20, 0, 0, 0)] * 8, outcome="timeout-read") == ""
