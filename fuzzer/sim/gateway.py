"""A fault gateway: stands in front of any OpenAI-compatible engine and plants a fault in chat completions.

All else passes through untouched, so a real engine with real timing, metrics and slots seems to have the bug::

    async with GatewayServer(GatewayConfig(upstream="http://127.0.0.1:8000", fault="wrong-route")) as gateway:
        ...  # talk to gateway.url

A fault that rewrites or reroutes a reply holds it back until it is complete; it then comes in the chunks that the
engine made. Spared requests stream without delay. A stale answer never reaches the engine.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.routing import Mount
from starlette.types import Receive, Scope, Send

from fuzzer.errors import UsageError
from fuzzer.sim.child import Announce, ChildServer, serve_parent
from fuzzer.sim.gateway_faults import GATEWAY_FAULTS, MANGLERS, Draw, Reply
from fuzzer.sim.gateway_relay import BROKEN, Upstream, deliver, pass_on, whole
from fuzzer.sim.listening import listen

_REMEMBERED = 64  # finished replies that a stale answer is drawn from
_BOOT_TIMEOUT = 60.0
_KEEP_ALIVE = 600  # seconds; longer than any client keeps a connection, so that none is closed under a request


@dataclass(frozen=True, slots=True)
class GatewayConfig:
    """Where to forward, and what to plant.

    ``rate`` is the share of chat requests that the fault is drawn for, from 0 to 1; None means the fault's own. A
    request is hit only while at least ``min_in_flight`` are in flight, itself included. ``wrong-route`` hits a second
    request with each one drawn. Port 0 takes any free one.
    """

    upstream: str
    fault: str = "none"
    rate: float | None = None
    seed: int = 0
    min_in_flight: int = 2
    host: str = "127.0.0.1"
    port: int = 0

    def __post_init__(self) -> None:
        if self.fault not in GATEWAY_FAULTS:
            raise UsageError(f"no fault is called {self.fault!r}; it takes one of {', '.join(GATEWAY_FAULTS)}")
        if not 0 <= self.share <= 1:
            raise UsageError(f"a rate is a share from 0 to 1, for example 0.05, not {self.share:g}")
        if not self.upstream.startswith(("http://", "https://")):
            raise UsageError(f"the upstream {self.upstream!r} is no URL; write for example http://127.0.0.1:8000")

    @property
    def share(self) -> float:
        """The rate that holds."""
        return GATEWAY_FAULTS[self.fault].rate if self.rate is None else self.rate

    @property
    def base(self) -> str:
        """The upstream's root, without a trailing ``/v1``."""
        return self.upstream.rstrip("/").removesuffix("/v1")


@dataclass(eq=False, slots=True)
class _Chat:
    """One chat completion in flight."""

    payload: dict[str, Any]
    key: bytes
    asked_at: int
    rng: random.Random | None = None
    delivering: bool = False
    seeking: bool = False
    partner: _Chat | None = None
    reply: Reply | None = None
    settled: anyio.Event = field(default_factory=anyio.Event)

    @property
    def streamed(self) -> bool:
        """Whether the reply comes in server-sent events."""
        return bool(self.payload.get("stream"))

    @property
    def question(self) -> object:
        """The content of the last user message."""
        return self.payload["messages"][self.asked_at]["content"]

    def asking(self, question: object) -> bytes:
        """This request's body with another last user message."""
        messages = list(self.payload["messages"])
        messages[self.asked_at] = {**messages[self.asked_at], "content": question}
        return json.dumps({**self.payload, "messages": messages}).encode()

    def settle(self, reply: Reply | None) -> None:
        """Tell a partner what came; the first word counts."""
        if not self.settled.is_set():
            self.reply = reply
            self.settled.set()


