"""One way to open HTTP connections for everything in this room: httpx over aiohttp, and nothing done behind our back.

HTTP/1.1, over TCP or a Unix socket; aiohttp knows no HTTP/2, and a second stack for it would have timings of its own.

No retries, no redirects, no cookies, no passwords from a .netrc, and a new connection for every request: servers close
idle ones when they like (llama.cpp right after a stream, while promising to keep it), and a request that runs into the
closing would look like the server's fault. A proxy of the environment is used, but never for this machine itself.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies_environment, proxy_bypass

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from fuzzer.errors import UsageError
from fuzzer.history.records import Arm, Outcome
from fuzzer.plan import Endpoint
from fuzzer.wire.bounds import BadReplyError, quoted
from fuzzer.wire.pace import Connector, SocketConnector, tracing

HTTP2 = "the server speaks HTTP/2 only, and this program HTTP/1.1: let it, or the gateway before it, speak HTTP/1.1 too"
_SETTINGS = re.compile(r"b'\\x00\\x00(?:\\x[0-9a-f]{2}|\\.|.)\\x04\\x0")  # how HTTP/2 begins: RFC 9113, section 3.4
_NO_PROTOCOL = "no application protocol"  # the TLS alert for it: RFC 7301, section 3.2
_TLS_ALERT = "x15\\x03"


def open_http(endpoint: Endpoint, *, connect: float, read: float | None, role: Arm = "candidate") -> httpx.AsyncClient:
    """A client for one endpoint with its key and headers; ``connect`` and ``read`` are time-outs in seconds.

    Raises ``UsageError`` if the environment variable that should hold the key is not set, or if the endpoint's file of
    certificates cannot be read.
    """
    context: ssl.SSLContext | bool = trusted(endpoint) if endpoint.url.startswith("https:") else False
    proxy, password = _proxy(endpoint.url)
    own = {"accept-encoding": "identity", "user-agent": "specfuzz"}
    return httpx.AsyncClient(
        transport=AiohttpTransport(
            verify=context, trust_env=False, proxy=proxy, client=lambda: _session(endpoint, context)
        ),
        headers=own | headers_for(endpoint, role) | password,
        timeout=httpx.Timeout(connect=connect, read=read, write=None, pool=None),
        follow_redirects=False,
        trust_env=False,
    )


def trusted(endpoint: Endpoint) -> ssl.SSLContext:
    """Whom to trust: the system's certificates (or those of SSL_CERT_FILE), and the endpoint's own."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])  # a server that speaks HTTP/2 only then says so in the handshake
    if endpoint.ca_file is not None:
        try:
            context.load_verify_locations(cafile=endpoint.ca_file)
        except ssl.SSLError:
            raise UsageError(f"--ca-file: {endpoint.ca_file} holds no certificate in PEM form") from None
        except OSError as error:
            raise UsageError(f"--ca-file: cannot read {endpoint.ca_file}: {error.strerror}") from None
    return context


def proxy_for(url: str) -> str | None:
    """The proxy that the environment (HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, NO_PROXY) has for an address, if any."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "unix" or _is_loopback(host) or proxy_bypass(host):
        return None
    proxies = getproxies_environment()
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found:
        return None
    return found if "://" in found else f"http://{found}"


def _proxy(url: str) -> tuple[httpx.Proxy | None, dict[str, str]]:
    """The proxy for an address, and the header with its password, if it has one and is not asked for a tunnel."""
    found = proxy_for(url)
    if found is None:
        return None, {}
    parts = urlsplit(found)
    plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if parts.username is None:
        return httpx.Proxy(plain), {}
    secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    header = {"proxy-authorization": f"Basic {b64encode(secret.encode()).decode()}"}
    tunnelled = url.startswith("https:")
    return httpx.Proxy(plain, headers=header if tunnelled else None), {} if tunnelled else header


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _session(endpoint: Endpoint, context: ssl.SSLContext | bool) -> aiohttp.ClientSession:
    connector: aiohttp.BaseConnector
    if endpoint.socket is not None:
        connector = SocketConnector(endpoint.socket, limit=0, force_close=True)
    else:
        connector = Connector(limit=0, ssl=context, force_close=True)
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        response_class=_Response,
        trust_env=False,
        trace_configs=[tracing()],
    )


class _Response(aiohttp.ClientResponse):
    """A response whose body always ends when its connection does.

    aiohttp 3.14 closes the connection on bad chunk framing and tells everybody but the reader of the body, who then
    waits for ever (its read time-out is off by then).
    """

    async def start(self, connection: aiohttp.connector.Connection) -> aiohttp.ClientResponse:
        protocol = connection.protocol
        closed = protocol.closed if protocol is not None else None
        if closed is not None:
            closed.add_done_callback(self._settle)
        await super().start(connection)
        if closed is not None and closed.done():
            self._settle(closed)
        return self

    def _settle(self, closed: asyncio.Future[None]) -> None:
        if not closed.cancelled():
            closed.exception()  # or asyncio complains that nobody looked
        content: aiohttp.StreamReader | None = self.content  # None until the head of the reply has come
        if content is None:
            return
        if not self.content.is_eof() and self.content.exception() is None:
            self.content.set_exception(aiohttp.ClientPayloadError("the body is not framed as HTTP wants it"))


def key_option(role: Arm) -> str:
    """The command-line option that names the variable with this role's key."""
    return "--reference-api-key-env" if role == "reference" else "--api-key-env"


