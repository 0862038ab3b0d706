"""Ask one endpoint one question and record all that comes back, whatever that is."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Self

import anyio
import httpx
from pydantic import JsonValue

from fuzzer.history.records import Arm, Counters, Message, Outcome, Received
from fuzzer.plan import Endpoint
from fuzzer.wire.bounds import BadReplyError, Limits, quoted
from fuzzer.wire.decode import decode, decode_leniently
from fuzzer.wire.dialects import Dialect
from fuzzer.wire.metrics import busy_slots, parse_counters
from fuzzer.wire.pace import Pace, begin
from fuzzer.wire.params import Params
from fuzzer.wire.patience import Patience
from fuzzer.wire.reply import Reply, error_message
from fuzzer.wire.session import Body, answered, fetch, key_of, open_http
from fuzzer.wire.sse import DONE, Event, Splitter
from fuzzer.wire.text import label

_OVERLOADED = (429, 503)  # HTTP statuses
_CONNECT_SECONDS = 10.0
_CONNECT_SHARE = 0.9
_COUNTERS_SECONDS = 2.0
_COUNTERS_BYTES = 4 * 2**20
_ERROR_BYTES = 64 * 2**10
_AFTER_DONE_SECONDS = 1.0


class Client:
    """One endpoint's client; use it as an async context manager, from one event loop.

    ``endpoint.model`` is the model that is asked for (none is sent if it is None). ``timeout`` bounds a whole exchange
    and ``read_timeout`` the wait for the next bytes (None: no bound of its own), in seconds; an exchange in which not
    even the head of a reply came is a "timeout-read" whichever of the two ran out. The attribute ``dialect`` may be
    replaced between exchanges; ``patience`` holds what the server asked for by Retry-After. Raises ``UsageError`` if
    the endpoint's API key is not in the environment.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        dialect: Dialect,
        *,
        timeout: float,
        read_timeout: float | None = None,
        limits: Limits = Limits(),  # noqa: B008  # immutable
        role: Arm = "candidate",
    ) -> None:
        self.endpoint = endpoint
        self.dialect = dialect
        self._timeout = timeout
        self._limits = limits
        self.patience = Patience()
        self._secret = key_of(endpoint, role)
        connect = min(_CONNECT_SHARE * timeout, _CONNECT_SECONDS)
        self._http = open_http(endpoint, connect=connect, read=read_timeout, role=role)
        self._side = open_http(endpoint, connect=_COUNTERS_SECONDS, read=_COUNTERS_SECONDS, role=role)
        self._url = f"{endpoint.base}/v1/chat/completions"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._http.aclose()
            await self._side.aclose()

    async def ask(
        self,
        messages: Sequence[Message],
        params: Params,
        on_first: Callable[[], None] | None = None,
        pace: Pace | None = None,
    ) -> Received:
        """Sends one request, once, and returns what became of it; raises nothing but cancellation.

        ``on_first`` is called when the first content arrives (never, if none does). ``pace`` says when the request
        leaves, and when it is broken off: that is no failure of the server's, and its outcome is "cancelled".
        """
        reply = Reply(params, on_first)
        pace = pace or Pace()
        begin(pace)
        with anyio.move_on_after(self._timeout) as scope, anyio.CancelScope() as breaking:
            if pace.cancel_ms is not None:
                pace.on_written.append(partial(_break_after, breaking, pace.cancel_ms))
            try:
                await self._exchange(reply, messages, params, pace)
            except BadReplyError as bad:
                reply.fail(bad)
        if breaking.cancelled_caught and not reply.done:
            reply.fail(BadReplyError("cancelled", f"broken off {pace.cancel_ms:g} ms after it was sent"))
        elif scope.cancelled_caught:
            reply.fail(self._late(reply))
        return self._redacted(reply.received())

    def _late(self, reply: Reply) -> BadReplyError:
        if reply.http_status is None:
            return BadReplyError("timeout-read", f"nothing came within {self._timeout:g} s")
        return BadReplyError("timeout-total", f"no whole reply within {self._timeout:g} s")

    def _redacted(self, received: Received) -> Received:
        if not self._secret or received.outcome == "ok":
            return received
        fields = {"detail": received.detail, "raw": received.raw}
        return received.model_copy(update={name: text.replace(self._secret, "***") for name, text in fields.items()})

    async def _exchange(self, reply: Reply, messages: Sequence[Message], params: Params, pace: Pace) -> None:
        body = self.dialect.body(self.endpoint.model, messages, params)
        headers = {"content-type": "application/json"}
        if params.request_id:
            headers["x-request-id"] = params.request_id
        request = self._http.build_request("POST", self._url, content=json.dumps(body).encode(), headers=headers)
        async with answered(self._http, request) as response:
            reply.http_status = response.status_code
            if not response.is_success:
                await self._refusal(reply, response)
            elif _kind(reply, response, params) == "text/event-stream":
                await self._stream(reply, Body(response, self._limits.body_bytes), pace.cancel_tokens)
            else:
                await self._whole(reply, response, params)

    async def _refusal(self, reply: Reply, response: httpx.Response) -> None:
        status = response.status_code
        body = Body(response, _ERROR_BYTES)
        with suppress(BadReplyError):  # how an error's body ends does not matter
            while piece := await body.read():
                reply.head += piece
        if status < 400:
            where = response.headers.get("location", "")
            raise BadReplyError("refused", f"HTTP {status} to {quoted(where)}; redirects are not followed")
        later = response.headers.get("retry-after")  # no request is sent again, but the next stage waits
        when = ""
        if later and status in _OVERLOADED:
            self.patience.ask(later)
            when = f" (Retry-After: {quoted(later)})"
        raise BadReplyError(_outcome_of(status), f"HTTP {status}{when}: {quoted(self._said(reply.head))}")

    def _said(self, body: bytes) -> str:
        try:
            return error_message(decode(body, self._limits))
        except BadReplyError:
            return body.decode("utf-8", "replace")

    async def _whole(self, reply: Reply, response: httpx.Response, params: Params) -> None:
        body = Body(response, self._limits.body_bytes)
        parts: list[bytes] = []
        while piece := await body.read():
            parts.append(piece)
            reply.head = parts[0]
        whole = b"".join(parts)
        if not whole:
            raise BadReplyError("empty-body", f"HTTP {response.status_code} and not one byte of body")
        kind = response.headers.get("content-type", "")
        if kind and "json" not in kind.lower():
            raise BadReplyError("content-type", f"neither JSON nor an event stream: {quoted(kind)}")
        if params.stream:
            reply.note("not-streamed")
        self._parse(whole, reply.body)

    def _parse(self, data: bytes, take: Callable[[JsonValue], None]) -> None:
        try:
            value = decode(data, self._limits)
        except BadReplyError as bad:
            if bad.outcome == "bad-json" and (readable := decode_leniently(data)) is not None:
                with suppress(BadReplyError):
                    take(readable)
            raise
        take(value)

    async def _stream(self, reply: Reply, body: Body, cancel_tokens: int | None) -> None:
        splitter = Splitter(self._limits.line_bytes)
        budget = self._limits.chunks
        broken = ""
        while not reply.done:
            try:
                piece = await body.read()
            except BadReplyError as bad:
                if bad.outcome != "disconnect":
                    raise
                broken = bad.detail
                break
            reply.head = reply.head or piece
            events = splitter.feed(piece) if piece else splitter.close()
            budget -= len(events)
            if budget < 0:
                raise BadReplyError("too-large", f"more than {self._limits.chunks} chunks in one stream")
            self._events(reply, events)
            if cancel_tokens is not None and reply.delivered >= cancel_tokens and not (reply.done or reply.failed):
                raise BadReplyError("cancelled", f"broken off after {reply.delivered} tokens")
            if not piece:
                break
        reply.end(broken)
        if reply.done:
            await self._after_done(reply, body, splitter)

    def _events(self, reply: Reply, events: list[Event]) -> None:
        for event in events:
            if event.data.strip() == DONE:
                reply.mark_done()
            elif reply.done:
                reply.note("after-done")
            elif not reply.failed:
                # A bad chunk ends the reading, not the stream: hanging up would cancel the request on the server.
                try:
                    self._event(reply, event)
                except BadReplyError as bad:
                    reply.head = event.data
                    reply.fail(bad)

    def _event(self, reply: Reply, event: Event) -> None:
        if event.name == "error":
            raise BadReplyError("stream-error", f"an error inside HTTP 200: {quoted(self._said(event.data))}")
        self._parse(event.data, reply.chunk)

    async def _after_done(self, reply: Reply, body: Body, splitter: Splitter) -> None:
        """Reads to the end of the connection's reply, so that what follows ``[DONE]`` is seen, but not for long."""
        with anyio.move_on_after(_AFTER_DONE_SECONDS) as grace:
            try:
                while piece := await body.read():
                    self._events(reply, splitter.feed(piece))
            except BadReplyError:
                reply.note("broken-end")
        if grace.cancelled_caught:
            reply.note("open-after-done")

    async def counters(self) -> Counters | None:
        """The engine's counters now, from its metrics page (llama.cpp: else ``/slots``); None where there are none."""
        with anyio.move_on_after(_COUNTERS_SECONDS):
            names = self.dialect.counters.mapping()
            page = await self._page(self.dialect.metrics) if names else None
            if page is not None:
                return parse_counters(page, names)
            slots = await self._page("/slots") if self.dialect.engine == "llamacpp" else None
            return busy_slots(slots, self._limits) if slots is not None else None
        return None

    async def version(self) -> str | None:
        """The engine's version now, where it has a page that tells; None otherwise."""
        if self.dialect.version is None:
            return None
        path, field = self.dialect.version
        told = await self._told(path)
        return label(told.get(field)) if isinstance(told, dict) else None

    async def post(self, path: str, body: JsonValue) -> JsonValue:
        """What the engine answers to a small question beside the chat, or None if it does not within two seconds."""
        return await self._told(path, body)

    async def _told(self, path: str, body: JsonValue = None) -> JsonValue:
        with anyio.move_on_after(_COUNTERS_SECONDS):
            page = await self._page(path, body)
            if page is not None:
                with suppress(BadReplyError):
                    return decode(page, self._limits)
        return None

    async def _page(self, path: str, body: JsonValue = None) -> bytes | None:
        try:
            page = await fetch(self._side, self.endpoint.base + path, _COUNTERS_BYTES, body)
        except BadReplyError:
            return None
        return page.body if page.ok else None


def _break_after(scope: anyio.CancelScope, milliseconds: float) -> None:
    scope.deadline = anyio.current_time() + milliseconds / 1000


def _kind(reply: Reply, response: httpx.Response, params: Params) -> str:
    kind: str = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not kind:
        reply.note("no-content-type")
        kind = "text/event-stream" if params.stream else "application/json"
    if kind == "text/event-stream" and not params.stream:
        reply.note("streamed")
    return kind


def _outcome_of(status: int) -> Outcome:
    if status in (401, 403):
        return "unauthorised"
    if status in _OVERLOADED:
        return "overloaded"
    return "refused" if status < 500 else "server-error"
