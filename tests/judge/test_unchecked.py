"""Prompts whose right answer nobody knows (rows of a traffic log): compared and looked at for bleed, in no rate."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Prompt, Received
from fuzzer.judge.grading import Graded, outcome
from fuzzer.prompts import PromptPool
from tests.judge.story import Story, failed, only, plan, right, said

SAID, NOTHING, ERROR = Graded("unchecked"), Graded("none", "empty"), Graded("error", "server-error")


class Log(PromptPool):
    """A pool that forgot the right answers of every prompt from ``start`` on."""

    start = 0

    def prompt(self, index: int) -> Prompt:
        """The index-th prompt."""
        known = super().prompt(index)
        return known if index < self.start else known.model_copy(update={"checkable": False, "answer": ""})


class Mixed(Log):
    """The first 48 prompts can be checked."""

    start = 48


def answers(prompt: Prompt, _: int) -> Received:
    return said(f"An answer to {prompt.id}, whatever it is.")


def story(pool: type[PromptPool]) -> Story:
    told = Story(plan())
    told.pool = pool(0, ("code-word", "echo"))
    return told


@pytest.mark.parametrize("side", [SAID, NOTHING])
def test_what_cannot_be_checked_is_in_no_rate(side: Graded) -> None:
    result = outcome(side, SAID, checkable=False)
    assert (result.state, result.sub_kind, result.failed, result.judged) == ("unjudged", "no-answer-key", False, False)


def test_a_service_failure_there_is_counted_apart() -> None:
    result = outcome(ERROR, SAID, checkable=False)
    assert (result.state, result.failed, result.judged) == ("error", False, False)


def test_a_log_alone_passes_nothing() -> None:
    told = story(Log)
    prompts = told.fresh(48)
    told.calibrate(8, prompts, answers, answers)
    assert told.judge.calibration("candidate/unstated/c8/calibration").ready == prompts
    told.measure(8, prompts, answers, answers)
    tally = told.judge.cells[told.cell(8).key]
    assert (tally.n, tally.k, tally.compared) == (0, 0, 48)
    assert told.summary().exit_status == 3


def test_candidate_only_service_failures_on_a_log_break_the_gate() -> None:
    told = story(Log)
    prompts = told.fresh(48)
    told.calibrate(8, prompts, answers, answers)
    told.measure(8, prompts, only(range(12), failed, answers), answers)
    summary = told.summary()
    assert summary.exit_status == 1
    assert "service-failures" in {reason.code for reason in summary.reasons}


def test_a_canary_of_another_is_found_in_an_answer_that_cannot_be_checked() -> None:
    told = story(Log)
    prompts = told.fresh(48)
    told.calibrate(8, prompts, answers, answers)
    donor = told.pool.prompt(1)
    canary = next(each.text for each in donor.canaries if not each.cohort)
    told.measure(8, prompts, only([0], lambda prompt, _: said(f"It is {canary}."), answers), answers)
    assert told.summary().exit_status == 1


def test_what_can_be_checked_beside_it_is_judged() -> None:
    told = story(Mixed)

    def says(prompt: Prompt, index: int) -> Received | None:
        return (right if prompt.checkable else answers)(prompt, index)

    prompts = told.fresh(96)
    told.measure(8, prompts, says, says)
    tally = told.judge.cells[told.cell(8).key]
    assert (tally.n, tally.k, tally.compared) == (48, 0, 96)
