"""What a soak sends: every schedule and level in turn, an anchor every so often, more where something was found."""

from __future__ import annotations

import dataclasses
from collections import Counter
from itertools import pairwise

from fuzzer.night import Leg
from fuzzer.plan import ScheduleName
from fuzzer.prompts.families import FAMILIES
from fuzzer.prompts.pool import PromptPool
from fuzzer.soak.rotation import WINDOW, arms, choose, leg_plan
from fuzzer.stats import clopper_pearson_upper

from .factory import BLEED, cell, leg, plan

ANCHOR = 900.0


def run(count: int, every: float = 60.0, faulty: tuple[str, int] | None = None) -> list[Leg]:
    """So many legs, each ``every`` seconds long; those of ``faulty`` find something."""
    wanted = plan(concurrency=(1, 8, 16), seed=7)
    legs: list[Leg] = []
    for number in range(1, count + 1):
        choice = choose(wanted, legs, number, number * every, ANCHOR)
        found = (BLEED,) if (choice.schedule, choice.concurrency) == faulty else ()
        made = leg(number, cell(choice.schedule, 0), active=(number + 1) * every, findings=found)
        legs.append(dataclasses.replace(made, **choice.model_dump(exclude={"requests"})))
    return legs


def test_the_anchor_comes_first_and_every_so_often_with_the_same_prompts() -> None:
    legs = run(61)
    anchors = [one for one in legs if one.purpose == "anchor"]
    assert anchors[0].number == 1
    assert {later.number - sooner.number for sooner, later in pairwise(anchors)} == {16}
    assert {(one.schedule, one.concurrency, one.seed) for one in anchors} == {("closed-loop", 16, 7)}


def test_all_schedules_and_levels_get_their_turn_before_one_gets_another() -> None:
    sweeps = [(one.schedule, one.concurrency) for one in run(61) if one.purpose == "sweep"]
    known = arms(plan(concurrency=(1, 8, 16)))
    assert len(known) == 6
    for start in range(0, 48, 6):
        assert set(sweeps[start : start + 6]) == set(known)


def test_no_two_sweeps_ask_the_same_prompts() -> None:
    legs = [one for one in run(40) if one.purpose == "sweep"]
    assert len({one.seed for one in legs}) == len(legs)
    texts = [
        PromptPool(one.seed, one.families).prompt(index).messages[-1].content
        for one in legs[:12]
        for index in range(30)
    ]
    assert len(set(texts)) == len(texts)


def test_every_family_of_the_usual_mix_gets_its_turn_and_a_leg_has_few() -> None:
    legs = [one for one in run(20) if one.purpose == "sweep"]
    usual = {name for name, family in FAMILIES.items() if any(family.weights.values())}
    assert {name for one in legs[:6] for name in one.families} == usual
    assert max(len(one.families) for one in legs) <= WINDOW
    few = plan(families=("echo", "sort"))
    assert choose(few, legs, 99, legs[-1].active, 1e9).families == ("echo", "sort")


def test_more_legs_go_where_something_was_found_but_never_more_than_half() -> None:
    sweeps = [one for one in run(121, faulty=("rounds", 8)) if one.purpose == "sweep"]
    hot = [one for one in sweeps if one.why == "findings"]
    assert {(one.schedule, one.concurrency) for one in hot} == {("rounds", 8)}
    assert 0.4 * len(sweeps) < len(hot) <= len(sweeps) / 2
    rest = Counter((one.schedule, one.concurrency) for one in sweeps if one.why == "rotation")
    assert max(rest.values()) - min(rest.values()) <= 1


def test_the_same_plan_and_outcomes_give_the_same_legs() -> None:
    assert run(30, faulty=("rounds", 8)) == run(30, faulty=("rounds", 8))


def test_a_leg_s_plan_is_the_gate_s_but_for_what_is_the_leg_s_own() -> None:
    base = plan(concurrency=(1, 8), p50_concurrency=8, seed=3)
    choice = choose(base, [], 1, 0.0, ANCHOR)
    made = leg_plan(choice, base, 120.0)
    assert (made.concurrency, made.schedules, made.seed, made.budget_seconds) == ((8,), ("closed-loop",), 3, 120.0)
    assert (made.candidates, made.sampling, made.p50_concurrency) == (base.candidates, base.sampling, 8)
    assert made.policy.require_speculation is base.policy.require_speculation


def test_with_concurrency_1_alone_there_is_nothing_to_rotate_but_seeds() -> None:
    assert arms(plan(concurrency=(1,))) == (("closed-loop", 1),)


def test_a_leg_is_as_large_as_the_servers_answer_in_five_minutes() -> None:
    base = plan(seed=3)
    for seconds, expected in ((20.0, 64), (300.0, 64), (600.0, 32), (3000.0, 16)):
        before = leg(1, cell("closed-loop", 0), purpose="anchor", active=50.0)
        for cells in ((cell("rounds", 0),), (cell("rounds", 0), cell("rounds", 0, candidate="other"))):
            slow = leg(2, *cells, active=50.0 + seconds)
            assert choose(base, [before, slow], 3, 50.0 + seconds, 1e9).requests == expected
    assert choose(base, [], 1, 0.0, 900.0).requests == 32


def test_traffic_that_sends_more_for_each_answer_gets_fewer_answers() -> None:
    def then(last: ScheduleName, schedule: ScheduleName) -> int:
        before = leg(1, cell("closed-loop", 0), purpose="anchor", active=50.0)
        slow = leg(2, cell(last, 0), active=450.0)
        return choose(plan(schedules=(schedule,)), [before, slow], 3, 450.0, 1e9).requests

    assert then("rounds", "rounds") == then("rounds", "burst-solo") == 48
    assert then("rounds", "replicas") == 16
    assert then("replicas", "replicas") == 48


def test_a_leg_without_a_failure_passes_its_own_gate() -> None:
    for requests in (16, 32, 64):
        choice = choose(plan(), [], 1, 0.0, 900.0).model_copy(update={"requests": requests})
        limit = leg_plan(choice, plan(), None).policy.max_wrong_rate
        assert clopper_pearson_upper(0, requests, 0.95) < limit < 0.2
