"""The reports of a fixed recorded history are what they were: a change that is meant is written anew and read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from pydantic import JsonValue

from fuzzer.report.schema import shipped

from .golden import NAMES, RECORDED, UPDATE, reports

HINT = f"if this change is meant: {UPDATE}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return reports(tmp_path_factory.mktemp("recorded"))


def expected(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(("json", "jsonl"))])
def test_a_report_says_what_it_said(made: dict[str, str], name: str) -> None:
    was, now = expected(name).splitlines(), made[name].splitlines()
    changed = next(
        (number for number, (a, b) in enumerate(zip(was, now, strict=False)) if a != b), min(len(was), len(now))
    )
    assert was[changed : changed + 3] == now[changed : changed + 3], f"{name}, line {changed + 1}; {HINT}"
    assert len(was) == len(now), HINT


def test_the_summary_still_says_all_that_it_said(made: dict[str, str]) -> None:
    lost = missing(json.loads(expected("summary.json")), json.loads(made["summary.json"]))
    assert not lost, f"{lost[:3]}; fields are only ever added; {HINT}"


def test_findings_are_those_that_they_were(made: dict[str, str]) -> None:
    was, now = (text.splitlines() for text in (expected("findings.jsonl"), made["findings.jsonl"]))
    assert [json.loads(line)["key"] for line in was] == [json.loads(line)["key"] for line in now], HINT
    assert not missing([json.loads(line) for line in was], [json.loads(line) for line in now]), HINT


def test_the_summary_validates_against_the_shipped_schema(made: dict[str, str]) -> None:
    jsonschema.validate(json.loads(made["summary.json"]), json.loads(shipped()))


def missing(was: JsonValue, now: JsonValue, at: str = "") -> list[str]:
    """Where a value that was there is not there any more, or is another; what came to it is allowed."""
    if isinstance(was, dict) and isinstance(now, dict):
        return [lost for key, value in was.items() for lost in missing(value, now.get(key, "gone"), f"{at}.{key}")]
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = enumerate(zip(was, now, strict=True))
        return [lost for place, (a, b) in pairs for lost in missing(a, b, f"{at}[{place}]")]
    return [] if was == now else [f"{at}: {str(was)[:60]} became {str(now)[:60]}"]


def test_a_lost_field_is_seen() -> None:
    assert missing({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 3}], "d": 4}) == []
    assert missing({"a": [1, {"b": 2}]}, {"a": [1, {}]}) == [".a[1].b: 2 became gone"]


def test_the_page_answers_the_minute_s_questions(made: dict[str, str]) -> None:
    text = made["report.html"]
    minute = text[text.index("In one minute") : text.index("What it rules out")]
    minute = re.sub('<a class="word"[^>]*>([^<]*)</a>', r"\1", minute)
    assert 'at concurrency 4: <strong class="bad">NO</strong>' in minute
    assert 'at concurrency 1: <strong class="calm">control</strong>, alone: no failure in' in minute
    assert 'any other level, 8 say: <strong class="unsure">NOT CLEARED</strong>, not measured' in minute
    assert "--concurrency 1,8 --schedule" in minute
    assert "bleed/concurrent/user@candidate" in minute
    assert "s into the run" in minute
    assert 'href="#first-failure"' in minute
    assert text.count('id="first-failure"') == 1
    assert "in preflight, before the first cell" in minute
    assert "its last user message (&#39;" in minute
    assert "stands in the answer to prompt " in minute
    assert "exchange candidate/" in minute
    assert "specfuzz gate --candidate http://127.0.0.1:" in minute
    assert "--concurrency 1,4 --schedule closed-loop --seed 0" in minute


def test_the_recording_holds_no_path_of_the_machine_that_made_it() -> None:
    for path in RECORDED.iterdir():
        if path.suffix != ".gz":
            assert str(Path.home()) not in path.read_text(encoding="utf-8")
