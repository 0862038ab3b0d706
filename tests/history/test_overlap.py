from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.history.overlap import OPEN_NS, OverlapIndex, Relation
from fuzzer.history.records import Arm, Done, Exchange, Received, Sent


def life(key: str, start: int, end: int | None, prompt: str = "p", arm: Arm = "candidate", name: str = "x") -> Exchange:
    sent = Sent(
        key=key, arm=arm, endpoint=name, cell="c", phase="measure", block=0, index=0, prompt=prompt,
        concurrency=8, exposure=0, max_tokens=256, sent_ns=start, in_flight=1,
    )  # fmt: skip
    if end is None:
        return Exchange(sent=sent, done=None)
    received = Received(outcome="ok", end_ns=end)
    return Exchange(sent=sent, done=Done(key=key, min_in_flight=1, max_in_flight=1, received=received))


def index_of(*lives: Exchange) -> OverlapIndex:
    index = OverlapIndex()
    for exchange in lives:
        index.add(exchange)
    return index


def test_a_donor_in_flight_with_the_victim_is_concurrent_and_named() -> None:
    victim = life("v", 10, 20)
    for start, end in ((0, 10), (0, 30), (12, 15), (20, 40)):
        index = index_of(victim, life("d", start, end, "donor"))
        assert index.in_flight_with(victim) == ("d",)
        assert index.relation(victim, "donor") == Relation("concurrent", "d")


def test_a_donor_that_had_ended_is_stale_and_one_sent_later_is_no_donor() -> None:
    victim = life("v", 10, 20)
    index = index_of(victim, life("d", 1, 9, "old"), life("e", 21, 30, "late"))
    assert index.in_flight_with(victim) == ()
    assert index.relation(victim, "old") == Relation("stale", "d")
    assert index.relation(victim, "late") == Relation("unconditioned", None)
    assert index.relation(victim, "never") == Relation("unconditioned", None)


def test_a_donor_seen_at_the_other_arm_is_unconditioned_even_under_the_same_name() -> None:
    victim = life("v", 10, 20)
    index = index_of(victim, life("d", 5, 15, "donor", arm="reference"), life("e", 5, 15, "donor", name="y"))
    assert index.relation(victim, "donor") == Relation("unconditioned", None)
    assert index.in_flight_with(victim) == ()
    assert [life.key for life in index.sightings("reference", "x", "donor")] == ["d"]


def test_several_exchanges_of_one_prompt_name_none_of_them() -> None:
    victim = life("v", 10, 20)
    assert index_of(life("d", 8, 12, "d"), life("e", 9, 13, "d")).relation(victim, "d") == Relation("ambiguous", None)
    assert index_of(life("d", 1, 2, "d"), life("e", 3, 4, "d")).relation(victim, "d") == Relation("stale", None)


def test_one_in_flight_is_meant_though_the_prompt_was_also_calibrated_before() -> None:
    victim = life("v", 10, 20)
    index = index_of(life("c0", 1, 2, "d"), life("c1", 3, 4, "d"), life("m", 9, 13, "d"))
    assert index.relation(victim, "d") == Relation("concurrent", "m")


def test_the_victim_is_not_its_own_donor() -> None:
    victim = life("v", 10, 20)
    index = index_of(victim, life("before", 1, 2))
    assert index.relation(victim, "p") == Relation("stale", "before")


def test_a_lost_exchange_is_in_flight_until_the_run_was_taken_up_again() -> None:
    index = index_of(life("lost", 5, None, "donor"))
    before, after = life("v", 10, 20), life("w", 31, 40)
    assert index.sightings("candidate", "x", "donor")[0].end_ns == OPEN_NS
    assert index.relation(after, "donor") == Relation("concurrent", "lost")
    index.resumed(30)
    assert index.relation(before, "donor") == Relation("concurrent", "lost")
    assert index.relation(after, "donor") == Relation("stale", "lost")
    assert index.in_flight_with(after) == ()


def test_an_exchange_added_as_sent_gets_its_end_when_it_is_done() -> None:
    index = index_of(life("d", 5, None, "donor"), life("o", 5, 6), life("d", 5, 8, "donor"))
    assert [tuple(life) for life in index.sightings("candidate", "x", "donor")] == [(5, 8, "d", "donor")]
    index.resumed(100)
    assert index.relation(life("v", 10, 20), "donor") == Relation("stale", "d")


def test_what_had_finished_comes_latest_first_and_bounded() -> None:
    index = index_of(*(life(f"k{start}", start, start + 3, f"p{start}") for start in range(0, 40, 2)))
    keys = [life.key for life in index.finished_before(life("v", 20, 30), 3)]
    assert keys == ["k16", "k14", "k12"]
    assert index.finished_before(life("v", 20, 30, name="other"), 3) == ()


lives = st.lists(st.tuples(st.integers(0, 30), st.one_of(st.none(), st.integers(0, 15)), st.sampled_from("abc")))


@settings(deadline=None)
@given(lives, st.tuples(st.integers(0, 30), st.integers(0, 15)), st.randoms(use_true_random=False))
def test_it_agrees_with_looking_at_every_pair(
    spans: list[tuple[int, int | None, str]], own: tuple[int, int], rng: random.Random
) -> None:
    exchanges = [
        life(f"k{number:03d}", start, None if length is None else start + length, prompt)
        for number, (start, length, prompt) in enumerate(spans)
    ]
    victim = life("v", own[0], own[0] + own[1])
    index = OverlapIndex()
    for exchange in rng.sample(exchanges, len(exchanges)):
        index.add(exchange)
    ends = {e.key: e.done.received.end_ns if e.done else OPEN_NS for e in exchanges}
    expected = {e.key for e in exchanges if e.sent.sent_ns <= own[0] + own[1] and ends[e.key] >= own[0]}
    assert set(index.in_flight_with(victim)) == expected
    finished = {e.key for e in exchanges if ends[e.key] < own[0]}
    assert {life.key for life in index.finished_before(victim, 1000)} == finished
    for prompt in "abc":
        keys = [key for key in expected if index_prompt(exchanges, key) == prompt]
        relation = index.relation(victim, prompt)
        assert (relation.when == "concurrent") == (len(keys) == 1)
        assert (relation.when == "ambiguous") == (len(keys) > 1)
        assert relation.exchange is None or index_prompt(exchanges, relation.exchange) == prompt


def index_prompt(exchanges: list[Exchange], key: str) -> str:
    return next(exchange.sent.prompt for exchange in exchanges if exchange.key == key)


def test_a_hundred_thousand_exchanges_with_a_hang_among_them() -> None:
    rng = random.Random(7)
    template = life("k", 0, 1)
    assert template.done is not None
    order = list(range(100_000))
    rng.shuffle(order)
    index = OverlapIndex()
    for number in order:
        start = number * 10
        end = start + (200_000 if number % 25_000 == 0 else 75)
        sent = template.sent.model_copy(update={"key": f"k{number}", "prompt": f"p{number % 1000}", "sent_ns": start})
        received = template.done.received.model_copy(update={"end_ns": end})
        index.add(Exchange(sent=sent, done=template.done.model_copy(update={"received": received})))
    for number in range(40_005, 90_000, 10):
        start, end = number * 10, number * 10 + 75
        victim = life(f"k{number}", start, end, f"p{number % 1000}")
        near = set(range(number - 7, number + 8)) - {number}
        hung = {hang for hang in (25_000, 50_000, 75_000) if hang * 10 <= end and hang * 10 + 200_000 >= start}
        assert set(index.in_flight_with(victim)) == {f"k{other}" for other in near | hung}
        assert index.relation(victim, f"p{number % 1000}").when == "stale"
