"""The clock of the history: nanoseconds since the Unix epoch that never step backwards inside a process."""

from __future__ import annotations

import time

_ANCHOR_NS = time.time_ns() - time.monotonic_ns()


def now_ns() -> int:
    """Nanoseconds since the Unix epoch, from the monotonic clock, anchored to the wall clock once per process."""
    return _ANCHOR_NS + time.monotonic_ns()
