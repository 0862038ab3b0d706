"""``reproduce.py``: what it decides, and the Python it needs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from fuzzer.repro.checks import checks, said
from fuzzer.repro.script import reproduce, victim_reply
from fuzzer.repro.standalone import verdict
from tests.repro.factory import bundle, pair, received


def test_the_script_is_python_3_9_and_imports_the_standard_library_alone() -> None:
    source = reproduce(bundle())
    assert source is not None
    tree = ast.parse(source, feature_version=(3, 9))
    imported = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imported <= {
        "__future__", "argparse", "http.client", "json", "os", "socket", "ssl", "sys", "threading", "time", "typing",
        "urllib.parse",
    }  # fmt: skip


def test_a_hostile_text_cannot_leave_its_string() -> None:
    evil = "'\"\"\"\n'''); import os; os.system('x') #\\"
    source = reproduce(bundle(reply=f"{pair().asked['b'].answer} {evil}", note=evil))
    assert source is not None
    tree = ast.parse(source)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "system"]
    assert not calls


def test_the_found_reply_is_condemned_and_the_right_one_is_not() -> None:
    made = bundle()
    found = checks(made.cohort, made.finding, victim_reply(made))
    assert verdict(found[0], said(received(made.cohort.asked["b"].answer)))
    assert not verdict(found[0], said(received(f"It is {made.cohort.asked['a'].answer}.")))
    assert set(found) == {0, 1}  # the other one is looked at as well


def test_what_cannot_be_told_here_makes_no_script() -> None:
    made = bundle(reply="something else")  # neither another's content nor a wrong answer to look for
    finding = made.finding.model_copy(update={"kind": "self-consistency", "donor": None})
    right = made.cohort.asked["a"].answer
    cohort = made.cohort.model_copy(update={"right": (None, None)})
    seen = made.seen[0].model_copy(
        update={"done": made.seen[0].done and made.seen[0].done.model_copy(update={"received": received(right)})}
    )
    assert reproduce(made.model_copy(update={"finding": finding, "cohort": cohort, "seen": (seen,)})) is None


@pytest.mark.parametrize(
    ("check", "reply", "wrong"),
    [
        ({"foreign": ["F57M-YAN5"]}, {"text": "it is **f57m-yan5**."}, True),
        ({"foreign": ["F57M-YAN5"]}, {"text": "it is F57M-YAN51"}, False),
        ({"answers": ["A, B"]}, {"text": "The order is: A, B"}, False),
        ({"answers": ["A, B"]}, {"text": "B, A"}, True),
        ({"answers": ["A, B"]}, {"text": "", "error": "HTTP 500"}, False),
        ({"service": True}, {"text": "", "error": "HTTP 500"}, True),
        ({"service": True}, {"text": " "}, True),
        ({"service": True}, {"text": "fine"}, False),
        ({"same": "one two"}, {"text": "One  two!"}, False),
        ({"marks": ["<|im_end|>"]}, {"text": "x<|im_end|>"}, True),
    ],
)
def test_what_a_check_says(check: dict[str, object], reply: dict[str, object], wrong: bool) -> None:
    assert bool(verdict(check, reply)) is wrong


def test_the_module_is_the_file_that_is_copied() -> None:
    from fuzzer.repro import standalone

    assert standalone.__file__ is not None
    assert "CASE: dict[str, Any] = {}" in Path(standalone.__file__).read_text(encoding="utf-8")
