"""A server that goes on running what was broken off: certain where the reference, sent the same, does not."""

from __future__ import annotations

from fuzzer.decisions import breaking
from fuzzer.finding import Finding
from fuzzer.history.records import Block, Stage
from fuzzer.history.schedule import Deviations
from fuzzer.judge import Judge
from tests.judge.story import plan


def told(candidate: int, reference: int) -> tuple[list[Finding], bool]:
    found: list[Finding] = []
    judge = Judge(plan(), found.append)
    cell = next(cell for cell in judge.plan.cells() if cell.concurrency == 8)
    for arm, count in (("candidate", candidate), ("reference", reference)):
        judge.feed(
            Stage(
                key=arm, cell=cell.key, arm="candidate" if arm == "candidate" else "reference", endpoint=arm,
                phase="measure", block=0, concurrency=8, share_at_n=1, min_in_flight=8, max_in_flight=8, seconds=1,
                deviations=Deviations(cancelled=9, still_running=count),
            )
        )  # fmt: skip
    judge.feed(Block(cell=cell.key, block=0, judged_prompts=()))
    return found, bool(breaking(judge, "candidate"))


def test_a_leak_on_the_candidate_alone_breaks_the_gate() -> None:
    (finding,), breaks = told(9, 0)
    assert (finding.key, finding.certainty) == ("service/still-running@candidate", "certain")
    assert breaks


def test_what_both_servers_do_is_likely_at_most() -> None:
    findings, breaks = told(9, 9)
    assert {finding.certainty for finding in findings} == {"likely"}
    assert not breaks
    assert told(0, 0) == ([], False)
