"""Servers for the tests: raw ones, which may send any bytes at all, on a free port of the loopback."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream, Listener, SocketAttribute
from anyio.streams.tls import TLSListener


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(default_factory=dict)


Handler = Callable[[Request, ByteStream], Awaitable[None]]


@asynccontextmanager
async def serving(
    handler: Handler, tls: ssl.SSLContext | None = None, socket: Path | None = None
) -> AsyncIterator[str]:
    """Runs a handler for every request, at a Unix socket if one is named; gives the base URL."""

    async def handle(stream: ByteStream) -> None:
        try:
            async with stream:
                request = await _read(stream)
                if request is not None:
                    await handler(request, stream)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, ssl.SSLError):
            return

    failure: Exception | None = None
    async with await _listen(socket) as listener, anyio.create_task_group() as group:
        if tls is None:
            group.start_soon(listener.serve, handle)
        else:
            group.start_soon(TLSListener(listener, tls, standard_compatible=False).serve, handle)
        try:
            yield _address(listener, tls, socket)
        except Exception as error:  # noqa: BLE001  # raised below, where the task group does not wrap it
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _listen(socket: Path | None) -> Listener[Any]:
    if socket is not None:
        return await anyio.create_unix_listener(socket)
    return await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0, backlog=2048)


def _address(listener: Listener[Any], tls: ssl.SSLContext | None, socket: Path | None) -> str:
    if socket is not None:
        return f"unix://{socket}"
    port = listener.extra(SocketAttribute.local_port)  # noqa: S610  # not Django
    return f"{'https' if tls else 'http'}://127.0.0.1:{port}"


async def _read(stream: ByteStream) -> Request | None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
        if data[:1] == b"\x16":  # a TLS handshake
            await stream.send(http(status=400))
            return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += await stream.receive()
    words = first.split(" ")
    return Request(words[1], headers, json.loads(body) if body else {}) if len(words) == 3 else None


def http(body: bytes = b"", *, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    """A whole reply that ends with its connection."""
    lines = {"content-type": kind, "connection": "close"} | {k.replace("_", "-"): v for k, v in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value)
    return f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + body


def sse(*events: object, done: bool = True) -> bytes:
    """A whole event stream; bytes go in as they are, anything else as JSON."""
    parts = [event if isinstance(event, bytes) else data(event) for event in events]
    return http(b"".join(parts) + (b"data: [DONE]\n\n" if done else b""), kind="text/event-stream")


def data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def delta(content: str | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk with one choice; ``more`` goes into the choice."""
    choice = {"index": 0, "delta": {} if content is None else {"content": content}, "finish_reason": finish} | more
    return {"id": "chatcmpl-1", "model": "m", "object": "chat.completion.chunk", "choices": [choice]}


def usage(completion: object, prompt: object = 7, **more: Any) -> dict[str, Any]:
    """The usage chunk that ends a stream."""
    counts = {"prompt_tokens": prompt, "completion_tokens": completion} | more
    return {"id": "chatcmpl-1", "model": "m", "choices": [], "usage": counts}


def whole(content: object = "hello", finish: object = "stop", **more: Any) -> dict[str, Any]:
    """A reply that was not streamed."""
    message = {"role": "assistant", "content": content}
    return {
        "id": "chatcmpl-1",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    } | more


def answering(*replies: bytes) -> Handler:
    """Sends these bytes to every request, piece by piece, and hangs up."""

    async def handler(_: Request, stream: ByteStream) -> None:
        for reply in replies:
            await stream.send(reply)

    return handler


async def silent(_: Request, stream: ByteStream) -> None:
    """Takes a request and never says anything."""
    await anyio.sleep_forever()


def routing(pages: Mapping[str, bytes], otherwise: bytes = http(b'{"error": "no such page"}', status=404)) -> Handler:
    """Answers each path with its page."""

    async def handler(request: Request, stream: ByteStream) -> None:
        await stream.send(pages.get(request.path, otherwise))

    return handler


@cache
def tls_context() -> ssl.SSLContext:
    """A server's side of TLS with a certificate that nobody vouches for."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate, and is not installed")
    with tempfile.TemporaryDirectory() as folder:
        files = ["-keyout", "key.pem", "-out", "cert.pem"]
        command = ["openssl", "req", "-x509", "-days", "2", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", *files]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Path(folder) / "cert.pem", Path(folder) / "key.pem")
    return context
