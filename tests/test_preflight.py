"""Preflight refuses what cannot be compared, before it costs anything."""

from __future__ import annotations

from fuzzer.history.records import Exchange
from fuzzer.preflight import changed_ends, truncated
from fuzzer.summary import EndpointSummary
from tests.judge.story import Story, plan, said

END = EndpointSummary(name="candidate", role="candidate", url="http://h:1", engine="vllm", model="m", fingerprint="0.9")


def cut(text: str) -> Exchange:
    """A probe that ran into max_tokens with this text."""
    story = Story(plan())
    return story.exchange(said(text, finish_reason="length"))


def test_answers_cut_by_max_tokens_are_told_from_loops_that_no_limit_would_hold() -> None:
    prose = " ".join(f"Step {number} of my reasoning concerns the number {number * 37}." for number in range(40))
    loop = "The answer is 4. " * 60
    whole = [Story(plan()).exchange(said("4"))] * 10
    assert truncated([cut(prose), cut(prose), *whole]) == 2 / 12
    assert truncated([cut(prose), *whole]) == 0.0
    assert truncated([cut(loop), cut(loop), *whole]) == 0.0


def test_an_end_that_changed_since_the_run_began_is_named_with_what_changed() -> None:
    assert changed_ends((), (END,)) == []
    assert changed_ends((END,), (END,)) == []
    assert changed_ends((END,), (END.model_copy(update={"memory_bytes": 7, "clock_seconds": 3.0}),)) == []
    (reason,) = changed_ends((END,), (END.model_copy(update={"fingerprint": "1.0"}),))
    assert reason.code == "not-comparable"
    assert "fingerprint was 0.9 and is 1.0" in reason.message
