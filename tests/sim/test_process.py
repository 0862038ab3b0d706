from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

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

serve(SimConfig(faults={"hang": 1.0}), lambda url: print(url, flush=True))
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


async def test_a_taken_port_is_reported() -> None:
    async with SimServer(SimConfig()) as first:
        port = int(first.url.rpartition(":")[2])
        with pytest.raises(UnavailableError, match="did not start") as failure:
            await SimServer(SimConfig(port=port)).__aenter__()
    assert str(failure.value).splitlines()[1].strip().startswith(f"cannot listen on 127.0.0.1 port {port}")


async def test_no_orphan_is_left_when_the_parent_is_killed() -> None:
    async with await anyio.open_process([sys.executable, "-c", PARENT]) as parent:
        assert parent.stdout is not None
        child = int(await parent.stdout.receive())
        parent.kill()
        with anyio.fail_after(30):
            await gone(child)


@pytest.mark.parametrize("in_flight", [0, 1])
async def test_an_interrupt_ends_a_server_cleanly(in_flight: int) -> None:
    async with await anyio.open_process([sys.executable, "-c", ALONE]) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        url = (await server.stdout.receive()).decode().strip()
        async with httpx.AsyncClient(base_url=url) as http, anyio.create_task_group() as tasks:
            for _ in range(in_flight):
                tasks.start_soon(_hang, http)
                await _running(http)
            server.send_signal(signal.SIGINT)
            with anyio.fail_after(30):
                assert await server.wait() == 0
        assert [chunk async for chunk in server.stderr] == []


async def _hang(http: httpx.AsyncClient) -> None:
    with suppress(httpx.TransportError):
        await http.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "hello"}]}, timeout=60)


async def _running(http: httpx.AsyncClient) -> None:
    while "} 1.0" not in (await http.get("/metrics")).text:  # noqa: ASYNC110  (only its own metrics tell)
        await anyio.sleep(0.005)


async def test_a_running_child_takes_another_configuration_at_the_same_address() -> None:
    async with SimServer(SimConfig(speculative=True, model="one")) as server:
        url, pid = server.url, server.pid
        async with httpx.AsyncClient(base_url=url) as http:
            await http.post("/v1/chat/completions", json={"messages": [{"role": "user", "content": "one two"}]})
            before = (await http.get("/metrics")).text
            await server.relaunch(SimConfig(model="two"))
            after = (await http.get("/metrics")).text
            assert (await http.get("/v1/models")).json()["data"][0]["id"] == "two"
        assert (server.url, server.pid) == (url, pid)
        assert "spec_decode" in before
        assert "spec_decode" not in after
        assert 'vllm:prompt_tokens_total{engine="0",model_name="two"} 0.0' in after


async def test_a_configuration_that_cannot_be_served_ends_the_child() -> None:
    async with SimServer(SimConfig()) as server:
        with pytest.raises(UnavailableError, match="new configuration"):
            await server.tell('{"k": 0}')
