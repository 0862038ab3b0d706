"""Two answers become one outcome: what fails, what is in the denominator, what leaves it."""

from __future__ import annotations

import pytest

from fuzzer.judge.grading import Graded, outcome

RIGHT, VERBOSE, WRONG = Graded("right"), Graded("verbose"), Graded("wrong", "wrong-value")
NONE, ERROR, LOST = Graded("none", "runaway"), Graded("error", "server-error"), Graded("lost")


@pytest.mark.parametrize(
    ("side", "other", "state", "failed", "judged"),
    [
        (RIGHT, RIGHT, "right", False, True),
        (VERBOSE, RIGHT, "verbose", False, True),
        (WRONG, RIGHT, "wrong", True, True),
        (WRONG, WRONG, "wrong", True, True),
        (NONE, RIGHT, "wrong", True, True),
        (NONE, WRONG, "wrong", True, True),
        (NONE, NONE, "unjudged", False, False),
        (NONE, ERROR, "unjudged", False, False),
        (NONE, None, "wrong", True, True),
        (ERROR, RIGHT, "error", True, True),
        (ERROR, NONE, "error", True, True),
        (ERROR, ERROR, "error", False, False),
        (ERROR, None, "error", True, True),
        (LOST, RIGHT, "lost", False, False),
        (RIGHT, LOST, "right", False, True),
    ],
)
def test_the_outcome_of_a_pair(side: Graded, other: Graded | None, state: str, failed: bool, judged: bool) -> None:
    result = outcome(side, other)
    assert (result.state, result.failed, result.judged) == (state, failed, judged)


def test_a_candidate_that_alone_runs_away_is_wrong_with_that_sub_kind() -> None:
    assert outcome(NONE, RIGHT).sub_kind == "runaway"


def test_a_service_failure_keeps_its_kind() -> None:
    assert outcome(ERROR, RIGHT).sub_kind == "server-error"
