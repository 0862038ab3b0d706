"""Schedules are data: which prompts go together, and how many are in flight."""

from __future__ import annotations

import pytest

from fuzzer.plan import block_size
from fuzzer.traffic.schedules import Release, prompts_in_block, releases

PROMPTS = [f"p{index}" for index in range(18)]


def test_a_closed_loop_is_one_release_that_stays_full() -> None:
    (release,) = releases("closed-loop", PROMPTS, 8)
    assert (release.width, release.keep_full, release.prompts) == (8, True, tuple(PROMPTS))


def test_a_barrier_never_holds_prompts_back() -> None:
    with pytest.raises(ValueError, match="cannot release"):
        Release(2, ("a", "b", "c"))


def test_rounds_are_barriers_of_n() -> None:
    groups = releases("rounds", PROMPTS[:16], 8)
    assert [(len(group.prompts), group.width, group.keep_full) for group in groups] == [(8, 8, False)] * 2


def test_replicas_send_one_prompt_n_times_and_another_each_round() -> None:
    groups = releases("replicas", PROMPTS[:3], 4)
    assert [group.prompts for group in groups] == [("p0",) * 4, ("p1",) * 4, ("p2",) * 4]


def test_a_burst_is_followed_by_a_lone_probe() -> None:
    groups = releases("burst-solo", PROMPTS, 8)
    assert [(group.width, len(group.prompts)) for group in groups] == [(8, 8), (1, 1), (8, 8), (1, 1)]
    assert [prompt for group in groups for prompt in group.prompts] == PROMPTS


def test_blocks_are_whole_releases_and_cover_what_is_wanted() -> None:
    assert block_size(8, "closed-loop") == 48
    assert block_size(8, "closed-loop", 60) == 60
    assert block_size(8, "burst-solo") % 9 == 0
    assert block_size(8, "rounds", 60) == 64
    assert prompts_in_block("replicas", block_size(8, "replicas"), 8) == 6
