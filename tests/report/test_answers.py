"""The page's four answers: may I roll out, what failed first, who was the donor, how do I replay it."""

from __future__ import annotations

from pathlib import Path

from fuzzer.manifest import new_manifest, write_manifest
from fuzzer.report.page.answers import Answers, answers, levels
from fuzzer.report.page.evidence import Evidence, evidence
from fuzzer.report.page.replay import Replays
from fuzzer.summary import Reason, Summary

from . import factory
from .test_page import run


def words(summary: Summary) -> dict[str, str]:
    return {level.where: level.word for level in levels(summary)}


def answered(summary: Summary) -> Answers:
    return answers(summary, Evidence(), Replays([]))


def test_a_level_is_a_yes_only_if_each_of_its_cells_passed() -> None:
    control = {"at concurrency 1": "control"}
    assert words(factory.passing()) == {**control, "at concurrency 8": "yes"}
    assert words(factory.failing()) == {**control, "at concurrency 8": "NO"}
    assert words(factory.inconclusive()) == {**control, "at concurrency 8": "not known"}
    half = factory.passing()
    cells = (*half.cells[:2], factory.cell(4, 1332, schedule="rounds", status="open"))
    assert words(half.model_copy(update={"cells": cells})) == {**control, "at concurrency 8": "not known"}


def test_the_control_is_told_as_measured_and_one_that_failed_is_a_no() -> None:
    control, _ = levels(factory.failing())
    assert control.why == "alone: no failure in 60, no bound required"
    faulty = factory.control().model_copy(update={"status": "fail"})
    assert words(factory.failing().model_copy(update={"cells": (faulty,)})) == {"at concurrency 1": "NO"}


def test_a_pass_says_what_it_rules_out_and_a_failure_under_which_traffic() -> None:
    (_, passed), (_, failed) = levels(factory.passing()), levels(factory.failing())
    assert passed.why.startswith("a failure rate of 1 % or more is ruled out under burst-solo and closed-loop, at 95 %")
    assert failed.why == "it fails under closed-loop"


def test_several_heads_are_answered_each() -> None:
    assert words(factory.two_heads()) == {
        "at concurrency 8, lm_head bf16": "not known",
        "at concurrency 8, fp4 (lm_head nvfp4)": "NO",
    }


def test_levels_that_are_alike_are_told_together() -> None:
    clean = tuple(factory.cell(concurrency=level) for level in (2, 4))
    cells = (*clean, factory.cell(9, 48, status="fail"), factory.cell(9, 48, concurrency=16, status="fail"))
    assert words(factory.passing().model_copy(update={"cells": cells})) == {
        "at concurrency 2 and 4": "yes",
        "at concurrency 8 and 16": "NO",
    }


def test_what_stands_against_the_whole_run_takes_the_yes_away() -> None:
    doubt = Reason(code="reference-faulty", message="the reference bleeds itself")
    run_wide = factory.passing().model_copy(update={"verdict": "inconclusive", "reasons": (doubt,)})
    _, level = levels(run_wide)
    assert (level.word, level.why) == ("not known", "the reference bleeds itself")


def test_a_level_that_was_not_measured_is_told_how_to_be(tmp_path: Path) -> None:
    assert answered(factory.passing()).ask == "--concurrency 1,16"
    write_manifest(tmp_path, new_manifest(factory.plan(), "r"))
    found = answers(factory.passing(), Evidence(), Replays([tmp_path]))
    assert found.other == 16
    assert found.ask.startswith("specfuzz gate --candidate http://127.0.0.1:8000 --reference http://127.0.0.1:8001 ")
    assert "--concurrency 1,16 --schedule closed-loop,burst-solo" in found.ask


def test_a_clean_run_has_nothing_that_failed_and_no_donor() -> None:
    found = answered(factory.passing())
    assert (found.first, found.donor, found.anchor, found.command) == ("", "", "", "")


def test_without_a_history_the_worst_finding_is_told() -> None:
    found = answered(factory.failing())
    assert found.anchor == "bleed/concurrent/history@candidate"
    assert "prompt p000012" in found.donor
    assert "into the run" not in found.first


def test_what_failed_first_is_the_earliest_request_not_the_first_line(tmp_path: Path) -> None:
    summary = run(tmp_path)
    first = (tmp_path / "findings.jsonl").read_text(encoding="utf-8")
    later = summary.findings[0].example.model_copy(update={"exchange": "c/c8/closed-loop#0/measure0/candidate/1"})
    (tmp_path / "findings.jsonl").write_text(later.model_dump_json() + "\n" + first, encoding="utf-8")
    found = answers(summary, evidence([tmp_path], summary), Replays([]))
    assert found.first.endswith("0 s into the run")
    assert found.donor.startswith("prompt p000001, exchange c/c8/closed-loop#0/measure0/candidate/1, in flight")
    assert "its answer ('the other answer') stands in the answer to prompt p000000" in found.donor
