"""``specfuzz init`` writes a file that the gate takes, and that names every option there is."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from fuzzer.cli.init import STARTER, init
from fuzzer.errors import UsageError
from fuzzer.options import KEYS, SOAK, build_plan, read_config
from fuzzer.soak.options import KEYS as SOAK_KEYS
from fuzzer.soak.options import build_settings

_COMMENTED = re.compile(r"^# ([a-z0-9_-]+ = .*)$", re.MULTILINE)


def test_it_is_taken_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "specfuzz.toml"
    init(file, force=False)
    plan = build_plan({}, read_config(file))
    assert [end.url for end in (*plan.candidates, *plan.references)] == [
        "http://127.0.0.1:8001",
        "http://127.0.0.1:8000",
    ]
    assert plan == build_plan({"candidate": "http://127.0.0.1:8001", "reference": "http://127.0.0.1:8000"})


def test_every_option_is_in_it_and_none_besides(tmp_path: Path) -> None:
    file = tmp_path / "all.toml"
    (tmp_path / "waivers.toml").write_text('[[waiver]]\nkey = "k"\nreason = "r"\nexpires = 2030-01-31\n')
    text = _COMMENTED.sub(r"\1", STARTER).replace("waivers.toml", str(tmp_path / "waivers.toml"))
    file.write_text(text)
    table = tomllib.loads(text)
    assert {key.replace("-", "_") for key in table} == {*KEYS, SOAK}
    assert {key.replace("-", "_") for key in table[SOAK]} == set(SOAK_KEYS)
    plan = build_plan({}, read_config(file))
    settings, telling = build_settings({}, read_config(file))
    assert (settings.seconds, settings.max_disk, settings.stop_on_fail) == (28800, 20 * 1024**3, True)
    assert (telling.metrics_port, telling.webhook) == (9464, "env:SPECFUZZ_WEBHOOK")
    assert plan.candidates[0].headers == {"X-Team": "serving"}
    assert plan.candidates[0].engine == "vllm"


def test_a_file_that_is_there_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "specfuzz.toml"
    file.write_text("mine")
    with pytest.raises(UsageError, match="--force"):
        init(file, force=False)
    assert file.read_text() == "mine"
    init(file, force=True)
    assert file.read_text() == STARTER
    with pytest.raises(UsageError, match="cannot write"):
        init(tmp_path / "none" / "specfuzz.toml", force=False)
