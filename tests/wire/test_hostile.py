"""Servers that do everything wrong: each wrong has its outcome, and none of them is an exception."""

from __future__ import annotations

import json
import socket
import tracemalloc
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzzer.history.records import Outcome, Received
from fuzzer.plan import Endpoint
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import VLLM
from fuzzer.wire.params import Params

from .servers import Request, answering, data, delta, http, serving, silent, sse, tls_context, usage, whole
from .test_client import MESSAGES, STREAM, WHOLE, ask

pytestmark = pytest.mark.anyio

START = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = START + b"transfer-encoding: chunked\r\n\r\n"


def body(value: object, **more: Any) -> bytes:
    return http(value if isinstance(value, bytes) else json.dumps(value).encode(), **more)


def framed(part: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(part), part)


HTML = b"<!doctype html><h1>502 Bad Gateway</h1>"
FINISHED = delta("ab", finish="stop")
STREAMS: dict[str, tuple[bytes, Outcome, str]] = {
    "not one byte": (http(kind="text/event-stream"), "empty-body", ""),
    "half a stream": (sse(delta("ab"), done=False), "truncated-stream", "ab"),
    "half a chunk": (sse(delta("ab"), done=False) + b'data: {"choices', "truncated-stream", "ab"),
    "comments only": (sse(b": ping\n\n", done=False), "truncated-stream", ""),
    "no event at all": (sse(b"hello world\n\n", done=False), "truncated-stream", ""),
    "a cut connection": (CHUNKED + framed(data(delta("ab"))) + b"999\r\ndata", "disconnect", "ab"),
    "a missing rest": (START + b"content-length: 999\r\n\r\n" + data(delta("ab")), "disconnect", "ab"),
    "no JSON": (sse(delta("ab"), b"data: {oops}\n\n"), "bad-json", "ab"),
    "an empty event": (sse(delta("ab"), b"data:\n\n"), "bad-json", "ab"),
    "NaN": (sse(data(delta("ab") | {"x": float("nan")})), "bad-json", "ab"),
    "a raw NUL": (sse(delta("ab"), b'data: {"choices": [\x00]}\n\n'), "bad-json", "ab"),
    "a huge number": (sse(delta("ab"), b'data: {"x": ' + b"9" * 9999 + b"}\n\n"), "bad-json", "ab"),
    "a list": (sse(delta("ab"), []), "bad-shape", "ab"),
    "a number": (sse(delta("ab"), 3), "bad-shape", "ab"),
    "no choices": (sse(delta("ab"), {"id": "x"}), "bad-shape", "ab"),
    "only done": (sse(), "bad-shape", ""),
    "only usage": (sse(usage(0)), "bad-shape", ""),
    "choices of another type": (sse(delta("ab"), {"choices": {"0": {}}}), "bad-shape", "ab"),
    "a choice of another type": (sse(delta("ab"), {"choices": ["x"]}), "bad-shape", "ab"),
    "content of another type": (sse(delta("ab"), data(delta("c")).replace(b'"c"', b"5")), "bad-shape", "ab"),
    "delta of another type": (sse(delta("ab"), {"choices": [{"delta": "c"}]}), "bad-shape", "ab"),
    "no delta": (sse(delta("ab"), {"choices": [{"index": 0}]}), "bad-shape", "ab"),
    "a finish reason of another type": (sse(delta("ab"), delta("", finish=3)), "bad-shape", "ab"),  # type: ignore[arg-type]  # the fault that is tested
    "tool calls of another type": (sse(delta("ab"), {"choices": [{"delta": {"tool_calls": [1]}}]}), "bad-shape", "ab"),
    "invalid UTF-8": (sse(delta("ab"), b'data: {"choices": "\xff"}\n\n'), "bad-encoding", "ab"),
    "half a surrogate pair": (sse(delta("a\ud800b", finish="stop")), "bad-encoding", "a�b"),
    "deep JSON": (sse(delta("ab"), b"data: " + b"[" * 100_000 + b"\n\n"), "too-large", "ab"),
    "an error object": (sse(delta("ab"), {"error": {"message": "boom", "code": 500}}), "stream-error", "ab"),
    "an error string": (sse(delta("ab"), {"error": "boom"}), "stream-error", "ab"),
    "an old error object": (sse(delta("ab"), {"object": "error", "message": "boom"}), "stream-error", "ab"),
    "an error field": (sse(delta("ab"), b'error: {"message": "boom"}\n\n', done=False), "stream-error", "ab"),
    "an HTML page": (http(HTML, kind="text/html"), "content-type", ""),
    "plain text": (http(b"hello", kind="text/plain"), "content-type", ""),
    "compressed against our will": (sse(b"\x1f\x8b\x08\x00data: \xff\n\n", done=False), "truncated-stream", ""),
}


@pytest.mark.parametrize("case", STREAMS)
async def test_a_stream_gone_wrong(case: str) -> None:
    page, outcome, text = STREAMS[case]
    received = await ask(answering(page))
    assert (received.outcome, received.text) == (outcome, text), received.detail
    assert received.detail
    assert Received.model_validate_json(received.model_dump_json()) == received


