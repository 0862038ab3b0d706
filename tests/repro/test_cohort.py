"""What is left of a cohort when requests go, and what the reductions make of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.history.schedule import Overrides, Send
from fuzzer.repro import reductions
from fuzzer.repro.cohort import Cohort
from fuzzer.repro.sentence import sentence
from tests.repro.factory import HOT, bundle, cohort, pair


def test_the_victim_stays_whatever_goes() -> None:
    whole = cohort([[[Send(prompt="a")], [Send(prompt="b")], [Send(prompt="c")]]], victim=2)
    left = whole.only({0})
    assert left is not None
    assert [send.prompt for send in left.sends] == ["a", "c"]
    assert left.sends[left.victim].prompt == "c"
    assert [prompt.id for prompt in left.prompts] == ["a", "c"]


def test_times_count_from_the_first_that_is_left() -> None:
    whole = cohort([[[Send(prompt="a")], [Send(prompt="b", at_ms=30)], [Send(prompt="c", at_ms=50)]]], victim=2)
    left = whole.only({1})
    assert left is not None
    assert [send.at_ms for send in left.sends] == [0, 20]


def test_a_release_that_loses_its_judged_requests_goes_with_the_next() -> None:
    hot = Send(prompt="b", role="neighbour", overrides=HOT)
    whole = cohort([[[Send(prompt="a")], [hot]], [[Send(prompt="c")]]], victim=2)
    left = whole.only({1})
    assert left is not None
    assert len(left.releases) == 1
    assert {send.prompt for send in left.sends} == {"b", "c"}
    assert left.sends[left.victim].prompt == "c"


@st.composite
def cohorts(draw: st.DrawFn) -> Cohort:
    names = iter("abcdefghijklmnopqr")  # three releases of three slots of two
    sizes = draw(st.lists(st.lists(st.integers(1, 2), min_size=1, max_size=3), min_size=1, max_size=3))
    releases = [[[_send(draw, next(names)) for _ in range(size)] for size in slots] for slots in sizes]
    for slots in releases:
        slots[0][0] = Send(prompt=slots[0][0].prompt)
    places = [place for place, send in enumerate(send for slots in releases for chain in slots for send in chain)
              if send.role == "victim"]  # fmt: skip
    return cohort(releases, victim=draw(st.sampled_from(places)))


def _send(draw: st.DrawFn, name: str) -> Send:
    kinds = (Send(prompt=name), Send(prompt=name, role="neighbour", overrides=HOT),
             Send(prompt=name, role="neighbour", cancel_ms=5))  # fmt: skip
    return draw(st.sampled_from(kinds))


@given(cohorts(), st.data())
def test_any_part_is_a_cohort_with_the_same_victim(whole: Cohort, data: st.DataObject) -> None:
    kept = data.draw(st.sets(st.integers(0, whole.size - 1)))
    left = whole.only(kept)
    if left is None:
        return
    assert left.size == len(kept | {whole.victim})
    assert left.sends[left.victim].prompt == whole.sends[whole.victim].prompt
    wanted = {whole.sends[place].prompt for place in kept | {whole.victim}}
    assert {send.prompt for send in left.sends} == wanted


def test_one_request_at_a_time_ends_with_the_victim() -> None:
    serial = reductions.serial(cohort([[[Send(prompt="a")], [Send(prompt="b")]]], victim=0))
    assert serial is not None
    assert serial.width == 1
    assert [send.prompt for send in serial.sends] == ["b", "a"]
    assert serial.victim == 1


def test_what_was_broken_off_cannot_be_sent_one_at_a_time() -> None:
    whole = cohort([[[Send(prompt="a")], [Send(prompt="b", role="neighbour", cancel_ms=5)]]])
    assert reductions.serial(whole) is None


def test_neighbours_with_other_prompts_are_not_judged_any_more() -> None:
    other = next(reductions.any_content(pair(), "seed"))
    assert other is not None
    assert other.judged == (0,)
    assert other.sends[0].prompt == "a"
    assert other.asked[other.sends[1].prompt].messages != pair().asked["b"].messages


def test_copies_of_the_victim_keep_its_prompt() -> None:
    assert not list(reductions.any_content(cohort([[[Send(prompt="a")], [Send(prompt="a")]]]), "seed"))


def test_a_fresh_cache_is_one_salt_a_replay_before_the_schedules_own() -> None:
    (release,) = pair().salted("r1")
    assert [send.overrides.salt for send in release.sends] == ["r1", "r1"]
    (same,) = pair().model_copy(update={"fresh_cache": False}).salted("r1")
    assert [send.overrides.salt for send in same.sends] == ["", ""]


def test_the_output_limit_leaves_room_for_the_longest_right_reply() -> None:
    known = bundle().cohort
    assert reductions.fewer_tokens(known) is None  # nobody told how long the right replies are


@pytest.mark.parametrize(("window", "place"), [(10.0, 0), (200.0, 0)])
def test_a_spread_sends_the_victim_last(window: float, place: int) -> None:
    later = reductions.spread(pair(), window)
    assert later is not None
    assert [send.at_ms for send in later.sends] == [window, 0]
    assert later.victim == place


def test_long_neighbours_become_one_that_takes_as_much_room() -> None:
    def long(name: str, pad: int) -> Send:
        return Send(prompt=name, role="neighbour", overrides=Overrides(pad=pad, max_tokens=100, ignore_eos=True))

    whole = cohort(
        [[[Send(prompt="a")], [long("b", 900)], [long("c", 800), long("d", 700)], [Send(prompt="e")]]], judged=[0]
    )
    one = reductions.as_one(whole)
    assert one is not None
    assert one.judged == (0, 2)  # another may be struck
    _, neighbour, _ = one.sends
    assert [(send.prompt, send.at_ms > 0) for send in one.sends] == [("a", True), ("b", False), ("e", True)]
    assert 1700 < neighbour.overrides.pad < 1700 + len(whole.asked["c"].text)
    assert (neighbour.overrides.max_tokens, neighbour.overrides.ignore_eos) == (200, True)
    assert f"{neighbour.overrides.pad:,} words" in sentence(one, any_content=False, window_ms=None)
    assert reductions.as_one(one) is None
