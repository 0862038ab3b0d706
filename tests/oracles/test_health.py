from __future__ import annotations

import pytest

from fuzzer.history.records import Counters, Draft
from fuzzer.oracles.health import Acceptance, acceptance, collapsed, judge, restarted
from tests.oracles.factory import World, exchange, prompt


def counters(
    drafts: float | None, drafted: float | None, accepted: float | None, made: float | None = None
) -> Counters:
    return Counters(at_ns=0, drafts=drafts, draft_tokens=drafted, accepted_tokens=accepted, generated_tokens=made)


def test_acceptance_is_what_the_counters_grew_by() -> None:
    got = acceptance(counters(10, 40, 20), counters(110, 440, 270))
    assert got == Acceptance(drafts=100, drafted=400, accepted=250)
    assert got.length == pytest.approx(3.5)
    assert got.share == pytest.approx(0.625)
    assert got.seen


def test_counters_that_appear_with_the_first_draft_start_from_nothing() -> None:
    assert acceptance(counters(None, None, None), counters(2, 8, 4)) == Acceptance(2, 8, 4)


def test_without_counters_nothing_is_known_and_without_drafts_nothing_was_seen() -> None:
    assert acceptance(None, counters(1, 1, 1)) is None
    assert acceptance(counters(1, 1, 1), None) is None
    assert acceptance(counters(None, None, None), counters(None, None, None)) is None
    idle = acceptance(counters(5, 20, 10), counters(5, 20, 10))
    assert idle == Acceptance(0, 0, 0)
    assert (idle.length, idle.share, idle.seen) == (None, None, False)


def test_counters_that_go_backwards_or_vanish_mean_a_restart() -> None:
    assert restarted(counters(10, 40, 20), counters(2, 8, 4))
    assert restarted(counters(10, 40, 20, 500), counters(10, 40, 20, 30))
    assert restarted(counters(10, 40, 20), counters(None, None, None))
    assert not restarted(counters(0, 0, 0), counters(None, None, None))
    assert not restarted(counters(10, 40, 20), counters(10, 40, 20))
    assert acceptance(counters(10, 40, 20), counters(2, 8, 4)) is None


HEALTHY = Acceptance(drafts=200, drafted=800, accepted=600)


def test_an_acceptance_length_below_half_of_the_controls_is_a_collapse() -> None:
    assert "4.00 at concurrency 1 to 1.90" in collapsed(HEALTHY, Acceptance(200, 800, 180))
    assert collapsed(HEALTHY, Acceptance(200, 800, 400)) == ""
    assert collapsed(HEALTHY, HEALTHY) == ""


def test_a_short_length_that_cannot_halve_is_judged_by_the_accepted_share() -> None:
    short = Acceptance(drafts=400, drafted=800, accepted=320)
    assert short.length == pytest.approx(1.8)
    assert "40.0% at concurrency 1 to 0.0%" in collapsed(short, Acceptance(400, 800, 0))
    assert "to 15.0%" in collapsed(short, Acceptance(400, 800, 120))
    assert collapsed(short, Acceptance(400, 800, 200)) == ""


def test_the_share_is_judged_where_steps_are_not_counted() -> None:
    assert collapsed(Acceptance(0, 2000, 1500), Acceptance(0, 2000, 200)) != ""
    assert collapsed(Acceptance(0, 2000, 1500), Acceptance(0, 2000, 1400)) == ""


def test_a_drop_that_chance_explains_or_too_few_drafts_say_nothing() -> None:
    assert collapsed(Acceptance(60, 240, 30), Acceptance(60, 240, 14)) == ""
    assert collapsed(HEALTHY, Acceptance(40, 160, 0)) == ""
    assert collapsed(HEALTHY, Acceptance(0, 0, 0)) == ""
    assert collapsed(None, HEALTHY) == ""
    assert collapsed(HEALTHY, None) == ""


def test_replies_that_report_drafting_are_checked_one_by_one() -> None:
    batch = (
        exchange("p", "a", draft=Draft(drafted=4, accepted=5)),
        exchange("p", "a", draft=Draft(drafted=4, accepted=4)),
        exchange("p", "a", draft=Draft(drafted=4, accepted=2), arm="reference"),
        exchange("p", "a", draft=Draft(drafted=0, accepted=0), arm="reference"),
        exchange("p", "a"),
    )
    world = World((prompt("p"),), batch)
    assert [one.key for one in judge(world.batch, world.context())] == [
        "speculation-health/impossible-count@candidate",
        "speculation-health/reference-drafts@reference",
    ]
