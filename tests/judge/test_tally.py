"""What is counted in a cell: victims alone, copies of a prompt as one draw, drafting that is the victims' own."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzer.achieved import not_reached
from fuzzer.history.records import Arm, Counters, Draft, Exchange, Stage
from fuzzer.history.schedule import Deviations, Overrides
from fuzzer.judge.tally import CellTally
from fuzzer.plan import Cell
from fuzzer.shapes import ScheduleName
from tests.oracles.factory import World, exchange, prompt

PROMPTS = tuple(prompt(f"p{index:06d}") for index in range(4))


def tally(schedule: ScheduleName) -> CellTally:
    return CellTally(Cell(candidate="candidate", lm_head=None, concurrency=8, schedule=schedule, role="gated"))


def count(told: CellTally, candidate: list[Exchange], reference: list[Exchange]) -> None:
    world = World(PROMPTS, (*candidate, *reference))
    measured: Mapping[Arm, list[Exchange]] = {"candidate": candidate, "reference": reference}
    told.add_block(dict(measured), world.context(), None)


def stage(**more: object) -> Stage:
    fields: dict[str, object] = {
        "key": "k", "cell": "c", "arm": "candidate", "endpoint": "candidate", "phase": "measure", "block": 0,
        "concurrency": 8, "share_at_n": 1.0, "min_in_flight": 8, "max_in_flight": 8, "seconds": 1.0,
    }  # fmt: skip
    return Stage.model_validate(fields | more)


def test_copies_of_a_prompt_are_one_draw_from_the_population() -> None:
    told = tally("warm-replay")
    replies = [("p000000", True), ("p000001", True), ("p000000", False), ("p000001", True), ("p000000", False)]
    ours = [
        exchange(name, f"the answer of {name}" if fine else "no", index=i) for i, (name, fine) in enumerate(replies)
    ]
    theirs = [exchange(name, f"the answer of {name}", arm="reference", index=i) for i, (name, _) in enumerate(replies)]
    count(told, ours, theirs)
    assert (told.k, told.n, told.unit) == (1, 2, "prompt")
    assert (told.b, told.c) == (1, 0)
    assert told.candidate.failures == 2


def test_what_was_asked_otherwise_is_judged_where_the_reference_got_it_right() -> None:
    told = tally("param-fuzz")
    padded = Overrides(pad=3, pad_key="k")
    texts = {
        "p000000": ("no", "no"),
        "p000001": ("no", "the answer of p000001"),
        "p000002": ("the answer of p000002", ""),
    }
    ours = [exchange(name, text, index=i, overrides=padded) for i, (name, (text, _)) in enumerate(texts.items())]
    theirs = [
        exchange(name, text, arm="reference", index=i, overrides=padded)
        for i, (name, (_, text)) in enumerate(texts.items())
    ]
    count(told, ours, theirs)
    assert (told.k, told.n) == (1, 1)
    assert dict(told.candidate.unjudged) == {"asked-otherwise": 2}
    assert dict(told.reference.unjudged) == {"asked-otherwise": 2}


def test_neighbours_drafts_are_not_the_victims() -> None:
    before = Counters(at_ns=0, drafts=0, draft_tokens=0, accepted_tokens=0, generated_tokens=0)
    after = Counters(at_ns=1, drafts=100, draft_tokens=400, accepted_tokens=4, generated_tokens=800)
    crowded, alone = tally("hot-neighbours"), tally("closed-loop")
    for told in (crowded, alone):
        told.candidate.add_stage(stage(before=before, after=after))
    assert crowded.candidate.acceptance() is None
    assert crowded.candidate.drafted == 400
    assert crowded.candidate.drafted_per_token == 0.5
    assert alone.candidate.acceptance() is not None
    count(crowded, [exchange("p000000", "x", draft=Draft(drafted=40, accepted=30, steps=10))], [])
    own = crowded.candidate.acceptance()
    assert own is not None
    assert own.length == 4.0


def test_a_batch_that_never_filled_and_a_pool_that_was_not_pressed_say_nothing() -> None:
    told = tally("closed-loop")
    told.candidate.add_stage(stage(server_running=(3, 4, 3, 4, 4)))
    assert "never filled: no more than 4 requests" in not_reached(told.candidate, told.cell, "candidate")
    assert "too slow" in not_reached(told.candidate, told.cell, "candidate")
    told.candidate.add_stage(stage(server_running=(4,), server_waiting=4))
    assert "up to 4 waited: its batch limit" in not_reached(told.candidate, told.cell, "candidate")
    told = tally("pool-pressure")
    told.candidate.add_stage(stage(server_running=(3, 4, 3, 4, 4), pool_usage=0.4))
    assert "no more than 40%" in not_reached(told.candidate, told.cell, "candidate")
    told.candidate.add_stage(stage(pool_usage=0.97))
    assert not_reached(told.candidate, told.cell, "candidate") == ""
    told = tally("pool-pressure")
    before, after = (Counters(at_ns=0, preemptions=count) for count in (2, 5))
    told.candidate.add_stage(stage(pool_usage=0.4, before=before, after=after))
    assert not_reached(told.candidate, told.cell, "candidate") == ""


def test_achieved_concurrency_is_a_histogram_on_both_sides_with_what_went_otherwise() -> None:
    told = tally("rounds")
    for _ in range(2):
        late = Deviations(late_sends=1, worst_late_ms=3.5, cancelled=2)
        told.candidate.add_stage(stage(histogram={8: 0.5, 7: 0.25}, server_running=(8, 8, 7), deviations=late))
    achieved = told.candidate.achieved()
    assert achieved is not None
    assert achieved.histogram == {7: 0.5, 8: 1.0}
    assert achieved.server_histogram == {7: 2, 8: 4}
    assert achieved.deviations == {"late_sends": 2, "cancelled": 4}
    assert achieved.worst_late_ms == 3.5


def test_a_conversation_of_single_questions_is_none() -> None:
    told = tally("multi-turn")
    told.candidate.add_stage(stage())
    told.candidate.counts["sent"] = 48
    told.note([exchange(f"p{place:06d}", "x", turn=1, phase="neighbour", index=place) for place in range(4)])
    assert "4 earlier turns with 48 judged answers" in not_reached(told.candidate, told.cell, "candidate")
    told.note([exchange("p000004", "x", turn=1, phase="neighbour", index=4)])
    assert not_reached(told.candidate, told.cell, "candidate") == ""
