"""The HTTP surface of the simulated engine: OpenAI-compatible, in vLLM's words."""

from __future__ import annotations

import asyncio
import socket
import time
import uuid
from collections.abc import AsyncIterator, Callable, Generator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fuzzer.sim.config import SimConfig
from fuzzer.sim.engine import Engine, Request
from fuzzer.sim.listening import listen
from fuzzer.sim.meter import Meter
from fuzzer.sim.metrics import CONTENT_TYPE, exposition
from fuzzer.sim.rendering import TokenizeEndpoint
from fuzzer.sim.reply import Replies, system_fingerprint
from fuzzer.sim.request import BadRequestError, ChatRequest, parse_chat
from fuzzer.sim.scoring import ScoringEndpoint

_JSON = [(b"content-type", b"application/json")]
_EVENTS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
_CRASH = BadRequestError("EngineCore encountered an issue.", 500, "InternalServerError")


class BrokenConnectionError(Exception):
    """Leaves the application in mid-reply, so that the server drops the connection."""


class ChatEndpoint:
    """``POST /v1/chat/completions`` as a bare ASGI application: nothing stands between a step and the socket."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._mark = system_fingerprint(engine.config)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        headers = Headers(scope=scope)
        body = await _body(receive)
        if body is None:
            return
        try:
            _authorise(headers, self._engine.config)
            chat = self._parse(body)
        except BadRequestError as error:
            await _send_whole(send, error.status, error.body())
            return
        request_id = headers.get("x-request-id") or uuid.uuid4().hex
        request = self._engine.submit(chat, request_id)
        if self._engine.refuses(request):
            await _send_whole(send, 500, _CRASH.body())
            return
        replies = Replies(self._engine.config, self._mark, request, request_id)
        watcher = asyncio.ensure_future(self._abort_when_gone(request, receive))
        try:
            await (self._stream if chat.stream else self._whole)(request, replies, send)
        finally:
            watcher.cancel()
            self._engine.abort(request)

    def _parse(self, body: bytes) -> ChatRequest:
        chat = parse_chat(body, self._engine.config)
        prompt, limit = len(self._engine.read(chat.messages).ids), self._engine.config.max_model_len
        if prompt + (chat.max_tokens or 1) > limit:
            raise BadRequestError(
                f"This model's maximum context length is {limit} tokens. However, you requested "
                f"{prompt + (chat.max_tokens or 1)} tokens ({prompt} in the messages, {chat.max_tokens or 1} in the "
                f"completion). Please reduce the length of the messages or completion."
            )
        return chat

    async def _abort_when_gone(self, request: Request, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._engine.abort(request)
        request.news.set()

    async def _stream(self, request: Request, replies: Replies, send: Send) -> None:
        await _news(request)
        if not request.gone:
            await send({"type": "http.response.start", "status": 200, "headers": _EVENTS})
        while not request.gone:
            payload = replies.chunks()
            if request.broken:
                await send({"type": "http.response.body", "body": payload, "more_body": True})
                raise BrokenConnectionError
            if request.over:
                payload += replies.ending()
            await send({"type": "http.response.body", "body": payload, "more_body": not request.over})
            if request.over:
                return
            await _news(request)

    async def _whole(self, request: Request, replies: Replies, send: Send) -> None:
        while not request.over:
            await _news(request)
        if request.broken:
            raise BrokenConnectionError
        if not request.gone:
            await _send_whole(send, 200, replies.whole())


async def _news(request: Request) -> None:
    await request.news.wait()
    request.news.clear()


async def _body(receive: Receive) -> bytes | None:
    """The request's body, or None if the client left before it was whole."""
    parts: list[bytes] = []
    while True:
        message: MutableMapping[str, Any] = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _send_whole(send: Send, status: int, body: bytes) -> None:
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": _JSON + length})
    await send({"type": "http.response.body", "body": body})


def _authorise(headers: Headers, config: SimConfig) -> None:
    if config.api_key is not None and headers.get("authorization") != f"Bearer {config.api_key}":
        raise BadRequestError("Unauthorized", 401, "AuthenticationError")


def build_app(config: SimConfig) -> Starlette:
    """The application with an engine of its own."""
    engine, started = Engine(config), int(time.time())
    meter = Meter(ChatEndpoint(engine))
    engine.scheduler.watch = meter.step
    first_page = exposition(engine)

    async def health(_: HttpRequest) -> Response:
        return Response()

    async def version(_: HttpRequest) -> Response:
        return JSONResponse({"version": config.version})

    async def metrics(_: HttpRequest) -> Response:
        page = first_page if config.stale_metrics else exposition(engine)
        return Response(page, headers={"content-type": CONTENT_TYPE.decode()})

    async def planted(_: HttpRequest) -> Response:
        return JSONResponse([harm._asdict() for harm in engine.planted])

    async def models(request: HttpRequest) -> Response:
        try:
            _authorise(request.headers, config)
        except BadRequestError as error:
            return Response(error.body(), error.status, media_type="application/json")
        card = {
            "id": config.model, "object": "model", "created": started, "owned_by": "vllm", "root": config.model,
            "parent": None, "max_model_len": config.max_model_len, "permission": [],
        }  # fmt: skip
        return JSONResponse({"object": "list", "data": [card]})

    app = Starlette(
        routes=[
            Route("/health", health),
            Route("/version", version),
            Route("/metrics", metrics),
            Route("/v1/models", models),
            Route("/v1/completions", ScoringEndpoint(engine).serve, methods=["POST"]),
            Route("/v1/chat/completions", meter, methods=["POST"]),
            Route("/tokenize", TokenizeEndpoint(engine).serve, methods=["POST"]),
            Route("/sim/planted", planted),
            Route("/sim/traffic", meter.show, methods=["GET", "DELETE"]),
        ]
    )
    app.state.engine = engine
    return app


class _Server(uvicorn.Server):
    """Tells its address once it accepts connections."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()


_S = TypeVar("_S", bound=_Server)


class _Guest(_Server):
    """Runs inside somebody else's event loop, leaves the signals alone and ends when told."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config, announce)
        self.told = asyncio.Event()

    async def main_loop(self) -> None:
        await self.told.wait()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _prepare(
    kind: type[_S], config: SimConfig, announce: Callable[[str], None], app: ASGIApp | None = None
) -> tuple[_S, socket.socket]:
    listener, url = listen(config.host, config.port)
    settings = uvicorn.Config(
        app or build_app(config),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=60,
    )
    return kind(settings, lambda: announce(url)), listener


def serve(config: SimConfig, announce: Callable[[str], None], app: ASGIApp | None = None) -> None:
    """Serve until Ctrl-C or SIGTERM; ``announce`` gets the URL once connections are accepted.

    ``app`` stands in for the application that is built from the configuration. UsageError says that the port cannot be
    taken.
    """
    server, listener = _prepare(_Server, config, announce, app)
    try:
        server.run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()


@asynccontextmanager
async def serving(config: SimConfig) -> AsyncIterator[str]:
    """A server inside this event loop, for tests; yields its URL."""
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server, listener = _prepare(_Guest, config, ready.set_result)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield await ready
    finally:
        server.force_exit = True
        server.told.set()
        await task
        listener.close()