async def test_bad_framing_in_mid_stream() -> None:
    arrived = anyio.Event()

    async def handler(_: Request, stream: ByteStream) -> None:
        await stream.send(CHUNKED + framed(data(delta("ab"))))
        await arrived.wait()
        await stream.send(b"xyz\r\n")

    async with serving(handler) as url, Client(Endpoint(name="c", url=url), VLLM, timeout=60) as client:
        received = await client.ask(MESSAGES, STREAM, arrived.set)
    assert (received.outcome, received.text) == ("disconnect", "ab")
    assert (await ask(answering(CHUNKED + b"xyz\r\n"))).outcome == "disconnect"


BODIES: dict[str, tuple[bytes, Outcome]] = {
    "not one byte": (http(), "empty-body"),
    "no content": (http(status=204), "empty-body"),
    "no JSON": (body(b"{"), "bad-json"),
    "NaN": (body(whole() | {"x": float("inf")}), "bad-json"),
    "a list": (body([]), "bad-shape"),
    "no choices": (body({"id": "x"}), "bad-shape"),
    "a message of another type": (body({"choices": [{"message": "x"}]}), "bad-shape"),
    "content of another type": (body(whole(["x"])), "bad-shape"),
    "an error object": (body({"error": {"message": "boom"}}), "stream-error"),
    "invalid UTF-8": (body(b'{"choices": "\xc3("}'), "bad-encoding"),
    "UTF-16": (body(json.dumps(whole()).encode("utf-16")), "bad-encoding"),
    "half a surrogate pair": (body(whole("\udc00")), "bad-encoding"),
    "deep JSON": (body(b'{"a":' * 90_000), "too-large"),
    "an HTML page": (http(HTML, kind="text/html; charset=utf-8"), "content-type"),
    "a cut connection": (http(b"{", content_length="10"), "disconnect"),
}


@pytest.mark.parametrize("case", BODIES)
async def test_a_body_gone_wrong(case: str) -> None:
    page, outcome = BODIES[case]
    received = await ask(answering(page), WHOLE)
    assert received.outcome == outcome, received.detail
    assert received.detail
    assert Received.model_validate_json(received.model_dump_json()) == received


async def test_an_answer_is_kept_that_came_with_a_number_that_json_lacks() -> None:
    received = await ask(answering(body(whole("ab", x=float("nan")))), WHOLE)
    assert (received.outcome, received.text) == ("bad-json", "ab")
    assert "NaN" in received.detail


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (400, "refused"),
        (401, "unauthorised"),
        (403, "unauthorised"),
        (404, "refused"),
        (422, "refused"),
        (429, "overloaded"),
        (500, "server-error"),
        (502, "server-error"),
        (503, "overloaded"),
    ],
)
@pytest.mark.parametrize(
    "content",
    [b'{"error": {"message": "told you\\u001b[2J"}}', b"told you", b'{"detail": "told you"}', b'["told you"]'],
)
async def test_an_error_status_is_reported_in_the_servers_words(status: int, outcome: Outcome, content: bytes) -> None:
    received = await ask(answering(http(content, status=status)))
    assert (received.outcome, received.http_status) == (outcome, status)
    assert received.detail.startswith(f"HTTP {status}: ")
    assert "told you" in received.detail
    assert received.detail.isprintable()
    assert received.raw == content.decode()


async def test_redirects_are_not_followed() -> None:
    received = await ask(answering(http(status=307, location="http://127.0.0.1:1/elsewhere")))
    assert (received.outcome, received.http_status) == ("refused", 307)
    assert "elsewhere" in received.detail


async def test_long_words_are_clipped() -> None:
    received = await ask(answering(http(b"x" * 10_000_000, status=500)))
    assert received.outcome == "server-error"
    assert len(received.detail) < 400
    assert len(received.raw) == 2000


