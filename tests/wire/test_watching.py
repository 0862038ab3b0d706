"""Counters that stand still, and batches that never fill."""

from __future__ import annotations

from fuzzer.history.records import Counters, Draft, Received, Usage
from fuzzer.wire.watching import clock, limited, narrow, standing_still

REPLIES = [Received(outcome="ok", usage=Usage(completion_tokens=20), end_ns=1)] * 5


def at(**fields: float) -> Counters:
    return Counters(at_ns=1, **fields)


def still(before: Counters | None, after: Counters | None, replies: list[Received], *, speculates: bool = True) -> str:
    found = list(standing_still("candidate", before, after, replies, speculates=speculates))
    assert all(check.severity == "warning" for check in found)
    return ",".join(check.code for check in found)


class TestStandingStill:
    BEFORE = at(generated_tokens=5, drafts=1)

    def test_counters_that_move_are_alive(self) -> None:
        assert still(self.BEFORE, at(generated_tokens=105, drafts=30), REPLIES) == ""

    def test_counters_that_do_not_are_somebody_elses(self) -> None:
        assert still(self.BEFORE, self.BEFORE, REPLIES) == "stale-counters"
        assert still(self.BEFORE, self.BEFORE, REPLIES, speculates=False) == "stale-counters"

    def test_drafting_that_is_not_seen(self) -> None:
        after = at(generated_tokens=105, drafts=1)
        assert still(self.BEFORE, after, REPLIES) == "no-drafting"
        assert still(self.BEFORE, after, REPLIES, speculates=False) == ""
        told = [REPLIES[0].model_copy(update={"draft": Draft(drafted=4, accepted=2)})]
        assert still(self.BEFORE, after, REPLIES + told) == ""

    def test_few_tokens_or_no_counters_prove_nothing(self) -> None:
        assert still(self.BEFORE, self.BEFORE, REPLIES[:2]) == ""
        assert still(None, self.BEFORE, REPLIES) == ""
        assert still(at(running=1), at(running=0), REPLIES) == ""


def test_requests_refused_by_number_are_told_with_what_to_do() -> None:
    refused = Received(outcome="overloaded", http_status=429, detail="HTTP 429 (Retry-After: '7')", end_ns=1)
    (check,) = limited("candidate", [*REPLIES, refused], 8)
    assert (check.code, check.severity) == ("rate-limited", "blocking")
    assert "1 of 6 requests were refused with 8 at once: HTTP 429 (Retry-After: '7')" in check.text
    assert list(limited("candidate", REPLIES, 8)) == []
    assert list(limited("candidate", [refused.model_copy(update={"http_status": 503})], 8)) == []


class TestNarrow:
    @staticmethod
    def found(*samples: tuple[float, float], width: int = 8) -> bool:
        checks = list(
            narrow("candidate", [at(running=running, waiting=waiting) for running, waiting in samples], width)
        )
        assert all(check.code == "slots" for check in checks)
        return bool(checks)

    def test_one_slot(self) -> None:
        assert self.found(*[(1, 7), (1, 6), (1, 5), (1, 4), (1, 3), (1, 0)])

    def test_half_of_the_slots(self) -> None:
        assert self.found(*[(4, 4)] * 6, (4, 0), (2, 0))

    def test_a_slow_start_that_fills_in_the_end(self) -> None:
        assert not self.found(*[(1, 7)] * 6, (8, 0))

    def test_a_batch_that_grows_step_by_step(self) -> None:
        assert not self.found((1, 7), (2, 6), (3, 5), (4, 4), (5, 3), (6, 2))

    def test_a_full_batch_and_a_short_look_prove_nothing(self) -> None:
        assert not self.found(*[(8, 1)] * 6)
        assert not self.found(*[(1, 7)] * 3)
        assert not self.found()


class TestClock:
    @staticmethod
    def found(ahead: float | None, *created: int | None) -> str:
        replies = [Received(outcome="ok", created=made, end_ns=1_000 * 10**9) for made in created]
        checks = list(clock("candidate", ahead, replies))
        assert all((check.code, check.severity) == ("clock", "warning") for check in checks)
        return checks[0].message if checks else ""

    def test_clocks_that_agree_are_not_spoken_of(self) -> None:
        assert self.found(2.0) == self.found(None) == self.found(None, 999, 1001, None) == ""

    def test_the_date_of_a_page_is_believed_first(self) -> None:
        assert "3600 s ahead of ours" in self.found(3600.0, 1000)
        assert self.found(0.0, 5) == ""

    def test_without_one_the_replies_tell(self) -> None:
        assert "400 s behind ours" in self.found(None, 600, 600, 1000)
