"""A server that goes on running what was broken off: certain where the reference, sent the same, does not."""

from __future__ import annotations

from fuzzer.decisions import breaking
from fuzzer.finding import Finding
from fuzzer.history.records import Arm, Block, Counters, Done, Outcome, Received, Sent, Stage
from fuzzer.history.schedule import Deviations
from fuzzer.judge import Judge
from fuzzer.prompts import PromptPool
from tests.judge.story import plan


def told(candidate: int, reference: int, *, outcome: Outcome = "cancelled", others: int = 0) -> tuple[Judge, Finding]:
    """A judge that has heard of one block, and its finding; ``others`` run at the candidate before it begins."""
    found: list[Finding] = []
    judge = Judge(plan(), found.append)
    cell = next(cell for cell in judge.plan.cells() if cell.concurrency == 8)
    prompt = PromptPool(0, ("echo",)).prompt(0)
    judge.feed(prompt)
    arms: tuple[tuple[Arm, int], ...] = (("candidate", candidate), ("reference", reference))
    for arm, count in arms:
        for block in (0, 1):
            fresh = Counters(at_ns=0, running=others if arm == "candidate" and block else 0, generated_tokens=9 * block)
            stage = Stage(
                key=f"{arm}{block}", cell=cell.key, arm=arm, endpoint=arm, phase="measure", block=block, concurrency=8,
                share_at_n=1, min_in_flight=8, max_in_flight=8, seconds=1, before=fresh,
                after=fresh.model_copy(update={"running": 0}),
                deviations=Deviations(still_running=block * count),
            )  # fmt: skip
            if block:
                stage = stage.model_copy(update={"before": fresh.model_copy(update={"generated_tokens": 20.0})})
            judge.feed(stage)
        sent = Sent(
            key=arm, arm=arm, endpoint=arm, cell=cell.key, phase="neighbour", block=1, index=0, prompt=prompt.id,
            concurrency=8, exposure=0, max_tokens=9, sent_ns=0, in_flight=8,
        )  # fmt: skip
        judge.feed(sent)
        judge.feed(Done(key=arm, min_in_flight=8, max_in_flight=8, received=Received(outcome=outcome, end_ns=1)))
    for block in (0, 1):
        judge.feed(Block(cell=cell.key, block=block, judged_prompts=()))
    return judge, next(finding for finding in found if finding.sub_kind == "still-running")


def test_a_leak_on_the_candidate_alone_breaks_the_gate() -> None:
    judge, finding = told(9, 0)
    assert (finding.key, finding.certainty) == ("service/still-running@candidate", "certain")
    assert breaking(judge, "candidate")


def test_what_both_servers_do_is_likely_at_most() -> None:
    judge, finding = told(9, 9)
    assert finding.certainty == "likely"
    assert not breaking(judge, "candidate")


def test_where_nothing_was_broken_off_nothing_can_leak() -> None:
    judge, finding = told(9, 0, outcome="ok")
    assert finding.certainty == "likely"
    assert not breaking(judge, "candidate")


def test_where_somebody_else_is_seen_what_runs_on_may_be_theirs() -> None:
    judge, _ = told(9, 0, others=2)
    assert judge.company.seen == {("candidate", "candidate"): 2}
    assert not breaking(judge, "candidate")
