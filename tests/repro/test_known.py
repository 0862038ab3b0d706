"""What a list of runs' findings says of those that no bundle was written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import HistoryError
from fuzzer.finding import Finding
from fuzzer.manifest import FINDINGS, new_manifest, write_manifest
from fuzzer.plan import Endpoint, Plan
from fuzzer.repro.known import known
from fuzzer.repro.shown import groups
from tests.repro.factory import bundle


def _lines(run: Path, *findings: Finding) -> str:
    plan = Plan(candidates=(Endpoint(name="candidate", url="http://127.0.0.1:9"),))
    write_manifest(run, new_manifest(plan, "r"))
    (run / FINDINGS).write_text("".join(f"{one.model_dump_json()}\n" for one in findings), encoding="utf-8")
    return "\n".join(groups(known([run])))


def test_what_only_counters_or_neighbours_show_has_no_bundle_and_says_so(tmp_path: Path) -> None:
    single = bundle().finding
    counted = single.model_copy(update={"exchange": None})
    beside = single.model_copy(update={"phase": "neighbour"})
    assert "no bundle: counts of the whole cell show it" in _lines(tmp_path, counted)
    assert "no bundle: it shows in a neighbour's request" in _lines(tmp_path, beside, beside)
    assert "no bundle" not in _lines(tmp_path, counted, single)  # one of them could have had one


def test_directories_without_a_run_are_passed_over_and_nothing_but_those_is_a_mistake(tmp_path: Path) -> None:
    for name in ("run", "power"):
        (tmp_path / name).mkdir()
    _lines(tmp_path / "run", bundle().finding)
    (row,) = known([tmp_path / "power", tmp_path / "run"])
    assert (row.runs, row.looked) == (1, 1)
    with pytest.raises(HistoryError, match="no run here"):
        known([tmp_path / "power"])
