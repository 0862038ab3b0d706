"""A server that goes on running what was broken off: certain where the reference, sent the same, does not."""

from __future__ import annotations

from fuzzer.decisions import breaking, decide
from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Block, Counters, Done, Outcome, Received, Sent, Stage
from fuzzer.history.schedule import Deviations
from fuzzer.judge import Judge
from fuzzer.judge.calibration import calibration_key
from fuzzer.prompts import PromptPool
from tests.judge.story import plan


class Leak:
    """A judge, and what it found in a block of three requests at each end, of which the candidate ran some on."""

    def __init__(
        self, candidate: int, reference: int = 0, *, outcomes: tuple[Outcome, ...] = ("cancelled", "cancelled", "ok"),
        before: int = 0, stranger: bool = False,
    ) -> None:  # fmt: skip
        found: list[Finding] = []
        self.judge = Judge(plan(), found.append)
        self.cell = next(cell for cell in self.judge.plan.cells() if cell.concurrency == 8)
        prompt = PromptPool(0, ("echo",)).prompt(0)
        self.judge.feed(prompt)
        if stranger:
            self.judge.feed(self.stage("candidate", calibration_key("candidate", None, 1), others=1))
        for arm, count in (("candidate", candidate), ("reference", reference)):
            name: Arm = "candidate" if arm == "candidate" else "reference"
            for place, outcome in enumerate(outcomes):
                key = f"{arm}{place}"
                sent = Sent(
                    key=key, arm=name, endpoint=arm, cell=self.cell.key, phase="neighbour", block=0, index=place,
                    prompt=prompt.id, concurrency=8, exposure=0, max_tokens=9, sent_ns=0, in_flight=8,
                )  # fmt: skip
                self.judge.feed(sent)
                received = Received(outcome=outcome, end_ns=place + 1)
                self.judge.feed(Done(key=key, min_in_flight=8, max_in_flight=8, received=received))
            self.judge.feed(self.stage(name, self.cell.key, running=count, before=before if count else 0))
        self.judge.feed(Block(cell=self.cell.key, block=0, judged_prompts=()))
        self.certainties = [one.certainty for one in found if one.key == "service/still-running@candidate"]

    @staticmethod
    def stage(arm: Arm, cell: str, *, running: int = 0, before: int = 0, others: int = 0) -> Stage:
        return Stage(
            key=f"{arm}{cell}", cell=cell, arm=arm, endpoint=arm, phase="measure", block=0, concurrency=8,
            share_at_n=1, min_in_flight=8, max_in_flight=8, seconds=1, before=Counters(at_ns=0, running=before),
            deviations=Deviations(still_running=running, others=others),
        )  # fmt: skip

    @property
    def breaks(self) -> bool:
        return bool(breaking(self.judge, "candidate"))


def test_a_leak_on_the_candidate_alone_breaks_the_gate() -> None:
    leak = Leak(2)
    assert leak.certainties == ["certain"]
    assert leak.breaks


def test_what_both_servers_do_is_likely_at_most() -> None:
    leak = Leak(2, 2)
    assert leak.certainties == ["likely"]
    assert not leak.breaks
    assert Leak(0).certainties == []


def test_more_than_was_broken_off_or_nothing_new_is_no_leak_for_certain() -> None:
    assert Leak(3).certainties == ["likely"]
    assert Leak(2, before=2).certainties == ["likely"]
    assert Leak(2, outcomes=("ok", "ok", "ok")).certainties == ["likely"]
    assert Leak(2, outcomes=("overloaded", "server-error", "ok")).certainties == ["likely"]


def test_an_engine_that_has_done_nothing_since_the_last_cancel_may_not_have_counted_it() -> None:
    assert Leak(1, outcomes=("ok", "ok", "cancelled")).certainties == ["likely"]
    assert Leak(1, outcomes=("ok", "ok", "timeout-total")).certainties == ["certain"]


def test_where_somebody_else_is_seen_what_runs_on_may_be_theirs_and_nothing_passes() -> None:
    leak = Leak(2, stranger=True)
    assert not leak.breaks
    decision = decide(leak.judge, {}, {}, frozenset(), {})[leak.cell.key]
    assert "other-traffic" in {reason.code for reason in decision.opens}
    decision = decide(Leak(0, stranger=True).judge, {}, {}, frozenset(), {})[leak.cell.key]
    assert "other-traffic" not in {reason.code for reason in decision.opens}
