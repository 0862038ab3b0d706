"""``specfuzz prune``: what it says, and mistakes in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fuzzer.cli.app import app
from tests.cli.conftest import specfuzz
from tests.report import factory
from tests.trend.factory import write_gate, write_unended


def test_it_says_what_goes_what_stays_and_how_much_that_frees(tmp_path: Path) -> None:
    write_gate(tmp_path, factory.failing(), run_id="gate-bad", started="2020-01-01T00:00:00+00:00")
    write_gate(tmp_path, factory.passing(), run_id="gate-old", started="2020-01-01T00:00:00+00:00")
    write_unended(tmp_path, "gate-today")
    (tmp_path / "gate-odd").mkdir()
    (tmp_path / "gate-odd" / "run.json").write_text("{", encoding="utf-8")
    would = CliRunner().invoke(app, ["prune", str(tmp_path), "--keep", "30d", "--dry-run"])
    assert would.exit_code == 0
    assert (tmp_path / "gate-old").is_dir()
    result = specfuzz("prune", str(tmp_path), "--keep", "30d")
    assert (result.status, result.err) == (0, "")
    lines = result.out.splitlines()
    assert [line.partition(" (")[0] for line in lines[:2]] == ["removed gate-bad", "removed gate-old"]
    assert lines[0].endswith("; kept: its bundles and what explains them")
    assert lines[2].startswith("kept gate-odd: cannot be read")
    assert lines[3].startswith("removed 2 runs, freed ")
    assert would.stdout.replace("would remove", "removed").replace("would free", "freed").splitlines() == lines
    assert not (tmp_path / "gate-old").exists()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "prune: say how long runs are kept, for example: specfuzz prune --keep 30d"),
        (["--keep", "30"], "--keep: '30' is not understood"),
        (["nowhere", "--keep", "30d"], "nowhere: no folder of reports here"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(app, ["prune", *arguments])
    assert getattr(result.exception, "exit_status", None) == 2
    assert why in str(result.exception)