def headers_for(endpoint: Endpoint, role: Arm = "candidate") -> dict[str, str]:
    """The endpoint's own headers, and its key as a bearer token."""
    headers = dict(endpoint.headers)
    for name, value in headers.items():
        if not f"{name}{value}".isprintable() or not name.isascii():
            raise UsageError(f"{endpoint.name}: the header {name!r} has a character that HTTP does not allow")
    secret = key_of(endpoint, role)
    return headers | {"authorization": f"Bearer {secret}"} if secret else headers


def key_of(endpoint: Endpoint, role: Arm = "candidate") -> str:
    """The API key from the environment, "" if none was asked for."""
    if endpoint.api_key_env is None:
        return ""
    secret = os.environ.get(endpoint.api_key_env, "").strip()
    if not secret:
        raise UsageError(
            f"{endpoint.name}: the environment variable {endpoint.api_key_env} ({key_option(role)}) is not set"
        )
    if not (secret.isascii() and secret.isprintable()):
        raise UsageError(f"{endpoint.name}: the key in {endpoint.api_key_env} has a character that HTTP does not allow")
    return secret


FAULTS = (httpx.HTTPError, httpx.InvalidURL, aiohttp.ClientError, OSError, ValueError)
"""All that this stack raises for a server's faults; ``TimeoutError`` and ``ssl.SSLError`` are ``OSError``s."""


def fault(error: Exception, *, replied: bool) -> BadReplyError:
    """What an exception of the HTTP stack means; ``replied`` says whether the head of a reply had come."""
    cause = error.__cause__ if isinstance(error, httpx.HTTPError) and error.__cause__ else error
    said = " ".join((cause.message if isinstance(cause, aiohttp.ClientResponseError) else str(cause)).split())
    outcome, words = _meaning(cause, said, replied)
    return BadReplyError(outcome, f"{words}: {quoted(said)}" if said and words != HTTP2 else words)


def _meaning(cause: BaseException, said: str, replied: bool) -> tuple[Outcome, str]:
    if isinstance(cause, aiohttp.ConnectionTimeoutError):
        return "timeout-connect", "no connection within the time-out"
    if isinstance(cause, TimeoutError):
        return "timeout-read", "nothing came within the read time-out"
    if isinstance(cause, aiohttp.ClientSSLError | ssl.SSLError):
        return "tls", HTTP2 if _NO_PROTOCOL in said.lower() else "the TLS handshake failed"
    if isinstance(cause, aiohttp.ClientConnectorDNSError):
        return "connect", "the host name is not known"
    if isinstance(cause, aiohttp.ClientConnectorError):
        return "connect", "no connection"
    if replied:
        return "disconnect", "the connection broke in mid-reply"
    if isinstance(cause, aiohttp.ClientResponseError | ValueError):
        if "in chunk size" in said:  # the head was fine and came in one packet with the start of the body
            return "disconnect", "the connection broke in mid-reply"
        if _SETTINGS.search(said):
            return "server-error", HTTP2
        alert = _TLS_ALERT in said
        return ("tls", "the server speaks TLS, not plain HTTP") if alert else ("server-error", "the reply is not HTTP")
    return "connect", "the connection closed before a reply"


class Body:
    """The body of a reply as it comes over the wire, within bounds."""

    def __init__(self, response: httpx.Response, limit: int) -> None:
        stream = response.stream
        if not isinstance(stream, httpx.AsyncByteStream):
            raise TypeError("the response is not an asynchronous one")
        self._pieces = aiter(stream)
        self._limit = limit
        self._left = limit
        self._over = False

    async def read(self) -> bytes:
        """The next bytes, b"" at the end; raises ``BadReplyError`` for faults.

        Of a body that is too long, all within the limit is given before that is raised.
        """
        piece = b"" if self._over else await self._piece()
        self._over = self._over or len(piece) > self._left
        kept = piece[: self._left]
        self._left -= len(kept)
        if self._over and not kept:
            raise BadReplyError("too-large", f"the body is longer than {self._limit} bytes")
        return kept

    async def _piece(self) -> bytes:
        try:
            return await anext(self._pieces, b"")
        except FAULTS as error:
            raise fault(error, replied=True) from error


@dataclass(frozen=True, slots=True)
class Page:
    """A small page that was fetched whole; ``date`` is the server's time of it and ``at`` ours, in Unix seconds."""

    status: int
    body: bytes
    server: str = ""
    date: float | None = None
    at: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the server gave what was asked for."""
        return 200 <= self.status < 300


async def fetch(http: httpx.AsyncClient, url: str, limit: int, body: object = None) -> Page:
    """GET one page of at most ``limit`` bytes, or POST ``body`` as JSON to it; ``BadReplyError`` if that fails."""
    request = http.build_request("GET", url) if body is None else http.build_request("POST", url, json=body)
    async with answered(http, request) as response:
        parts: list[bytes] = []
        pieces = Body(response, limit)
        while piece := await pieces.read():
            parts.append(piece)
        headers = response.headers
        date = _date(headers.get("date", ""))
        return Page(response.status_code, b"".join(parts), headers.get("server", ""), date, time.time())


def _date(header: str) -> float | None:
    try:
        return parsedate_to_datetime(header).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


@asynccontextmanager
async def answered(http: httpx.AsyncClient, request: httpx.Request) -> AsyncIterator[httpx.Response]:
    """Sends a request, once; the response as soon as its head is there, closed at the end, or ``BadReplyError``."""
    try:
        response = await http.send(request, stream=True)
    except FAULTS as error:
        raise fault(error, replied=False) from error
    try:
        yield response
    finally:
        with suppress(*FAULTS):
            await response.aclose()
