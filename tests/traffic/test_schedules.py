"""Schedules are data: who goes together, who is cancelled and what follows, how many are in flight meanwhile."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from pydantic import ValidationError

from fuzzer.history.schedule import Overrides, Release, Scheduled, Send, padding
from fuzzer.plan import Plan
from fuzzer.prompts.questions import GO_ON
from fuzzer.shapes import SHAPES, ScheduleName, block_size, prompts_in_block
from fuzzer.sim.config import SimConfig
from fuzzer.traffic.hot import KINDS
from fuzzer.traffic.params import NEVER
from fuzzer.traffic.schedules import SCHEDULES
from tests.traffic.bench import bench, block, ids, setting

NAMES = list(SCHEDULES)


def sends(releases: tuple[Release, ...], role: str) -> list[Send]:
    return [send for release in releases for send in release.sends if send.role == role]


def overridden(overrides: Overrides) -> set[str]:
    return set(overrides.model_dump())


# --- what every schedule promises


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("concurrency", [2, 3, 8])
def test_every_prompt_is_judged_as_often_as_the_shape_says(name: ScheduleName, concurrency: int) -> None:
    size = block_size(concurrency, name, 24)
    count = prompts_in_block(name, size, concurrency)
    judged = Counter(send.prompt for send in sends(block(name, count, concurrency), "victim"))
    assert set(judged) == set(ids(count))
    assert set(judged.values()) == {SHAPES[name].copies(concurrency)}
    assert sum(judged.values()) == size


@pytest.mark.parametrize("name", NAMES)
def test_a_schedule_is_a_pure_function_that_survives_its_journal(name: ScheduleName) -> None:
    first, again = (block(name, 24, 8, seed=1) for _ in range(2))
    assert first == again
    scheduled = Scheduled(key="k", cell="c", block=0, releases=first)
    assert Scheduled.model_validate_json(scheduled.model_dump_json()) == scheduled


@pytest.mark.parametrize("name", NAMES)
def test_the_profile_is_n_and_steady_shapes_are_one_full_release(name: ScheduleName) -> None:
    releases = block(name, 24, 8)
    assert {release.width for release in releases} <= {8, 1}
    assert (name == "burst-solo") == any(release.width == 1 for release in releases)
    steady = SHAPES[name].steady
    assert all(release.keep_full == steady for release in releases)
    assert len(releases) == 1 or not steady


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_are_nobodys_victims_unless_they_repeat_them_on_purpose(name: ScheduleName) -> None:
    releases = block(name, 24, 8)
    own = {send.prompt for send in sends(releases, "victim")}
    shared = {send.prompt for send in sends(releases, "neighbour")} & own
    assert bool(shared) == (name == "param-fuzz")


@pytest.mark.anyio
@pytest.mark.parametrize("name", NAMES)
async def test_on_a_server_never_more_than_n_and_no_request_is_left_behind(name: ScheduleName) -> None:
    releases = block(name, prompts_in_block(name, block_size(4, name, 12), 4), 4, earlier=1)
    async with bench(SimConfig(step_seconds=0.002)) as b:
        exchanges = await b.drive(releases, 4)
        seen = await b.seen()
    outcome = {key: done.received.outcome for key, done in b.done.items()}
    assert len(exchanges) == len(sends(releases, "victim"))
    assert all(exchange.ok for exchange in exchanges)
    assert set(outcome) == {sent.key for sent in b.sent} == {request.id for request in seen.requests}
    assert set(outcome.values()) <= {"ok", "cancelled"} | (
        {"refused"} if name in ("hot-neighbours", "param-fuzz") else set()
    )
    ended = {request.id: request.ending for request in seen.requests}
    assert {ended[key] for key, value in outcome.items() if value == "cancelled"} <= {"gone", "whole"}
    assert {ended[key] for key, value in outcome.items() if value != "cancelled"} <= {"whole"}
    assert seen.most <= (8 if name == "shared-prefix-cancel" else 4)  # a server notices a cancel when it comes to it
    assert seen.most >= 4
    assert b.stage.max_in_flight == 4
    assert b.stage.share_at_n >= 0.99
    assert b.stage.deviations.reused == b.stage.deviations.still_running == 0
    assert {sent.phase for sent in b.sent if sent.prompt.startswith("f12")} <= {"neighbour"}


# --- the plain shapes


def test_a_closed_loop_is_one_release_that_stays_full() -> None:
    (release,) = block("closed-loop", 18, 8)
    assert (release.width, release.keep_full, release.victims) == (8, True, tuple(ids(18)))


def test_rounds_are_barriers_of_n() -> None:
    assert [len(release.chains) for release in block("rounds", 16, 8)] == [8, 8]


def test_replicas_send_one_prompt_n_times_and_another_each_round() -> None:
    assert [release.victims for release in block("replicas", 3, 4)] == [(prompt,) * 4 for prompt in ids(3)]


def test_a_burst_is_followed_by_a_lone_probe() -> None:
    releases = block("burst-solo", 18, 8)
    assert [(release.width, len(release.chains)) for release in releases] == [(8, 8), (1, 1), (8, 8), (1, 1)]
    assert [prompt for release in releases for prompt in release.victims] == ids(18)


# --- shapes with neighbours


def test_shared_prefix_cancel_breaks_off_neighbours_and_sends_them_again() -> None:
    releases = block("shared-prefix-cancel", 8, 8)
    for release in releases:
        shared = {(send.overrides.pad, send.overrides.pad_key) for send in release.sends if send.overrides.pad}
        assert len(shared) == 1
        retried = [chain for chain in release.chains if len(chain) == 3]
        assert len(retried) == 4
        for first, again, last in retried:
            assert first.prompt == again.prompt == last.prompt
            assert first.cancelled
            assert again.cancelled
            assert not last.cancelled
        bystanders = [chain for chain in release.chains if len(chain) == 1]
        assert len(bystanders) == 3
        assert all(chain[0].overrides == Overrides() for chain in bystanders)
        ((freed, sharer),) = [chain for chain in release.chains if len(chain) == 2]
        assert freed.cancelled
        assert sharer.role == "victim"


def test_shared_prefixes_go_through_every_length_around_a_block_edge() -> None:
    lengths = [
        release.chains[0][0].overrides.pad or next(send.overrides.pad for send in release.sends if send.overrides.pad)
        for before in range(0, 256, 64)
        for release in block("shared-prefix-cancel", 64, 8, before=before)
    ]
    assert {length % 64 for length in lengths} == set(range(64))


def test_mixed_lengths_let_long_prompts_join_one_after_another() -> None:
    (release,) = block("mixed-lengths", 48, 8)
    neighbours = [chain for chain in release.chains if chain[0].role == "neighbour"]
    assert len(neighbours) == 4
    assert all(chain[0].at_ms > 0 for chain in neighbours)
    pads = [send.overrides.pad for chain in neighbours for send in chain]
    limits = [send.overrides.max_tokens for chain in neighbours for send in chain]
    assert max(pads) > 1000
    assert min(pads) < 100
    assert len(set(limits)) > 10


def test_prompts_fit_the_context_that_the_engine_tells() -> None:
    for name in ("mixed-lengths", "long-pairs", "pool-pressure"):
        (largest,) = {
            max(send.overrides.pad + (send.overrides.max_tokens or 0) for send in sends(releases, "neighbour"))
            for releases in [block(name, 8, 4, context=1024)]
        }
        assert largest <= 1024 - 256


def test_hot_neighbours_ask_for_every_kind_and_victims_stay_greedy() -> None:
    (release,) = block("hot-neighbours", 48, 8)
    asked = [send.overrides.model_copy(update={"max_tokens": None}) for send in release.sends if send.role != "victim"]
    assert all(kind in asked for kind in KINDS)
    assert all(send.overrides == Overrides() for send in release.sends if send.role == "victim")
    assert len([chain for chain in release.chains if chain[0].role == "neighbour"]) == 4


def test_warm_replay_sends_a_round_cold_and_then_twice_warm() -> None:
    cold, warm, shuffled = block("warm-replay", 8, 8, salts=True)
    assert [{send.tag for send in release.sends} for release in (cold, warm, shuffled)] == [
        {"cold"},
        {"warm"},
        {"warm"},
    ]
    assert cold.victims == warm.victims
    assert sorted(shuffled.victims) == sorted(warm.victims)
    assert shuffled.victims != warm.victims
    salts = [{send.prompt: send.overrides.salt for send in release.sends} for release in (cold, warm, shuffled)]
    assert salts[0] == salts[1] == salts[2]
    assert len(set(salts[0].values())) == 8


def test_warm_replay_sets_words_before_the_prompt_where_an_engine_has_no_salts() -> None:
    cold, warm, _ = block("warm-replay", 8, 8)
    assert all(send.overrides.pad for send in cold.sends)
    assert [send.overrides for send in cold.sends] == [send.overrides for send in warm.sends]


def test_multi_turn_asks_every_earlier_question_first() -> None:
    (release,) = block("multi-turn", 6, 4, earlier=2)
    for chain in release.chains:
        assert [(send.role, send.turn) for send in chain] == [("neighbour", 1), ("neighbour", 3), ("victim", None)]
        assert len({send.prompt for send in chain}) == 1


def test_conversations_and_pairs_stay_on_a_slot_where_the_engine_has_slots() -> None:
    (release,) = block("multi-turn", 6, 4, earlier=1, pins=True)
    assert [{send.overrides.slot for send in chain} for chain in release.chains] == [{0}, {1}, {2}, {3}]
    (first, *_) = block("long-pairs", 8, 4, pins=True)
    assert [{send.overrides.slot for send in chain} for chain in first.chains] == [{0}, {1}, {2}, {3}]


def test_long_pairs_are_a_long_request_and_one_prompt_twice() -> None:
    for release in block("long-pairs", 8, 4):
        for long, first, second in release.chains:
            assert long.role == "neighbour"
            assert long.overrides.ignore_eos
            assert long.overrides.pad > 200
            assert first == second


def test_where_slots_can_be_pinned_the_first_long_pair_stands_among_lists_that_are_easy_to_draft() -> None:
    first, *others = block("long-pairs", 16, 4, pins=True, context=1024)
    keys = set()
    for chain in first.chains:
        before, long, first_of_pair, second_of_pair, *after = chain
        assert first_of_pair == second_of_pair
        assert len(after) == 6
        assert before.overrides.pad > 400
        sizes = [send.overrides.pad + (send.overrides.max_tokens or 0) for send in (before, long)]
        assert sizes[0] < sizes[1] < 1024
        for send in (before, *after):
            assert send.overrides.pad == before.overrides.pad
            assert (send.prompt, send.role, send.overrides.pad_cycle) == (GO_ON.id, "neighbour", 6)
            keys.add(send.overrides.pad_key)
    assert len(keys) == 28  # no list comes twice
    assert all(len(chain) == 3 for release in others for chain in release.chains)
    later = block("long-pairs", 8, 4, pins=True, context=1024, before=8)
    assert all(len(chain) == 3 for release in later for chain in release.chains)


def test_a_cycle_repeats_the_first_words_of_the_same_padding() -> None:
    assert padding("k", 7, 3).split() == [*padding("k", 3).split()] * 2 + padding("k", 1).split()


def test_pool_pressure_fills_the_pool_with_prompts_and_outgrows_it_with_replies() -> None:
    (release,) = block("pool-pressure", 24, 8, kv_tokens=64_000, context=32_768)
    slots = [chain for chain in release.chains if chain[0].role == "neighbour"]
    for turn in zip(*slots, strict=True):
        prompts = sum(send.overrides.pad for send in turn)
        replies = sum(send.overrides.max_tokens or 0 for send in turn)
        assert 0.91 * 64_000 < prompts < 64_000
        assert 0.95 * 64_000 < prompts + replies < 1.1 * 64_000
        assert all(send.overrides.ignore_eos for send in turn)


def test_param_fuzz_brings_prompts_to_block_edges() -> None:
    known = dict.fromkeys(ids(96), 37)
    described = setting(8)
    (release,) = SCHEDULES["param-fuzz"].build(
        ids(96),
        type(described)(
            **{name: getattr(described, name) for name in described.__slots__} | {"tokens": known},
        ),
    )
    pads = [send.overrides.pad for send in release.sends if send.role == "victim" and send.overrides.pad]
    rests = {(37 + pad + 1) % 16 for pad in pads}
    assert rests == {15, 0, 1}
    assert {(37 + pad + 1) % 64 for pad in pads} >= {63, 0, 1}


def test_param_fuzz_varies_how_victims_are_asked_and_cuts_neighbours_short() -> None:
    (release,) = block("param-fuzz", 48, 8)
    victims, others = sends((release,), "victim"), sends((release,), "neighbour")
    assert {send.overrides.stream for send in victims} >= {True, False}
    assert any(NEVER in stop for send in victims for stop in send.overrides.stop)
    assert {frozenset(overridden(send.overrides)) for send in others} >= {
        frozenset({"max_tokens", "stop", "stream"}),
        frozenset({"stop"}),
        frozenset({"max_tokens", "logprobs"}),
        frozenset({"stream"}),
    }
    assert any(send.overrides.n > 1 for send in others)


def test_twins_are_one_prompt_plain_and_with_the_strongest_penalties() -> None:
    (release,) = block("param-fuzz", 48, 8)
    chain = [send for send in release.sends if send.role == "neighbour"]
    twins = [(one, two) for one, two in itertools.pairwise(chain) if two.overrides.presence_penalty]
    assert len(twins) >= 12
    assert all(one.prompt == two.prompt and one.overrides.greedy for one, two in twins)


# --- the data themselves


@pytest.mark.parametrize(
    "more",
    [{"cancel_ms": 1}, {"overrides": Overrides(temperature=1.0)}, {"turn": 1}, {"overrides": Overrides(n=2)}],
    ids=lambda more: next(iter(more)),
)
def test_a_victim_is_greedy_whole_and_never_cancelled(more: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Send.model_validate({"prompt": "p000000", **more})
    Send.model_validate({"prompt": "f1200000", "role": "neighbour", **more})


def test_a_barrier_never_holds_prompts_back() -> None:
    with pytest.raises(ValidationError, match="cannot release"):
        Release(width=2, chains=tuple((Send(prompt=prompt),) for prompt in "abc"))


def test_what_stands_at_its_default_is_left_out_of_the_journal() -> None:
    send = Send(prompt="p000000", overrides=Overrides(stream=False))
    assert send.model_dump() == {"prompt": "p000000", "overrides": {"stream": False}}


def test_padding_begins_alike_for_one_key_and_has_the_asked_length() -> None:
    assert padding("a", 40).startswith(padding("a", 20))
    assert padding("a", 20) != padding("b", 20)
    assert len(padding("a", 37).split()) == 37


def test_blocks_are_whole_releases_and_cover_what_is_wanted() -> None:
    assert block_size(8, "closed-loop") == 48
    assert block_size(8, "closed-loop", 60) == 60
    assert block_size(8, "burst-solo") % 9 == 0
    assert block_size(8, "rounds", 60) == 64
    assert prompts_in_block("replicas", block_size(8, "replicas"), 8) == 6
    assert prompts_in_block("warm-replay", block_size(8, "warm-replay"), 8) == 16


def test_the_gate_keeps_its_two_schedules() -> None:
    assert Plan.model_fields["schedules"].default == ("closed-loop", "burst-solo")
