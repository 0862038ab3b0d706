"""What speculation costs and buys, in the same words on the console, in Markdown and on the page."""

from __future__ import annotations

import io

from fuzzer.report import costs
from fuzzer.report.markdown import markdown
from fuzzer.report.page import html
from fuzzer.report.render import open_screen, render
from fuzzer.summary import (
    AcceptanceSummary,
    Achieved,
    ArmSpeed,
    CellSummary,
    EndpointSummary,
    Quantiles,
    SampledSpeed,
    Speed,
    SpeedUp,
    Summary,
)

from . import factory

SPEED = Speed(
    candidate_seconds=0.75,
    candidate=ArmSpeed(
        tokens_per_second=812.4,
        end_to_end=Quantiles(n=100, p50=0.75, p90=1.25, p99=2.5),
        first_token=Quantiles(n=100, p50=0.031, p90=0.04, p99=0.2),
        inter_token=Quantiles(n=100, p50=0.0081, p90=0.009, p99=0.0123),
    ),
    reference=ArmSpeed(tokens_per_second=700.0, end_to_end=Quantiles(n=100, p50=1.0, p90=1.5, p99=2.75)),
    speed_up=SpeedUp(value=1.0712, low=1.031, high=1.104, confidence=0.95, pairs=100, clusters=13),
)


def timed(k: int, n: int, concurrency: int = 8, **more: object) -> CellSummary:
    cell = factory.cell(k, n, concurrency=concurrency, lm_head=None, status="fail" if k else "pass")
    return cell.model_copy(update={"speed": SPEED, **more})


def summary(*cells: CellSummary, **more: object) -> Summary:
    return factory.passing().model_copy(update={"cells": cells, **more})


def shown(told: Summary, width: int = 100) -> str:
    out = io.StringIO()
    render(told, open_screen(out, width))
    return out.getvalue()


def test_the_rollout_question_is_answered_in_one_sentence_at_the_users_own_concurrency() -> None:
    told = summary(timed(0, 331, 8), timed(7, 100, 32), p50_concurrency=32)
    (said,) = costs.answers(told)
    assert said == (
        "at your concurrency, 32, this drafter gives x1.07 (1.03 to 1.10) and 7 wrong answers in 100 (7/100; the "
        "reference 0/336)"
    )
    (said,) = costs.answers(told.model_copy(update={"p50_concurrency": 8}))
    assert said.startswith("at your concurrency, 8, this drafter gives x1.07 (1.03 to 1.10) and no wrong answer in 331")


def test_without_a_level_of_the_users_own_it_is_the_highest_that_was_gated() -> None:
    (said,) = costs.answers(summary(timed(0, 331, 8), timed(7, 100, 32)))
    assert said.startswith("at concurrency 32 this drafter gives x1.07")
    assert costs.answers(summary()) == []


def test_every_report_has_the_table_with_the_users_row_marked() -> None:
    told = summary(timed(0, 331, 8), timed(7, 100, 32), p50_concurrency=32)
    assert [row.yours for row in costs.decisions(told)] == [False, True]
    for text in (shown(told, 140), markdown(told), html(told)):
        assert "32 (yours)" in text
        assert "x1.07 (1.03 to 1.10)" in text
        assert "7 in 100 (7/100)" in text
        assert "this drafter gives x1.07" in text
    assert max(map(len, shown(told, 80).splitlines())) <= 80


def test_latencies_are_shown_for_both_arms_in_units_that_can_be_read() -> None:
    lines = costs.latencies(summary(timed(0, 331)))
    assert [line[3:] for line in lines] == [
        ("candidate", "812", "31 / 40 / 200 ms", "8.1 / 9 / 12.3 ms", "0.75 / 1.25 / 2.5 s"),
        ("reference", "700", "-", "-", "1 / 1.5 / 2.75 s"),
    ]


def test_what_the_engine_tells_is_shown_and_what_it_does_not_is_left_out() -> None:
    acceptance = AcceptanceSummary(
        drafted=400, accepted=300, steps=100, length=4.0, seen=True, by_position=(0.9, 0.8, 0.7, 0.6)
    )
    got = Achieved(share_at_n=1.0, min=8, max=8, pool_usage=0.61, preemptions=3.0, prefix_hit_rate=0.43)
    end = EndpointSummary(
        name="candidate", role="candidate", url="http://h", engine="vllm", kv_tokens=65536, kv_block=16,
        memory_bytes=3 * 2**29, memory_kind="process",
    )  # fmt: skip
    cell = timed(0, 331, acceptance=acceptance, achieved={"candidate": got})
    assert costs.engines(summary(cell, endpoints=(end,))) == [
        "candidate: a KV cache of 65,536 tokens in blocks of 16, 1.5 GiB in the process that serves HTTP",
        "concurrency 8, closed-loop: drafts accepted by position 90 %, 80 %, 70 %, 60 %; candidate 43 % of prompt "
        "tokens from the prefix cache, 3 preemptions, at most 61 % of the KV cache in use",
    ]
    bare = EndpointSummary(name="candidate", role="candidate", url="http://h", engine="openai")
    assert costs.engines(summary(timed(0, 331), endpoints=(bare,))) == []


def test_sampled_speed_is_told_apart() -> None:
    sampled = SampledSpeed(candidate="candidate", lm_head=None, concurrency=8, temperature=0.7, speed=SPEED)
    told = summary(timed(0, 331), sampled=(sampled,), endpoints=())
    assert costs.engines(told) == [
        "at temperature 0.7 and concurrency 8, where nothing is judged: candidate gives x1.07 (1.03 to 1.10), median "
        "0.75 s"
    ]
    assert [line[2] for line in costs.latencies(told)] == ["closed-loop"] * 2 + ["temperature 0.7"] * 2
    assert len(costs.decisions(told)) == 1


def test_a_run_that_measured_nothing_has_no_table() -> None:
    told = summary(factory.cell(0, 0, status="not-run"))
    assert "What it buys" not in shown(told)
    assert "What it buys" not in markdown(told)
