from __future__ import annotations

import pytest

from fuzzer.report.sentences import (
    calibrated,
    comparison,
    donor,
    dropped,
    endpoint,
    exclusions,
    guards,
    marks,
    ranked,
    reasons_once,
    run_line,
    seen_at,
    undecided,
    verdict_line,
)
from fuzzer.summary import Bound, Comparison, Paired, Reason, ReasonCode, Summary

from . import factory


def changed(summary: Summary, **fields: object) -> Summary:
    return summary.model_copy(update=fields)


def test_a_pass_says_what_it_rules_out_how_surely_and_where() -> None:
    clean_run = changed(factory.passing(), cells=factory.passing().cells[:2])
    assert verdict_line(clean_run) == (
        "PASS: ruled out: a failure rate of 0.89 % or more at 95 % (one-sided), at concurrency 8"
    )


def test_a_pass_of_several_cells_claims_no_more_than_its_weakest() -> None:
    line = verdict_line(factory.passing())
    assert "a failure rate of 1 % or more" in line
    assert line.endswith("in each of 2 gated cells")


def test_a_pass_without_a_reference_makes_the_weaker_claim() -> None:
    assert "without a reference, so divergence was not judged" in verdict_line(factory.no_reference())


def test_a_fail_by_the_sequential_test_reads_above_p0_with_its_estimate() -> None:
    assert verdict_line(factory.two_heads()) == (
        "FAIL: failure rate above p0 = 0.1 % (sequential test), estimate 36.5 % (111/304), "
        "at concurrency 8, lm_head nvfp4, closed-loop, candidate fp4"
    )


def test_a_fail_of_fixed_size_reads_over_the_limit() -> None:
    cells = (factory.cell(30, 400, status="fail", sequential=False),)
    reason = Reason(code="wrong-rate", cell=cells[0].key, message="m")
    line = verdict_line(changed(factory.two_heads(), cells=cells, reasons=(reason,)))
    assert line.startswith("FAIL: failure rate over 1 %, estimate 7.5 % (30/400)")


def test_a_fail_by_bleed_says_so_and_how_many_reasons_there_are() -> None:
    assert verdict_line(factory.failing()) == (
        "FAIL: another request's content in an answer (concurrent, certain), at concurrency 8, lm_head nvfp4, "
        "closed-loop; 3 times in the run's 1,702 exchanges (and 2 more reasons)"
    )


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "worse-than-reference",
            "worse than the reference, 9/48 v 0/48 failures, 9 only here, 0 only there (McNemar p = 0.0039)",
        ),
        ("material-divergence", "material divergence, 1/96 prompts v 0/96 of the reference against itself"),
        ("service-failures", "the words of the reason"),
        ("acceptance-collapse", "the words of the reason"),
        ("certain-finding", "the words of the reason"),
    ],
)
def test_every_way_to_fail_is_told_with_numbers_or_in_the_words_of_its_reason(code: ReasonCode, said: str) -> None:
    reason = Reason(code=code, cell="candidate/nvfp4/c8/closed-loop", message="the words of the reason")
    line = verdict_line(changed(factory.failing(), reasons=(reason,), findings=()))
    assert line.startswith(f"FAIL: {said}")


def test_the_reason_of_the_whole_run_needs_no_cell() -> None:
    reason = Reason(code="certain-finding", message="bleed/concurrent/history@candidate: 3 times outside the cells")
    line = verdict_line(changed(factory.failing(), reasons=(reason,)))
    assert line == (
        "FAIL: another request's content in an answer (concurrent, certain); 3 times in the run's 1,702 exchanges"
    )


def test_a_waived_finding_is_never_the_headline() -> None:
    failing = factory.failing()
    waived = tuple(group.model_copy(update={"waived": True}) for group in failing.findings)
    assert "bleed/concurrent" in verdict_line(changed(failing, findings=waived))


@pytest.mark.parametrize("code", ["bound-open", "no-speculation", "concurrency-not-reached", "too-few-judged",
    "not-comparable", "truncated", "reference-faulty", "shared-service-failures", "budget", "restarted", "changed",
    "rate-limited"])  # fmt: skip
def test_inconclusive_says_why_in_words(code: ReasonCode) -> None:
    line = verdict_line(changed(factory.inconclusive(), reasons=(Reason(code=code, message="m"),)))
    assert line.startswith("INCONCLUSIVE: ")
    assert len(line) > 40
    assert "more reason" not in line


