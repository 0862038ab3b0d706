"""When exactly a request leaves, and when it is broken off: the moments of an exchange that a schedule cares about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

import aiohttp

from fuzzer.wire.clock import now_ns


@dataclass(slots=True)
class Pace:
    """One request's moments.

    ``go`` is awaited once the connection stands, and the request leaves when it returns. ``left`` is called right
    after the request was written. The exchange is broken off ``cancel_ms`` milliseconds after that, or when so many
    tokens (chunks, where tokens are not told apart) have come; the connection is closed then. ``written_ns`` and
    ``reused`` (the connection had served another request) are filled in on the way.
    """

    go: Callable[[], Awaitable[None]] | None = None
    left: Callable[[], None] | None = None
    cancel_ms: float | None = None
    cancel_tokens: int | None = None
    written_ns: int | None = field(default=None, init=False)
    reused: bool = field(default=False, init=False)
    on_written: list[Callable[[], None]] = field(default_factory=list, init=False)

    def _wrote(self) -> None:
        if self.written_ns is None:
            self.written_ns = now_ns()
            for call in (*self.on_written, *((self.left,) if self.left else ())):
                call()


_CURRENT: ContextVar[Pace | None] = ContextVar("specfuzz_pace", default=None)


def begin(pace: Pace) -> None:
    """What this task asks from here on goes by this pace."""
    _CURRENT.set(pace)


def tracing() -> aiohttp.TraceConfig:
    """The hooks by which an HTTP session keeps to the pace of the task that asks."""
    config = aiohttp.TraceConfig()
    config.on_connection_create_end.append(_connected)
    config.on_connection_reuseconn.append(_reused)
    config.on_request_chunk_sent.append(_written)
    return config


async def _connected(_: aiohttp.ClientSession, __: object, ___: object) -> None:
    pace = _CURRENT.get()
    if pace is not None and pace.go is not None:
        await pace.go()


async def _reused(session: aiohttp.ClientSession, context: object, params: object) -> None:
    pace = _CURRENT.get()
    if pace is not None:
        pace.reused = True
    await _connected(session, context, params)


async def _written(_: aiohttp.ClientSession, __: object, ___: object) -> None:
    pace = _CURRENT.get()
    if pace is not None:
        pace._wrote()
