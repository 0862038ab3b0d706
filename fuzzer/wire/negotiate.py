"""Find out, with small requests before the run, which parameters a server refuses."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pydantic import JsonValue

from fuzzer.history.records import Message, Received
from fuzzer.wire.bounds import BadReplyError, Limits
from fuzzer.wire.client import Client
from fuzzer.wire.decode import decode
from fuzzer.wire.dialects import REQUIRED, Dialect
from fuzzer.wire.params import Params

PROBE = Params(max_tokens=8)
"""What a probe asks for unless told otherwise."""


async def negotiate(
    client: Client, dialect: Dialect, messages: Sequence[Message], params: Params = PROBE
) -> tuple[Dialect, tuple[str, ...], Received]:
    """Sends small probes until the server takes one: the dialect then, what it had to drop, and the last reply.

    A refusal (HTTP 400 or 422) that names a parameter costs that parameter. One that names none costs as few as
    possible: all optional ones go, and each comes back that the server takes. If the server refuses even the request
    without any, or fails in another way, nothing is dropped and the reply says why. ``params`` should be those of the
    run, for what is sent depends on them. The client speaks the returned dialect from here on.
    """
    search = _Search(client, messages, params)
    result, received = await search.run(dialect)
    client.dialect = result
    return result, tuple(sorted(result.dropped - dialect.dropped)), received


class _Search:
    def __init__(self, client: Client, messages: Sequence[Message], params: Params) -> None:
        self._client = client
        self._messages = messages
        self._params = params

    async def run(self, dialect: Dialect) -> tuple[Dialect, Received]:
        first = received = await self._try(dialect)
        current = dialect
        while _refused(received):
            optional = self._optional(current)
            named = named_parameter(received.raw, optional)
            if named is None:
                return await self._least(dialect, current, first)
            current = current.without(named)
            received = await self._try(current)
        return current, received

    async def _least(self, dialect: Dialect, current: Dialect, first: Received) -> tuple[Dialect, Received]:
        bare = current.without(*self._optional(current))
        received = await self._try(bare)
        if received.outcome != "ok":
            return dialect, first
        for name in sorted(bare.dropped - current.dropped):
            candidate = current.without(*(bare.dropped - current.dropped - {name}))
            attempt = await self._try(candidate)
            if attempt.outcome == "ok":
                bare, received = candidate, attempt
        return bare, received

    async def _try(self, dialect: Dialect) -> Received:
        self._client.dialect = dialect
        return await self._client.ask(self._messages, self._params)

    def _optional(self, dialect: Dialect) -> tuple[str, ...]:
        body = dialect.body(self._client.endpoint.model, self._messages, self._params)
        return tuple(name for name in body if name not in REQUIRED)


def _refused(received: Received) -> bool:
    return received.outcome == "refused" and received.http_status in (400, 422)


def named_parameter(body: str, names: Sequence[str]) -> str | None:
    """The one of these parameters that an error body blames: in a field made for it, else in its words."""
    structured = _structured(body)
    for name in sorted(names, key=len, reverse=True):
        if name in structured:
            return name
    for name in sorted(names, key=len, reverse=True):
        # A name as short as "n" is a word of its own only in quotes.
        pattern = rf"(?<![\w-]){name}(?![\w-])" if len(name) > 2 else rf"[\"'`]{name}[\"'`]"
        if re.search(pattern, body):
            return name
    return None


def _structured(body: str) -> set[str]:
    """Values of ``param`` (OpenAI) and ``loc`` (pydantic) anywhere in an error body."""
    try:
        value = decode(body.encode(), Limits())
    except BadReplyError:
        return set()
    found: set[str] = set()
    pending: list[JsonValue] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
            blamed = [item.get("param"), *_items(item.get("loc"))]
            found.update(name for name in blamed if isinstance(name, str))
    return found


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
