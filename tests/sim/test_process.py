from __future__ import annotations

import os
import signal
import sys

import anyio
import httpx
import pytest

from fuzzer.errors import UnavailableError
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

pytestmark = pytest.mark.anyio

PARENT = """
import asyncio
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

async def main():
    async with SimServer(SimConfig(faults={"hang": 1.0})) as server:
        print(server.pid, flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""

ALONE = """
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serve

serve(SimConfig(), lambda url: print(url, flush=True))
"""


async def gone(pid: int) -> None:
    """Wait until no such process runs (a zombie that nobody reaped counts as gone)."""
    while os.path.exists(f"/proc/{pid}") and _state(pid) != "Z":  # noqa: ASYNC110, ASYNC240
        await anyio.sleep(0.01)


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


async def test_a_child_serves_and_ends_with_its_context() -> None:
    async with SimServer(SimConfig(speculative=True, api_key="sesame")) as server:
        async with httpx.AsyncClient(base_url=server.url) as http:
            assert (await http.get("/health")).status_code == 200
            assert (await http.get("/v1/models")).status_code == 401
        pid = server.pid
        assert pid is not None
    assert server.pid is None
    with anyio.fail_after(30):
        await gone(pid)


async def test_a_taken_port_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    async with SimServer(SimConfig()) as first:
        port = int(first.url.rpartition(":")[2])
        with pytest.raises(UnavailableError, match="did not start"):
            await SimServer(SimConfig(port=port)).__aenter__()
    assert capfd.readouterr().err.startswith(f"cannot listen on 127.0.0.1 port {port}")


async def test_no_orphan_is_left_when_the_parent_is_killed() -> None:
    async with await anyio.open_process([sys.executable, "-c", PARENT]) as parent:
        assert parent.stdout is not None
        child = int(await parent.stdout.receive())
        parent.kill()
        with anyio.fail_after(30):
            await gone(child)


async def test_an_interrupt_ends_a_server_cleanly() -> None:
    async with await anyio.open_process([sys.executable, "-c", ALONE]) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        assert (await server.stdout.receive()).startswith(b"http://127.0.0.1:")
        server.send_signal(signal.SIGINT)
        with anyio.fail_after(30):
            assert await server.wait() == 0
        assert [chunk async for chunk in server.stderr] == []
