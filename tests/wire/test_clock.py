from __future__ import annotations

import time

from fuzzer.wire.clock import now_ns


def test_the_clock_tells_the_time_since_the_epoch_and_never_steps_back() -> None:
    readings = [now_ns() for _ in range(1000)]
    assert readings == sorted(readings)
    assert abs(readings[0] - time.time_ns()) < 60 * 10**9
