"""``specfuzz trend``: exit status, JSON, page, and mistakes in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fuzzer.cli.app import app
from tests.cli.conftest import specfuzz
from tests.trend.factory import Counts, found, soak, write_soak


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    for number in range(3):
        write_soak(tmp_path / "reports", soak(number, [Counts(0, 5000)]))
    return tmp_path / "reports"


def test_a_flagged_night_ends_with_1_and_names_the_cell(reports: Path) -> None:
    write_soak(reports, soak(3, [Counts(12, 5000)], [found()], verdict="fail"))
    result = specfuzz("trend", str(reports), "--html", str(reports / "trend.html"))
    assert (result.status, result.err) == (1, "")
    assert result.out.startswith("FLAGGED: 2026-10-04 02:00 (soak, soak-003): 1 cell and 1 new certain finding")
    assert "candidate/bf16/c8/closed-loop: 0.24 % (12/5000" in result.out
    assert "FLAGGED" in (reports / "trend.html").read_text(encoding="utf-8")


def test_json_is_all_of_it_and_nothing_else(reports: Path) -> None:
    result = CliRunner().invoke(app, ["trend", str(reports), "--json", "--last", "1"])
    told = json.loads(result.stdout)
    assert (result.exit_code, told["exit_status"], told["standing"]) == (0, 0, "not flagged")
    assert [night["run_id"] for night in told["nights"]] == ["soak-002"]
    assert [point["before_n"] for series in told["series"] for point in series["points"]] == [10_000]


def test_too_little_ends_with_3(tmp_path: Path) -> None:
    assert CliRunner().invoke(app, ["trend", str(tmp_path)]).exit_code == 3


def test_a_deleted_run_leaves_the_trend_only_when_the_index_is_made_anew(reports: Path) -> None:
    shown = ["trend", str(reports), "--json"]
    CliRunner().invoke(app, shown)
    (reports / "soak-000" / "night.json").rename(reports / "elsewhere.json")
    (reports / "soak-000").rename(reports.parent / "soak-000")
    for arguments, nights in ((shown, 3), ([*shown, "--rebuild"], 2), (shown, 2)):
        assert len(json.loads(CliRunner().invoke(app, arguments).stdout)["nights"]) == nights


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["nowhere"], "nowhere: no folder of reports here"),
        (["reports", "--last", "0"], "--last: 0 nights cannot be shown"),
        (["reports", "--candidate", "nobody"], "has a candidate called 'nobody'"),
        (["reports", "--html", "reports"], "--html: cannot write reports"),
        (["reports/soak-000"], "is a run itself; name the folder that holds it: reports"),
    ],
)
def test_mistakes_are_told_in_one_line(
    reports: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], why: str
) -> None:
    monkeypatch.chdir(reports.parent)
    result = CliRunner().invoke(app, ["trend", *arguments])
    assert getattr(result.exception, "exit_status", None) == 2
    assert why in str(result.exception)
