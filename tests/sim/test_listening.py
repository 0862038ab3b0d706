from __future__ import annotations

import asyncio
import socket

import pytest

from fuzzer.errors import UsageError
from fuzzer.sim.listening import listen


@pytest.mark.anyio
async def test_accepted_connections_send_without_delay() -> None:
    without_delay: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def accepted(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        without_delay.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    listener, url = listen("127.0.0.1", 0)
    async with await asyncio.start_server(accepted, sock=listener):
        _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        assert await without_delay
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize(("host", "shown"), [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_url_leads_to_the_socket(host: str, shown: str) -> None:
    try:
        listener, url = listen(host, 0)
    except UsageError:
        pytest.skip(f"this machine has no {host}")
    with listener, socket.create_connection((host, int(url.rpartition(":")[2]))):
        assert url == f"http://{shown}:{listener.getsockname()[1]}"


def test_a_taken_port_says_what_to_do() -> None:
    taken, url = listen("127.0.0.1", 0)
    port = url.rpartition(":")[2]
    with taken, pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1 port {port}: .*; port 0 takes a free one"):
        listen("127.0.0.1", int(port))


def test_a_host_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="cannot listen on ::::1 port 0"):
        listen("::::1", 0)