@pytest.mark.parametrize(
    "garbage", [b"SSH-2.0-OpenSSH\r\n", b"\x00" * 100, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/1.1 200 OK\r\na\x00b: c\r\n\r\n"]
)
async def test_what_is_not_http(garbage: bytes) -> None:
    received = await ask(answering(garbage))
    assert received.outcome == "server-error"
    assert "not HTTP" in received.detail


async def test_headers_without_end_are_bounded() -> None:
    received = await ask(answering(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 1_000_000))
    assert received.outcome == "server-error"


async def test_a_connection_closed_before_a_reply() -> None:
    assert (await ask(answering())).outcome == "connect"


async def test_nothing_listens_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    async with Client(Endpoint(name="c", url=f"http://127.0.0.1:{port}"), VLLM, timeout=60) as client:
        received = await client.ask(MESSAGES, STREAM)
    assert received.outcome == "connect"
    assert received.http_status is None


async def test_a_host_that_does_not_exist() -> None:
    async with Client(Endpoint(name="c", url="http://no-such-host.invalid:80"), VLLM, timeout=60) as client:
        received = await client.ask(MESSAGES, STREAM)
    assert received.outcome == "connect"
    assert "name" in received.detail


class TestTime:
    @staticmethod
    async def _stuck(_: Request, stream: ByteStream) -> None:
        await stream.send(sse(delta("ab"), done=False))
        await anyio.sleep_forever()

    @staticmethod
    async def _endless(_: Request, stream: ByteStream) -> None:
        await stream.send(sse(delta("ab"), done=False))
        while True:
            await stream.send(b": ping\n\n")
            await anyio.sleep(0.01)

    async def test_a_hang_before_any_reply(self) -> None:
        assert (await ask(silent, read_timeout=0.2)).outcome == "timeout-read"
        received = await ask(silent, timeout=0.2)
        assert (received.outcome, received.http_status) == ("timeout-read", None)

    async def test_a_hang_in_mid_stream_keeps_what_came(self) -> None:
        received = await ask(self._stuck, read_timeout=0.2)
        assert (received.outcome, received.text) == ("timeout-read", "ab")

    async def test_a_stream_without_end_is_ended(self) -> None:
        received = await ask(self._endless, timeout=0.5)
        assert (received.outcome, received.text) == ("timeout-total", "ab")

    async def test_a_connection_that_is_never_accepted(self) -> None:
        # A full backlog: the kernel answers no further handshake.
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            waiting = [socket.socket() for _ in range(4)]
            try:
                for one in waiting:
                    one.setblocking(False)
                    one.connect_ex(full.getsockname())
                endpoint = Endpoint(name="c", url=f"http://127.0.0.1:{full.getsockname()[1]}")
                async with Client(endpoint, VLLM, timeout=0.5) as client:
                    received = await client.ask(MESSAGES, STREAM)
            finally:
                for one in waiting:
                    one.close()
        assert received.outcome == "timeout-connect"


async def test_a_line_of_fifty_megabytes_is_neither_held_nor_waited_for() -> None:
    sent = 0

    async def handler(_: Request, stream: ByteStream) -> None:
        nonlocal sent
        await stream.send(sse(delta("ab"), done=False) + b"data: ")
        while sent < 50 * 2**20:
            await stream.send(b"x" * 2**16)
            sent += 2**16

    tracemalloc.start()
    try:
        received = await ask(handler)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (received.outcome, received.text) == ("too-large", "ab")
    assert sent < 50 * 2**20
    assert peak < 10 * 2**20


async def test_a_body_without_end_is_cut_off() -> None:
    async def handler(_: Request, stream: ByteStream) -> None:
        await stream.send(http(b'{"x": "'))
        while True:
            await stream.send(b"x" * 2**16)

    received = await ask(handler, WHOLE)
    assert received.outcome == "too-large"
    assert len(received.raw) == 2000


class TestTls:
    @staticmethod
    async def _ask(url: str) -> Received:
        async with Client(Endpoint(name="c", url=url), VLLM, timeout=60) as client:
            return await client.ask(MESSAGES, STREAM)

    async def test_a_certificate_that_nobody_vouches_for(self) -> None:
        async with serving(answering(sse(FINISHED)), tls_context()) as url:
            received = await self._ask(url)
        assert received.outcome == "tls"
        assert "certificate" in received.detail

    async def test_a_plain_server_asked_over_tls(self) -> None:
        async with serving(answering(sse(FINISHED))) as url:
            received = await self._ask(url.replace("http:", "https:"))
        assert received.outcome == "tls"

    async def test_a_tls_server_asked_plainly(self) -> None:
        received = await ask(answering(b"\x15\x03\x01\x00\x02\x02\x46"))  # the alert that OpenSSL's servers send
        assert received.outcome == "tls"
        assert "speaks TLS" in received.detail


KEYS = (
    "choices", "delta", "message", "content", "index", "finish_reason", "tool_calls", "function", "arguments",
    "usage", "timings", "metrics", "logprobs", "token_ids", "top_logprobs", "token", "logprob", "id", "error",
)  # fmt: skip
NASTY = st.one_of(
    st.sampled_from([b"data: ", b"\n\n", b"data: [DONE]\n\n", b"event: error\n", b"error: ", b"\r", b"\x00", b"\xff"]),
    st.sampled_from(
        [data(delta("a")), data(FINISHED), data(usage(1)), data([]), data({"error": {}}), data({"choices": 0})]
    ),
    st.binary(max_size=8),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(data),
)


@given(
    parts=st.lists(NASTY, max_size=8),
    head=st.sampled_from([http(), http(kind="text/event-stream"), http(kind=""), http(status=500), CHUNKED, b""]),
    stream=st.booleans(),
)
@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_no_bytes_make_the_client_raise(parts: list[bytes], head: bytes, stream: bool) -> None:
    async def once() -> Received:
        return await ask(answering(head + b"".join(parts)), Params(max_tokens=5, stream=stream, logprobs=1))

    received = anyio.run(once)
    assert Received.model_validate_json(received.model_dump_json()) == received
    assert bool(received.detail) == (received.outcome != "ok")
