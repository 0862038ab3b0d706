"""A run whose history cannot be read: the refusal keeps no lock, so that what is mended can be resumed at once."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from fuzzer.errors import HistoryError
from fuzzer.manifest import HISTORY
from fuzzer.plan import Endpoint, Plan
from fuzzer.run import Run, gate, go_on

NOBODY = Plan(candidates=(Endpoint(name="candidate", url="http://127.0.0.1:9"),))


def test_a_damaged_history_is_refused_twice_for_the_same_reason(tmp_path: Path) -> None:
    async def stopped() -> Run:
        return await gate(NOBODY, out=tmp_path)

    async def resumed() -> Run:
        return await go_on(run.directory)

    run = anyio.run(stopped)
    assert run.summary.verdict == "unavailable"
    history = run.directory / HISTORY
    whole = history.read_bytes()
    history.write_bytes(whole + b"no record\n")
    for _ in range(2):
        with pytest.raises(HistoryError, match=r"history.jsonl.*line 2"):
            anyio.run(resumed)
    history.write_bytes(whole)
    assert anyio.run(resumed).summary.verdict == "unavailable"
