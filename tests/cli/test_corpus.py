"""The corpus commands, as a person runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer.testing

from fuzzer.cli.app import app
from tests.cli.conftest import specfuzz
from tests.prompts.corpora.files import prompt, rows, write

Run = Callable[..., typer.testing.Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs ``specfuzz corpus`` in this process and an empty directory; a mistake is the result's exception."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: typer.testing.CliRunner().invoke(app, ["corpus", *arguments])


def test_list_names_the_shipped_and_the_added(run: Run) -> None:
    write(Path("mine.jsonl"), *rows("sharegpt"))
    assert run("add", "mine.jsonl", "--name", "talks").exit_code == 0
    shown = run("list")
    assert shown.exit_code == 0
    assert "talks" in shown.stdout
    assert "shipped" in shown.stdout
    listed = {each["name"]: each for each in json.loads(run("list", "--json").stdout)}
    assert listed["talks"]["formats"] == {"sharegpt": 20}
    assert (listed["talks"]["rows"], listed["talks"]["checkable"]) == (20, 0)


def test_show_prints_rows_as_they_would_be_sent(run: Run) -> None:
    write(Path("mine.jsonl"), *rows("gsm8k"))
    woven, plain = run("show", "mine.jsonl", "--rows", "2"), run("show", "mine.jsonl", "--rows", "2", "--no-weave")
    assert woven.stdout.count("user: Ticket: ") == 2
    assert "Ticket" not in plain.stdout
    assert "checked by number, the answer is '" in plain.stdout
    assert "2 of 20 rows" in plain.stdout


def test_check_exits_0_where_all_is_well_and_1_with_every_problem(run: Run) -> None:
    write(Path("good.jsonl"), *rows("mbpp"))
    good = run("check", "good.jsonl")
    assert (good.exit_code, "problems: none" in good.stdout) == (0, True)
    write(Path("bad.jsonl"), prompt(0), {"prompt": ""}, "nonsense")
    bad = run("check", "bad.jsonl")
    assert bad.exit_code == 1
    assert "  bad.jsonl, line 2: prompt: is empty\n  bad.jsonl, line 3: not JSON" in bad.stdout
    machine = run("check", "bad.jsonl", "--json")
    assert (machine.exit_code, json.loads(machine.stdout)["problem_count"]) == (1, 2)


def test_check_of_what_does_not_exist_exits_2_with_one_line() -> None:
    result = specfuzz("corpus", "check", "nowhere.jsonl")
    assert (result.status, result.out) == (2, "")
    assert result.err == "specfuzz: --corpus nowhere.jsonl: there is no such file or folder\n"


def test_add_says_what_it_wrote(run: Run) -> None:
    write(Path("mine.jsonl"), *rows("messages"), {"messages": []})
    added = run("add", "mine.jsonl", "--name", "mine", "--limit", "30", "--skip-bad", "--licence", "CC0")
    assert added.stdout.startswith(
        "corpora/mine.jsonl: 20 of 21 rows; 1 that cannot be asked left out; card corpora/mine.md"
    )
