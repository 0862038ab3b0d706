"""What the simulated server itself sees of the traffic: how many requests are in flight, and how each of them ended."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import MutableMapping
from dataclasses import dataclass
from typing import Any, Literal

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

_REMEMBERED = 100_000  # requests, and engine steps

Ending = Literal["whole", "gone", "broken"]


@dataclass(slots=True)
class Seen:
    """One request: its id, when its head came and when it was over (monotonic, ns), and how it ended.

    ``whole``: the reply was sent to its end. ``gone``: the client left before. ``broken``: the server broke off.
    """

    id: str
    began_ns: int
    ended_ns: int = 0
    ending: Ending | None = None


class Meter:
    """Wraps the chat endpoint and keeps the time spent at each number of requests in flight.

    A request is in flight from its head to the last byte of its reply, or until the client's leaving is noticed.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._count = 0
        self._since = time.monotonic_ns()
        self.reset()

    def reset(self) -> None:
        """Begin anew; requests in flight stay so."""
        self._since = time.monotonic_ns()
        self._ns: Counter[int] = Counter()
        self._seen: deque[Seen] = deque(maxlen=_REMEMBERED)
        self._steps: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        self._most = 0

    def step(self) -> None:
        """The engine is about to take a step: what is in flight now is what its batch can be made of."""
        self._steps.append((time.monotonic_ns(), self._count))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request and watch it."""
        seen = Seen(Headers(scope=scope).get("x-request-id", ""), 0)
        seen.began_ns = self._step(1)
        self._seen.append(seen)

        async def watch(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.body" and not message.get("more_body"):
                self._over(seen, "whole")
            await send(message)

        async def listen() -> MutableMapping[str, Any]:
            message = await receive()
            if message["type"] == "http.disconnect":
                self._over(seen, "gone")
            return message

        try:
            await self._app(scope, listen, watch)
        finally:
            self._over(seen, "broken")

    async def show(self, request: Request) -> Response:
        """``GET``: all that was seen, as JSON; ``DELETE``: begin anew."""
        if request.method == "DELETE":
            self.reset()
            return Response(status_code=204)
        self._step(0)
        return JSONResponse(
            {
                "now_ns": self._since,
                "seconds": {str(count): ns / 1e9 for count, ns in sorted(self._ns.items())},
                "most": self._most,
                "steps": list(self._steps),
                "requests": [[seen.id, seen.began_ns, seen.ended_ns, seen.ending] for seen in self._seen],
            }
        )

    def _over(self, seen: Seen, ending: Ending) -> None:
        if seen.ending is None:
            seen.ending, seen.ended_ns = ending, self._step(-1)

    def _step(self, change: int) -> int:
        now = time.monotonic_ns()
        self._ns[self._count] += now - self._since
        self._since = now
        self._count += change
        self._most = max(self._most, self._count)
        return now
