"""The in-flight count: exact over hand-overs, honest about dips."""

from __future__ import annotations

from fuzzer.traffic.gauge import Gauge


def test_a_barrier_sends_all_with_all_in_flight() -> None:
    gauge = Gauge(3)
    flights = gauge.enter(["a", "b", "c"], 0)
    assert [(flight.at_send, flight.least, flight.most) for flight in flights] == [(3, 3, 3)] * 3
    assert gauge.peak == 3


def test_a_hand_over_keeps_the_count_and_the_share_full() -> None:
    gauge = Gauge(2)
    gauge.enter(["a", "b"], 0)
    ended, flight = gauge.hand_over("a", "c", 50)
    assert (ended.least, ended.most, flight.at_send) == (2, 2, 2)
    gauge.stop(100)
    assert gauge.share() == 1.0
    assert dict(gauge.histogram) == {2: 100}


def test_a_dip_shows_in_the_share_and_in_those_who_lived_through_it() -> None:
    gauge = Gauge(2)
    gauge.enter(["a", "b"], 0)
    gauge.leave("a", 60)
    (late,) = gauge.enter(["c"], 80)
    ended = gauge.leave("b", 90)
    gauge.stop(100)
    assert ended.least == 1
    assert late.least == 1
    assert gauge.share() == 0.7


def test_draining_is_not_counted() -> None:
    gauge = Gauge(2)
    gauge.enter(["a", "b"], 0)
    gauge.leave("a", 10)
    gauge.stop(10)
    gauge.leave("b", 1000)
    assert gauge.share() == 1.0


def test_a_width_that_is_never_reached_has_no_share() -> None:
    gauge = Gauge(4)
    gauge.enter(["a", "b"], 0)
    gauge.leave("a", 10)
    gauge.stop(20)
    assert gauge.share() == 0.0


def test_who_is_written_after_another_has_ended_or_never_has_not_met_it() -> None:
    for written, met in ((5, 1.0), (60, 0.5), (None, 0.5)):
        gauge = Gauge(2)
        gauge.enter(["a", "b"], 0)
        gauge.miss("a", 4)
        gauge.leave("a", 50)
        gauge.miss("b", written)
        gauge.leave("b", 90)
        assert gauge.met == met