class _Gateway:
    """The ASGI application behind `build_app`."""

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._draw = Draw(config.seed, config.share)
        self._flying: dict[_Chat, None] = {}
        self._finished: deque[tuple[_Chat, Reply]] = deque(maxlen=_REMEMBERED)
        self._upstream = Upstream(config.base)

    @asynccontextmanager
    async def lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Hold the connections to the upstream for as long as the application runs."""
        async with self._upstream:
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            body = await request.body()
        except ClientDisconnect:
            return
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self._answer(request, body, send)
            tasks.cancel_scope.cancel()

    async def _answer(self, request: Request, body: bytes, send: Send) -> None:
        chat = _chat_of(request, body)
        try:
            if chat is None:
                await self._upstream.relay(request, body, send)
            else:
                await self._chat(request, body, chat, send)
        except BROKEN as error:
            await self._unreachable(request, error, send)

    async def _unreachable(self, request: Request, error: Exception, send: Send) -> None:
        message = f"the gateway got no reply from {self._config.base}: {error or type(error).__name__}"
        reply = JSONResponse({"error": {"message": message, "type": "upstream_unreachable", "code": 502}}, 502)
        await reply(request.scope, request.receive, send)

    async def _chat(self, request: Request, body: bytes, chat: _Chat, send: Send) -> None:
        self._flying[chat] = None
        rng = self._draw(chat.key)
        if len(self._flying) >= self._config.min_in_flight:
            chat.rng = rng
        try:
            await self._faulted(request, body, chat, send)
        finally:
            self._flying.pop(chat, None)
            chat.settle(None)

    async def _faulted(self, request: Request, body: bytes, chat: _Chat, send: Send) -> None:
        """Plant what was drawn; whatever cannot be planted now (no donor, no partner) is let pass."""
        fault, rng = self._config.fault, chat.rng
        if fault == "wrong-route":
            await self._misrouted(request, body, chat, send)
        elif fault == "stale-answer":
            await self._stale(request, body, chat, send)
        elif rng is None:
            await self._upstream.relay(request, body, send)
        elif fault == "last-message-swap":
            await self._upstream.relay(request, self._swapped(chat, rng) or body, send)
        else:
            reply = await self._upstream.collect(request, body)
            await deliver(MANGLERS[fault](reply, rng) if reply.status == 200 else reply, send)

    def _swapped(self, chat: _Chat, rng: random.Random) -> bytes | None:
        donors = [other for other in self._flying if other.question != chat.question]
        return chat.asking(rng.choice(donors).question) if donors else None

    async def _stale(self, request: Request, body: bytes, chat: _Chat, send: Send) -> None:
        donors = [reply for old, reply in self._finished if old.key != chat.key and old.streamed == chat.streamed]
        if chat.rng is not None and donors:
            identity = request.headers.get("x-request-id") or f"{chat.rng.getrandbits(96):024x}"
            return await deliver(chat.rng.choice(donors).renamed(f"chatcmpl-{identity}"), send)
        reply = await self._upstream.relay(request, body, send)
        if reply is not None and reply.status == 200:
            self._finished.append((chat, reply))
        return None

    async def _misrouted(self, request: Request, body: bytes, chat: _Chat, send: Send) -> None:
        """Pair this request with another that has delivered nothing yet, if either was drawn; then swap their replies.

        Each side reads its own upstream reply to the end before it waits for the other's, so neither can hold the other
        up for ever; a side that fails or leaves settles with nothing, and the other keeps its own reply.
        """
        self._pair(chat)
        async with self._upstream.ask(request, body) as response:
            pieces = response.aiter_raw()
            first = await anext(pieces, b"")
            if chat.partner is None and not chat.seeking:
                chat.delivering = True
                await pass_on(response, first, pieces, send)
                return
            own = whole(response, [first, *[piece async for piece in pieces]])
        chat.seeking, chat.delivering = False, True
        chat.settle(own)
        await deliver(await _partners(chat, own), send)

    def _pair(self, chat: _Chat) -> None:
        free = [
            other
            for other in self._flying
            if other.partner is None
            and not other.delivering
            and other.key != chat.key
            and other.streamed == chat.streamed
            and (other.seeking or chat.rng is not None)
        ]
        if free:
            seekers = [other for other in free if other.seeking]
            chat.partner = (chat.rng or random.Random(chat.key)).choice(seekers or free)
            chat.partner.partner = chat
        chat.seeking = chat.rng is not None and chat.partner is None


def _chat_of(request: Request, body: bytes) -> _Chat | None:
    """The chat completion that this request asks for, or None if it is anything else."""
    if request.method != "POST" or not request.url.path.endswith("/chat/completions"):
        return None
    try:
        payload = json.loads(body)
    except ValueError:
        return None
    messages = payload.get("messages") if isinstance(payload, dict) else None
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return None
    users = [index for index, m in enumerate(messages) if m.get("role") == "user" and "content" in m]
    if not users:
        return None
    return _Chat(payload, hashlib.sha256(json.dumps(messages, sort_keys=True).encode()).digest(), users[-1])


async def _partners(chat: _Chat, own: Reply) -> Reply:
    """What this client gets: the partner's reply if both came whole, else its own."""
    if chat.partner is None:
        return own
    await chat.partner.settled.wait()
    other = chat.partner.reply
    return own if other is None or {own.status, other.status} != {200} else other.addressed_like(own)


def build_app(config: GatewayConfig) -> Starlette:
    """The gateway as an ASGI application; it needs a server that runs the lifespan protocol."""
    gateway = _Gateway(config)
    return Starlette(routes=[Mount("/", app=gateway)], lifespan=gateway.lifespan)


def serve(config: GatewayConfig, announce: Announce) -> None:
    """Serve until interrupted; ``announce`` is told the address as soon as connections are taken."""
    listener, url = listen(config.host, config.port)
    announce(url)
    options = uvicorn.Config(
        build_app(config),
        ws="none",
        lifespan="on",
        log_level="critical",
        date_header=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
    )
    with listener:
        uvicorn.Server(options).run(sockets=[listener])


class GatewayServer(ChildServer):
    """A gateway in a child process; an async context manager with the address in ``url``."""

    def __init__(self, config: GatewayConfig) -> None:
        super().__init__("fuzzer.sim.gateway", json.dumps(asdict(config)), boot_timeout=_BOOT_TIMEOUT)


def main() -> None:
    """Run a gateway for a parent process."""
    serve_parent(lambda told, announce: serve(GatewayConfig(**json.loads(told)), announce))


if __name__ == "__main__":
    main()
