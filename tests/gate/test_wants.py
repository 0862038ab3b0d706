"""Prompts that ask for more than words (calls, a schema, thinking) through the gate, on a healthy simulated pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.history.journal import read_history
from fuzzer.history.records import Done
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.plan import Sampling

from .test_modes import run

pytestmark = pytest.mark.anyio

FAMILIES = ("tool-call", "schema-json", "python-function", "conversation", "thinking")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_clean_pair_passes_and_nothing_is_found(tmp_path: Path, stream: bool) -> None:
    ended = await run(tmp_path, {"families": FAMILIES, "sampling": Sampling(stream=stream)})
    assert ended.summary.verdict == "pass", ended.summary.reasons
    assert (ended.directory / FINDINGS).read_text() == ""
    replies = [record.received for record in read_history(ended.directory / HISTORY) if isinstance(record, Done)]
    assert {reply.outcome for reply in replies} == {"ok"}
    assert {reply.finish_reason for reply in replies} >= {"stop", "tool_calls"}
    assert any(reply.tool_calls for reply in replies)
    assert any(reply.reasoning for reply in replies)
