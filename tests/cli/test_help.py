"""The help reads well and loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import specfuzz

HEAVY = (
    "scipy",
    "datasets",
    "pandas",
    "pyarrow",
    "httpx",
    "aiohttp",
    "hypothesis",
    "starlette",
    "uvicorn",
    "rapidfuzz",
)


def test_help_imports_nothing_heavy() -> None:
    """``specfuzz --help`` is promised in half a second: what costs seconds must not be loaded for it."""
    code = (
        "import sys\nfrom fuzzer.cli import main\nsys.argv = ['specfuzz', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"loaded = [name for name in {HEAVY!r} if name in sys.modules]\nassert not loaded, loaded\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("name", ["gate", "demo", "resume", "judge", "report", "serve-sim", "gateway"])
def test_every_command_explains_itself(name: str) -> None:
    assert name in specfuzz("--help").out
    result = specfuzz(name, "--help")
    assert result.status == 0
    assert "Usage: " in result.out


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("families", "last-message-wins"),
        ("oracles", "bleed"),
        ("schedules", "burst-solo"),
        ("faults", "last-message-swap"),
    ],
)
def test_the_lists_name_what_there_is(name: str, shown: str) -> None:
    result = specfuzz(name)
    assert result.status == 0
    assert shown in result.out
