"""Times and speed-ups from recorded exchanges: which figures there are, and what is left out."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Arm, Exchange
from fuzzer.judge.speeds import Race, Times, race
from tests.oracles.factory import exchange

MS = 10**6


def answered(index: int, *, ms: int, tokens: int, arm: Arm = "candidate", first: int | None = None) -> Exchange:
    made = exchange(f"p{index:06d}", "x", arm=arm, index=index, completion=tokens)
    assert made.done is not None
    begun = None if first is None else first * MS
    received = made.done.received.model_copy(update={"first_ns": begun, "end_ns": ms * MS})
    return made.model_copy(update={"done": made.done.model_copy(update={"received": received})})


def test_latencies_are_quantiles_over_answers_and_tokens_per_second_over_all_that_was_sent() -> None:
    times = Times(stage_seconds=2.0)
    for index in range(100):
        answer = answered(index, ms=100 + index, tokens=11, first=50)
        times.add(answer)
        times.count(answer)
    times.count(answered(0, ms=1, tokens=900))  # filler
    told = times.summary()
    assert told is not None
    assert told.tokens_per_second == (100 * 11 + 900) / 2
    assert told.end_to_end is not None
    assert told.end_to_end.n == 100
    assert told.end_to_end.p50 == pytest.approx(0.1495)
    assert told.end_to_end.p99 == pytest.approx(0.19801)
    assert told.first_token is not None
    assert told.first_token.p90 == pytest.approx(0.05)
    assert told.inter_token is not None
    assert told.inter_token.p50 == pytest.approx(0.00995)  # (149.5 - 50) / 10


def test_what_was_not_streamed_or_failed_tells_no_first_token() -> None:
    times = Times()
    whole = answered(0, ms=100, tokens=11, first=99)
    times.add(whole.model_copy(update={"sent": whole.sent.model_copy(update={"stream": False})}))
    times.add(exchange("p000000", outcome="server-error"))
    times.add(exchange("p000000", lost=True))
    told = times.summary()
    assert told is not None
    assert told.end_to_end is not None
    assert (told.end_to_end.n, told.first_token, told.inter_token) == (1, None, None)
    assert Times().summary() is None


def test_a_single_token_has_no_time_between_tokens() -> None:
    times = Times()
    times.add(answered(0, ms=100, tokens=1, first=60))
    told = times.summary()
    assert told is not None
    assert told.inter_token is None
    assert told.first_token is not None


def test_the_speed_up_is_over_pairs_that_both_answered() -> None:
    into = Race()
    ours = [answered(index, ms=100 + index, tokens=20) for index in range(160)]
    theirs = [answered(index, ms=200 + 2 * index, tokens=20, arm="reference") for index in range(160)]
    theirs[7] = exchange("p000007", arm="reference", index=7, outcome="timeout-total")
    race({"candidate": ours, "reference": theirs[:-1]}, into)
    told = into.summary(0.95)
    assert told is not None
    assert (told.pairs, told.clusters) == (158, 20)
    assert told.value == pytest.approx(2.0)
    assert told.low is not None
    assert told.high is not None
    assert 1.99 < told.low <= told.value <= told.high < 2.01


def test_few_clusters_have_a_value_and_no_interval_and_no_pair_has_nothing() -> None:
    into = Race()
    pair: dict[Arm, list[Exchange]] = {
        "candidate": [answered(0, ms=100, tokens=20)],
        "reference": [answered(0, ms=150, tokens=10, arm="reference")],
    }
    race(pair, into)
    told = into.summary(0.95)
    assert told is not None
    assert told.value == pytest.approx(3.0)
    assert (told.low, told.high) == (None, None)
    assert Race().summary(0.95) is None