def test_unavailable_and_interrupted_have_their_own_words() -> None:
    gone = changed(
        factory.inconclusive(), verdict="unavailable", reasons=(Reason(code="unavailable", message="m"),), cells=()
    )
    assert verdict_line(gone) == "UNAVAILABLE: an endpoint cannot be reached or used"
    stopped = changed(gone, verdict="interrupted", reasons=(Reason(code="interrupted", message="m"),))
    assert verdict_line(stopped).startswith("INTERRUPTED: stopped before the end")
    assert verdict_line(changed(gone, reasons=())) == "UNAVAILABLE: nothing was decided"


def test_only_what_was_measured_and_passed_is_ruled_out() -> None:
    lines = exclusions(factory.inconclusive())
    assert [line.rsplit(": ", 1)[1] for line in lines[1:]] == ["nothing (open)", "nothing (vacuous)"]
    assert "(control, no bound required)" in lines[0]
    assert "0/60 failed" in lines[0]
    assert exclusions(changed(factory.passing(), cells=())) == ["nothing: no cell was measured"]


def test_a_sequential_pass_with_failures_rules_out_the_tested_rate_only() -> None:
    line = next(line for line in exclusions(factory.passing()) if "burst-solo" in line)
    assert "a failure rate of 1 % or more (1/603 failed, sequential test)" in line


def test_rounds_and_clusters_are_named() -> None:
    cell = factory.cell(0, 400).model_copy(update={"bound": Bound(value=0.0075, confidence=0.95, unit="round")})
    (line,) = exclusions(changed(factory.passing(), cells=(cell,)))
    assert "rounds with a failure, a share of 0.75 % or more" in line
    assert "by block, since failures can cluster: 35 % or more of the blocks (0/8 held one)" in line


def test_two_candidates_are_compared_with_p_to_two_digits_and_its_unit() -> None:
    (pair,) = factory.two_heads().comparisons
    assert comparison(pair) == (
        "fp4 (lm_head nvfp4) fails 36.5 % (111/304), bf16 (lm_head bf16) fails 0.33 % (1/304), at concurrency 8, "
        "closed-loop: exact McNemar p = 4.4e-32 (two-sided; 111 failed on fp4 only, 1 on bf16 only; paired by prompt)"
    )


def test_a_comparison_of_nothing_is_no_division_by_zero() -> None:
    empty = factory.rate(0, 0)
    pair = Comparison(
        concurrency=8, schedule="rounds", left="a", right="b", left_lm_head=None, right_lm_head=None, left_rate=empty,
        right_rate=empty, b=0, c=0, p_two_sided=1.0, unit="prompt",
    )  # fmt: skip
    assert "a (lm_head unstated) fails unknown (0/0)" in comparison(pair)


def test_findings_that_break_the_gate_come_first_and_waived_ones_last() -> None:
    groups = ranked(reversed(factory.failing().findings))
    assert [group.kind for group in groups] == ["bleed", "wrong-answer", "corruption"]
    assert marks(groups[0]) == "certain, 3 times, on the candidate, breaks the gate"
    assert marks(groups[2]) == "likely, 2 times, on the candidate, waived"
    also = groups[1].model_copy(update={"also_on_reference": True})
    assert marks(also).endswith("also on the reference")


def test_a_donor_is_named_by_prompt_exchange_channel_and_time() -> None:
    found = factory.bleed().donor
    assert found is not None
    assert donor(found) == "prompt p000012, exchange measure/b0/12, channel history, concurrent"
    nobody = found.model_copy(update={"prompt": None, "exchange": None, "when": "unconditioned"})
    assert donor(nobody) == "nobody's prompt, exchange unknown, channel history, unconditioned"


def test_calibration_says_what_was_dropped_and_why() -> None:
    assert calibrated(factory.passing().calibration) == [
        "kept 101/120 prompts, over 2 families and levels",
        "table hard: kept 41/60 (17 wrong even alone, 2 right alone but wrong at N)",
    ]
    assert calibrated(()) == []
    assert dropped(factory.passing().calibration[0]) == "sort easy: kept 60/60"


def test_a_finding_says_where_it_was_seen_calibration_included() -> None:
    failing = factory.failing()
    level = "candidate/nvfp4/c8"
    cells = tuple(f"{level}/{last}" for last in ("burst-solo", "calibration", "closed-loop", "rounds", "replicas"))
    group = failing.findings[0].model_copy(update={"cells": cells})
    assert seen_at(group, failing) == (
        "concurrency 8, lm_head nvfp4, burst-solo; concurrency 8, lm_head nvfp4, calibration; "
        "concurrency 8, lm_head nvfp4, closed-loop; 2 more cells"
    )
    assert seen_at(group.model_copy(update={"cells": ("preflight",)}), failing) == "preflight"
    assert seen_at(group.model_copy(update={"cells": ()}), failing) == ""


