"""A server's reply is untrusted: whatever it sends, the run goes on and every file and screen stays clean."""

from __future__ import annotations

import itertools
import json
import re
import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path

import httpx
import pytest
from anyio.abc import ByteStream

from fuzzer.history.journal import read_history
from fuzzer.manifest import FINDINGS, HISTORY
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.report.console import Console
from fuzzer.report.files import load_summary, write_reports
from fuzzer.run import gate
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving as simulated
from tests.wire.servers import Handler, Request, data, delta, http, serving, sse

pytestmark = pytest.mark.anyio

NASTY = "\x1b[2J\x1b]0;owned\x07<script>alert(1)</script> | ` @everyone [x](http://evil) \x00\x9b31m\u202e ```"
DEEP = b'{"choices":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
LINE = b"data: " + b"x" * (1024 * 1024)

REPLIES = {
    "escapes": sse(delta(NASTY), delta(None, finish="stop")),
    "escapes in reasoning": sse(data({**delta("ok"), "choices": [{"index": 0, "delta": {"reasoning": NASTY}}]})),
    "error in stream": sse({"error": {"message": NASTY}}),
    "html": http(b"<html><script>alert(1)</script>" + NASTY.encode() + b"</html>", kind="text/html", status=502),
    "deep": http(DEEP),
    "bad json": http(b'{"choices": [' + NASTY.encode()),
    "wrong types": http(json.dumps({"choices": {"message": 7}, "usage": "many", "id": NASTY}).encode()),
    "empty": http(b""),
    "half": sse(delta("half"), done=False),
    "huge numbers": sse(delta("1"), data({"choices": [], "usage": {"completion_tokens": 10**400}})),
}


def hostile(upstream: str) -> Handler:
    """Every other chat completion is answered with something nasty, the rest by a healthy engine."""
    turns = itertools.cycle([None, *itertools.chain.from_iterable((reply, None) for reply in REPLIES.values()), LINE])

    async def handler(request: Request, stream: ByteStream) -> None:
        reply = next(turns) if request.path == "/v1/chat/completions" else None
        if reply is LINE:
            await stream.send(http(b"", kind="text/event-stream"))
            for _ in range(50):
                await stream.send(LINE)
        elif reply is not None:
            await stream.send(reply)
        else:
            await _forward(upstream, request, stream)

    return handler


async def _forward(upstream: str, request: Request, stream: ByteStream) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        if request.body:
            answer = await client.post(upstream + request.path, json=request.body)
        else:
            answer = await client.get(upstream + request.path)
    kind = answer.headers.get("content-type", "text/plain")
    await stream.send(http(answer.content, status=answer.status_code, kind=kind))


async def test_the_run_goes_on_and_everything_stays_clean(tmp_path: Path) -> None:
    screen = StringIO()
    async with (
        simulated(SimConfig(speculative=True)) as upstream,
        simulated(SimConfig()) as reference,
        serving(hostile(upstream)) as candidate,
    ):
        plan = Plan(
            candidates=(Endpoint(name="candidate", url=candidate),),
            references=(Endpoint(name="reference", url=reference),),
            concurrency=(1, 4),
            schedules=("closed-loop",),
            sampling=Sampling(timeout=20),
            policy=Policy(requests=24, control_requests=8),
        )
        with Console(out=screen, err=StringIO()) as console:
            run = await gate(plan, out=tmp_path, listeners=[console])
        write_reports(run.directory, run.summary)

    assert run.summary.verdict == "fail"
    assert {"service"} <= {group.kind for group in run.summary.findings}
    seen = {kind for cell in run.summary.cells for kind in cell.arms["candidate"].error}
    assert {"bad-json", "too-large", "server-error", "empty-body", "truncated-stream"} <= seen
    assert sum(record.type == "done" for record in read_history(run.directory / HISTORY)) == run.summary.exchanges
    for line in (run.directory / FINDINGS).read_text(encoding="utf-8").splitlines():
        json.loads(line)
    assert load_summary(run.directory) == run.summary
    ET.parse(run.directory / "junit.xml")  # noqa: S314 - our own file
    markdown = (run.directory / "report.md").read_text(encoding="utf-8")
    for text in (screen.getvalue(), markdown):
        assert not any(character in text for character in "\x1b\x00\x07\x9b\u202e")
    assert "<script>" not in re.sub(r"(`+)[^\n]*?\1", "", markdown)  # inside a code span it is text
