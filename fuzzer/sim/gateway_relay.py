"""The plain proxy under the fault gateway: ask the upstream, pass on what comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import anyio
import httpx
from httpx_aiohttp import AiohttpTransport
from starlette.requests import Request
from starlette.types import Send

from fuzzer.sim.gateway_faults import Reply, split_events

BROKEN = (httpx.TransportError, aiohttp.ClientError)  # what a missing or failing upstream raises

_CONNECT_TIMEOUT = 10.0
_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
_NOT_FORWARDED = _HOP_BY_HOP | {b"host", b"content-length", b"accept-encoding"}


class Upstream:
    """The engine behind the gateway; an async context manager that holds its connections."""

    def __init__(self, base: str) -> None:
        self._base = base

    async def __aenter__(self) -> None:
        self._transport = AiohttpTransport(client=_session)

    async def __aexit__(self, *_: object) -> None:
        await self._transport.aclose()

    @asynccontextmanager
    async def ask(self, request: Request, body: bytes) -> AsyncIterator[httpx.Response]:
        """The upstream's response, its body still to come; leaving early cancels it. Raises one of `BROKEN`."""
        response = await self._transport.handle_async_request(self._outgoing(request, body))
        try:
            yield response
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def relay(self, request: Request, body: bytes, send: Send) -> Reply | None:
        """Forward, and pass on as it comes; returns the reply if it came whole."""
        async with self.ask(request, body) as response:
            return await pass_on(response, b"", response.aiter_raw(), send)

    async def collect(self, request: Request, body: bytes) -> Reply:
        """Forward, and hold the whole reply back."""
        async with self.ask(request, body) as response:
            return whole(response, [piece async for piece in response.aiter_raw()])

    def _outgoing(self, request: Request, body: bytes) -> httpx.Request:
        query = request.scope["query_string"]
        path = request.scope["raw_path"].decode("ascii") + (f"?{query.decode('ascii')}" if query else "")
        headers = [(name, value) for name, value in request.headers.raw if name.lower() not in _NOT_FORWARDED]
        return httpx.Request(
            request.method,
            self._base + path,
            headers=[*headers, (b"accept-encoding", b"identity")],
            content=body,
            extensions={"timeout": {"connect": _CONNECT_TIMEOUT}},
        )


def _session() -> aiohttp.ClientSession:
    """No kept connections (one may close just as a request goes out, which looks like a fault) and no cookies."""
    connector = aiohttp.TCPConnector(limit=0, force_close=True, ssl=httpx.create_ssl_context())
    return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())


def whole(response: httpx.Response, pieces: list[bytes]) -> Reply:
    """The reply that came in these pieces."""
    body = b"".join(pieces)
    streamed = response.headers.get("content-type", "").startswith("text/event-stream")
    return Reply(response.status_code, _headers(response), split_events(body) if streamed else (body,))


def _headers(response: httpx.Response) -> tuple[tuple[bytes, bytes], ...]:
    return tuple((name.lower(), value) for name, value in response.headers.raw if name.lower() not in _HOP_BY_HOP)


async def pass_on(response: httpx.Response, first: bytes, rest: AsyncIterator[bytes], send: Send) -> Reply | None:
    """Send each piece as it comes; a reply that breaks off is broken off here too, and returned as None."""
    await send({"type": "http.response.start", "status": response.status_code, "headers": _headers(response)})
    pieces = [first]
    try:
        await send({"type": "http.response.body", "body": first, "more_body": True})
        async for piece in rest:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            pieces.append(piece)
    except BROKEN:
        return None
    await send({"type": "http.response.body", "body": b""})
    return whole(response, pieces)


async def deliver(reply: Reply, send: Send) -> None:
    """Send a reply that is held in memory, part by part."""
    length = str(sum(map(len, reply.parts))).encode()
    headers = [(name, length if name == b"content-length" else value) for name, value in reply.headers]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    for part in reply.parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