def test_an_endpoint_tells_what_it_runs_and_what_it_refused() -> None:
    assert endpoint(factory.pair()[0]) == (
        "candidate (candidate) http://gpu-1.internal:8000: vllm 0.12.1, Qwen/Qwen3-8B, lm_head nvfp4, speculation on, "
        "8 slots, without min_p, which it refuses"
    )


def test_the_run_line_tells_lost_exchanges_and_resumes() -> None:
    line = run_line(changed(factory.passing(), lost=3, resumed=1))
    assert "1,702 exchanges, 3 lost in 12 min, resumed 1 time, seed 7" in line


def test_cells_left_open_by_a_failed_run_say_why() -> None:
    cell = factory.cell(status="vacuous", schedule="rounds", reasons=("drafting was not seen here",))
    failing = factory.failing()
    mixed = changed(
        failing, cells=(*failing.cells, cell), vacuity=(f"{cell.key}: drafting was not seen here", "another guard")
    )
    assert undecided(mixed) == ["concurrency 8, lm_head nvfp4, rounds: vacuous: drafting was not seen here"]
    assert guards(mixed) == ["another guard"]


def test_what_the_reasons_say_is_not_said_twice() -> None:
    reason = Reason(code="no-speculation", cell="candidate/nvfp4/c8/closed-loop", message="no draft")
    cell = factory.cell(status="vacuous", reasons=("no draft",))
    once = changed(factory.inconclusive(), reasons=(reason,), cells=(cell,), vacuity=(f"{cell.key}: no draft",))
    assert undecided(once) == []
    assert guards(once) == []


def test_the_adjusted_p_decides() -> None:
    cell = factory.cell(9, 48, status="fail").model_copy(
        update={"paired": Paired(b=9, c=0, p=0.002, p_adjusted=None, unit="prompt", against="itself at concurrency 1")}
    )
    reason = Reason(code="worse-than-reference", cell=cell.key, message="m")
    line = verdict_line(changed(factory.failing(), cells=(cell,), reasons=(reason,)))
    assert "worse than itself at concurrency 1" in line
    assert "(McNemar p = 0.002)" in line


def test_many_cells_that_rule_out_nothing_share_a_line() -> None:
    cells = tuple(factory.cell(9, 48, concurrency=level, status="fail") for level in (2, 4, 8, 16))
    found = exclusions(factory.passing().model_copy(update={"cells": (factory.control(), *cells)}))
    assert len(found) == 2
    assert found[0].startswith("concurrency 1, lm_head nvfp4, closed-loop (control")
    assert found[1] == "nothing in the other 4 cells: 4 FAIL"


def counted_failing() -> Summary:
    """The failing run, with its bleed seen in preflight, in calibration and in two cells."""
    failing = factory.failing()
    level = "candidate/nvfp4/c8"
    counts = {
        f"{level}/burst-solo": 1, f"{level}/calibration": 9, f"{level}/closed-loop": 3, "candidate/preflight": 1,
    }  # fmt: skip
    bleed = failing.findings[0].model_copy(update={"counts": counts, "count": 14})
    again = Reason(code="certain-finding", cell=f"{level}/burst-solo", message=f"{bleed.key}: 1 in this cell")
    return changed(failing, findings=(bleed, *failing.findings[1:]), reasons=(*failing.reasons, again))


def test_counts_are_told_once_by_stage_and_add_up() -> None:
    assert verdict_line(counted_failing()) == (
        "FAIL: another request's content in an answer (concurrent, certain); 14 in the run: 1 in preflight, 9 in "
        "calibration at concurrency 8, 1 in burst-solo at concurrency 8, 3 in closed-loop at concurrency 8 "
        "(and 2 more reasons)"
    )


def test_each_reason_is_listed_once_and_the_headline_not_again() -> None:
    said = reasons_once(counted_failing())
    assert len(said) == 2
    assert not any("bleed" in line for line in said)
    assert said[0].startswith("9 of 48 answers failed: above 0.001")


def test_a_reason_that_holds_of_several_cells_names_them_all() -> None:
    cells = ("candidate/nvfp4/c8/burst-solo", "candidate/nvfp4/c8/closed-loop")
    reasons = tuple(Reason(code="material-divergence", cell=cell, message="m") for cell in cells)
    (line,) = reasons_once(changed(factory.failing(), reasons=reasons))
    assert line == "m (at concurrency 8, lm_head nvfp4, burst-solo and concurrency 8, lm_head nvfp4, closed-loop)"
