"""When exactly a request leaves, and when it is broken off: the moments of an exchange that a schedule cares about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field

import aiohttp

from fuzzer.wire.clock import now_ns

_WRITERS = ("write", "writelines")


@dataclass(slots=True)
class Pace:
    """One request's moments.

    A request to ``hold`` is made ready, connection and all, and leaves when :meth:`release` is called; ``ready`` is
    called once it only waits for that. ``left`` is called right after a request was written. The exchange is broken
    off ``cancel_ms`` milliseconds after that, or when so many tokens (chunks, where tokens are not told apart) have
    come; the connection is closed then. ``written_ns`` and ``reused`` (the connection had served another request) are
    filled in on the way.
    """

    hold: bool = False
    ready: Callable[[], None] | None = None
    left: Callable[[], None] | None = None
    cancel_ms: float | None = None
    cancel_tokens: int | None = None
    written_ns: int | None = field(default=None, init=False)
    reused: bool = field(default=False, init=False)
    on_written: list[Callable[[], None]] = field(default_factory=list, init=False)
    _held: _Held | None = field(default=None, init=False)

    def release(self) -> None:
        """Let a request that is held leave now, or as soon as its connection stands."""
        self.hold = False
        if self._held is not None:
            self._held.let_go()
            self.wrote()

    def wrote(self) -> None:
        """The request was written, or stands ready to be."""
        if self.hold:
            if self.ready is not None:
                self.ready()
        elif self.written_ns is None:
            self.written_ns = now_ns()
            for call in (*self.on_written, *((self.left,) if self.left else ())):
                call()

    def take(self, transport: asyncio.Transport) -> None:
        """The connection stands: what is written to it is kept back, if the request is to be held."""
        if self.hold:
            self._held = _Held(transport)


class _Held:
    """Keeps back what is written to a connection, so that a ready request costs one system call to send."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._pieces: list[bytes] = []
        setattr(transport, "write", self._keep)  # noqa: B010  # a method of this one object is put aside
        setattr(transport, "writelines", self._keep_all)  # noqa: B010  # as above

    def let_go(self) -> None:
        """Write all at once; from here on the connection is like any other."""
        for name in _WRITERS:
            if name in vars(self._transport):
                delattr(self._transport, name)
        if self._pieces and not self._transport.is_closing():
            self._transport.write(b"".join(self._pieces))
        self._pieces.clear()

    def _keep(self, data: bytes) -> None:
        self._pieces.append(bytes(data))

    def _keep_all(self, pieces: Iterable[bytes]) -> None:
        self._pieces.extend(map(bytes, pieces))


_CURRENT: ContextVar[Pace | None] = ContextVar("specfuzz_pace", default=None)


def begin(pace: Pace) -> None:
    """What this task asks from here on goes by this pace."""
    _CURRENT.set(pace)


class _Paced(aiohttp.BaseConnector):
    """Opens connections at the pace of the task that asks."""

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[aiohttp.tracing.Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109  # aiohttp's own
    ) -> aiohttp.connector.Connection:
        """A connection that is held if the request is."""
        connection = await super().connect(req, traces, timeout)
        pace = _CURRENT.get()
        if pace is not None and connection.transport is not None:
            pace.take(connection.transport)
        return connection


class Connector(_Paced, aiohttp.TCPConnector):
    """Opens TCP connections at the pace of the task that asks."""


class SocketConnector(_Paced, aiohttp.UnixConnector):
    """Opens connections to a Unix socket at the pace of the task that asks."""


def tracing() -> aiohttp.TraceConfig:
    """The hooks by which an HTTP session tells what becomes of a request."""
    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(_reused)
    config.on_request_chunk_sent.append(_written)
    return config


async def _reused(_: aiohttp.ClientSession, __: object, ___: object) -> None:
    pace = _CURRENT.get()
    if pace is not None:
        pace.reused = True


async def _written(_: aiohttp.ClientSession, __: object, ___: object) -> None:
    pace = _CURRENT.get()
    if pace is not None:
        pace.wrote()
