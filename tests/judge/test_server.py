"""What the engine's own counters gain over a cell's stages: preemptions, prefix-cache hits, acceptance by place."""

from __future__ import annotations

from fuzzer.history.records import Counters
from fuzzer.judge.tally import Server


def at(**fields: object) -> Counters:
    return Counters.model_validate({"at_ns": 1, **fields})


def test_gains_are_added_up_over_stages() -> None:
    server = Server()
    server.add(
        at(preemptions=1, prefix_queries=100, prefix_hits=50, accepted_at=(10, 5)),
        at(preemptions=3, prefix_queries=200, prefix_hits=80, accepted_at=(30, 9)),
    )
    server.add(
        at(preemptions=3, prefix_queries=200, prefix_hits=80, accepted_at=(30, 9)),
        at(preemptions=3, prefix_queries=300, prefix_hits=150, accepted_at=(40, 12, 1)),
    )
    assert (server.preemptions, server.hit_rate, server.accepted_at) == (2, 0.5, (30, 7, 1))


def test_what_is_not_told_stays_unknown_and_is_not_nought() -> None:
    server = Server()
    server.add(at(), at())
    assert (server.preemptions, server.hit_rate, server.accepted_at) == (None, None, ())
    server.add(at(), at(prefix_queries=0, prefix_hits=0))
    assert server.hit_rate is None
