"""Fixtures shared by all tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """All async tests run on asyncio, which httpx-aiohttp's transport needs."""
    return "asyncio"
