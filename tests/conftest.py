"""Fixtures shared by all tests."""

from __future__ import annotations

import os

import pytest


def pytest_xdist_auto_num_workers() -> int:
    """One worker more than there are cores: a gate waits for its servers half of the time."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture
def anyio_backend() -> str:
    """All async tests run on asyncio, which httpx-aiohttp's transport needs."""
    return "asyncio"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The real engine's tests run first and in one worker: they take longest, and must not share a core."""
    for item in items:
        if item.get_closest_marker("real_engine"):
            item.add_marker(pytest.mark.xdist_group("real-engine"))
    items.sort(key=lambda item: item.get_closest_marker("real_engine") is None)
