"""What Retry-After asks for, and how much of it is granted."""

from __future__ import annotations

import time
from email.utils import formatdate

import anyio
import pytest

from fuzzer.wire.patience import ALL_SECONDS, MOST_SECONDS, Patience

pytestmark = pytest.mark.anyio


def test_seconds_and_dates_are_understood() -> None:
    for header in ("40", " 40 ", formatdate(time.time() + 41, usegmt=True)):
        patience = Patience()
        patience.ask(header)
        assert 0 < patience.seconds <= 41


@pytest.mark.parametrize("header", ["", "soon", "-5", "1e9", "٣", formatdate(0, usegmt=True), "Thu, 99 Foo 2026"])
def test_what_asks_for_nothing_is_waited_for_no_time(header: str) -> None:
    patience = Patience()
    patience.ask(header)
    assert patience.seconds == 0


@pytest.mark.parametrize("header", ["9999", "9" * 400, formatdate(4e9, usegmt=True)], ids=["long", "absurd", "date"])
async def test_no_pause_is_endless_and_neither_are_all_of_them(header: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(anyio, "sleep", sleep)
    patience = Patience()
    for _ in range(3 * int(ALL_SECONDS / MOST_SECONDS)):
        patience.ask(header)
        await patience.rest()
        patience._until = 0.0  # that time has gone by
    assert max(waited) <= MOST_SECONDS
    assert sum(waited) <= ALL_SECONDS + 1
