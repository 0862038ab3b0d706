"""What SmolLM2-135M-Instruct really said (``benchmarks/habits.py``), with the grade that a careful reader gives it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuzzer.history.records import Prompt
from fuzzer.prompts import check

HABITS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("habits.jsonl").read_text(encoding="utf-8").splitlines()
]


def name(row: dict[str, Any]) -> str:
    return f"{row['prompt']['family']}/{row['prompt']['level']}: {row['why']}"


@pytest.mark.parametrize("row", HABITS, ids=map(name, HABITS))
def test_a_real_reply_gets_the_grade_that_a_careful_reader_gives_it(row: dict[str, Any]) -> None:
    grade = check(Prompt.model_validate(row["prompt"]), row["reply"], finish_reason=row["finish_reason"])
    assert (grade.sub_kind or grade.value) == row["grade"], grade.note


def test_the_replies_are_of_all_kinds() -> None:
    assert len(HABITS) >= 40
    assert len({row["prompt"]["family"] for row in HABITS}) >= 15
    grades = "right verbose wrong-value wrong-last-message dropped-constraint runaway refusal no-answer"
    assert {row["grade"] for row in HABITS} >= set(grades.split())
