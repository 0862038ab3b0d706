"""Fixtures shared by all tests."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from fuzzer.traffic.pauses import shorten_pauses


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: gates wait for their servers half of the time, and starve with two."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def anyio_backend() -> str:
    """All async tests run on asyncio, which httpx-aiohttp's transport needs."""
    return "asyncio"


@pytest.fixture
def model() -> Path:
    """The real engine's model; without the engine, or where the model cannot be had, there is nothing to test."""
    from fuzzer.errors import UnavailableError
    from fuzzer.sim.gguf_model import ensure_model

    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the extra llamacpp is not installed")
    try:
        return ensure_model(None, print)
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The real engine's tests run first and in one worker: they take longest, and must not share a core."""
    for item in items:
        if item.get_closest_marker("real_engine"):
            item.add_marker(pytest.mark.xdist_group("real-engine"))
    items.sort(key=lambda item: item.get_closest_marker("real_engine") is None)


def pytest_collection_finish() -> None:
    """Five thousand tests and their modules need not be looked through each time that garbage is collected."""
    shorten_pauses()
