"""How long a server has asked to be left alone (Retry-After, RFC 9110, section 10.2.3).

Nothing is sent again for it; what comes next is sent later.
"""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import anyio

MOST_SECONDS = 60.0  # of one pause
ALL_SECONDS = 600.0  # of all pauses: a server that refuses for ever must not hold a run up for ever


class Patience:
    """Adds up what one server asks for, and waits."""

    def __init__(self) -> None:
        self._until = 0.0
        self._left = ALL_SECONDS

    def ask(self, header: str) -> None:
        """Take a Retry-After header: seconds, or a date; what is neither asks for nothing."""
        seconds = _seconds(header.strip())
        if seconds is not None:
            wait = min(max(seconds, 0.0), MOST_SECONDS, self._left)
            self._until = max(self._until, time.monotonic() + wait)

    @property
    def seconds(self) -> float:
        """How much of the time is still to be waited for."""
        return max(self._until - time.monotonic(), 0.0)

    async def rest(self) -> None:
        """Wait until the server may be asked again."""
        wait = self.seconds
        if wait:
            self._left -= wait
            await anyio.sleep(wait)


def _seconds(header: str) -> float | None:
    if header.isascii() and header.isdecimal():
        return float(header) if len(header) < 10 else MOST_SECONDS
    try:
        return parsedate_to_datetime(header).timestamp() - time.time()
    except (ValueError, OverflowError, OSError):
        return None
