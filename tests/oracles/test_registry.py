from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from fuzzer.finding import Kind
from fuzzer.history.records import Exchange
from fuzzer.oracles import ORACLES
from tests.oracles.factory import World, exchange, prompt

KNOWN = (prompt("p", answer="Copperfield Larkwood"), prompt("q", answer="Silverbrook Hazelgate"))


def test_there_is_one_oracle_for_every_kind_of_finding() -> None:
    assert sorted(ORACLES) == sorted(get_args(Kind))
    assert all(name == oracle.name and oracle.summary for name, oracle in ORACLES.items())


@pytest.mark.parametrize(
    "batch",
    [
        (),
        (exchange("p", lost=True), exchange("q", lost=True, arm="reference")),
        (exchange("unheard-of", "anything"),),
        (
            exchange("p", "Copperfield Larkwood", ids=[1, 2], completion=3),
            exchange("q", "Silverbrook Hazelgate", index=1),
            exchange("p", "Copperfield Larkwood", ids=[1, 2], completion=3, arm="reference"),
            exchange("q", "It is Silverbrook Hazelgate.", index=1, arm="reference"),
            exchange("p", "Copperfield Larkwood", phase="calibration", arm="reference"),
        ),
    ],
    ids=["empty", "lost", "unknown prompt", "clean"],
)
def test_no_oracle_speaks_without_a_fault(batch: tuple[Exchange, ...]) -> None:
    world = World(KNOWN, batch)
    context = world.context()
    assert [finding for oracle in ORACLES.values() for finding in oracle.judge(world.batch, context)] == []


def test_reporters_that_import_findings_load_no_oracle() -> None:
    code = "import sys, fuzzer.finding; sys.exit('fuzzer.oracles.bleed' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=root).returncode == 0
