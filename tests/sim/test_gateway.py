from __future__ import annotations

import json
import socket
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from fuzzer.errors import UsageError
from fuzzer.sim.gateway import GatewayConfig, GatewayServer, build_app, serve

pytestmark = pytest.mark.anyio


class Server(uvicorn.Server):
    """Ends when told, rather than at its next look at the clock."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.told = anyio.Event()

    async def main_loop(self) -> None:
        await self.told.wait()


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncIterator[str]:
    """The app on a free port of the loopback, in this event loop."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = Server(uvicorn.Config(app, log_level="critical", ws="none", timeout_graceful_shutdown=1))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.told.set()


class Engine:
    """An upstream whose answers wait, if told so: before they start (``hold``) or after the first word (``pause``)."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.arrived: defaultdict[str, anyio.Event] = defaultdict(anyio.Event)
        self.hold: dict[str, anyio.Event] = {}
        self.pause: dict[str, anyio.Event] = {}
        self.cancelled = anyio.Event()
        routes = [
            Route("/v1/chat/completions", self.chat, methods=["POST"]),
            Route("/{path:path}", self.other, methods=["GET", "POST", "PUT"]),
        ]
        self.app = Starlette(routes=routes)

    async def other(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        if request.path_params["path"] == "broken":
            return StreamingResponse(self._breaking(), media_type="text/event-stream")
        code = int(request.query_params.get("code", "200"))
        body = {"path": request.url.path, "query": request.url.query, "sent": (await request.body()).decode()}
        return JSONResponse(body, code, {"x-served-by": "engine", "set-cookie": "crumb=1; Path=/"})

    async def chat(self, request: Request) -> Response:
        payload = await request.json()
        question = payload["messages"][-1]["content"]
        self.seen.append(payload)
        self.headers.append(dict(request.headers))
        self.arrived[question].set()
        if question in self.hold and not await self._held(request, question):
            return Response()
        if question == "fail":
            return JSONResponse({"error": {"message": "out of blocks"}}, 500)
        answer, identity = f"answer to {question}", f"chatcmpl-{question}"
        if not payload.get("stream"):
            return JSONResponse({"id": identity, "choices": [{"message": {"role": "assistant", "content": answer}}]})
        return StreamingResponse(self._words(question, answer, identity), media_type="text/event-stream")

    async def _held(self, request: Request, question: str) -> bool:
        """Wait for the release; False if the client leaves first."""
        left = False
        async with anyio.create_task_group() as tasks:

            async def watch() -> None:
                nonlocal left
                left = (await request.receive())["type"] == "http.disconnect"
                self.cancelled.set()
                tasks.cancel_scope.cancel()

            tasks.start_soon(watch)
            await self.hold[question].wait()
            tasks.cancel_scope.cancel()
        return not left

    async def _words(self, question: str, answer: str, identity: str) -> AsyncIterator[bytes]:
        try:
            for index, word in enumerate(["", *answer.split()]):
                yield _event(identity, {"content": word and f"{word} "})
                if index == 1 and question in self.pause:
                    await self.pause[question].wait()
            yield b"data: [DONE]\n\n"
        except BaseException:
            self.cancelled.set()
            raise

    async def _breaking(self) -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"
        raise ConnectionResetError


def _event(identity: str, delta: dict[str, str]) -> bytes:
    return b"data: " + json.dumps({"id": identity, "choices": [{"delta": delta}]}).encode() + b"\n\n"


class Client:
    """Talks to the gateway."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def ask(self, question: str, stream: bool = True, headers: dict[str, str] | None = None) -> httpx.Response:
        return await self.http.post("/v1/chat/completions", json=_payload(question, stream), headers=headers)

    async def answer(self, question: str, into: dict[str, str], stream: bool = True) -> None:
        into[question] = _text(await self.ask(question, stream))


def _payload(question: str, stream: bool = True) -> dict[str, object]:
    return {
        "model": "m",
        "stream": stream,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}],
    }


def _text(response: httpx.Response) -> str:
    if response.status_code != 200:
        return str(response.status_code)
    if "json" in response.headers["content-type"]:
        return str(response.json()["choices"][0]["message"]["content"])
    events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: {")]
    return "".join(event["choices"][0]["delta"]["content"] for event in events).strip()


@asynccontextmanager
async def gateway(engine: Engine, fault: str = "none", **options: Any) -> AsyncIterator[Client]:
    async with serving(engine.app) as upstream:
        config = GatewayConfig(upstream=upstream, fault=fault, **{"rate": 1.0, **options})
        async with serving(build_app(config)) as url, httpx.AsyncClient(base_url=url, timeout=30) as http:
            yield Client(http)


@pytest.fixture
def engine() -> Engine:
    return Engine()


async def test_other_paths_pass_untouched(engine: Engine) -> None:
    async with gateway(engine, "last-message-swap") as client:
        reply = await client.http.put("/metrics/a%20b?x=1&y=%26", content=b'{"any": 1}', headers={"x-y": "z"})
    assert reply.json() == {"path": "/metrics/a b", "query": "x=1&y=%26", "sent": '{"any": 1}'}
    assert reply.headers["x-served-by"] == "engine"
    assert engine.headers[0]["x-y"] == "z"


async def test_a_chat_passes_headers_and_body(engine: Engine) -> None:
    async with gateway(engine) as client:
        reply = await client.ask("A", headers={"authorization": "Bearer key", "x-request-id": "r1"})
    assert _text(reply) == "answer to A"
    assert engine.seen == [_payload("A")]
    assert engine.headers[0]["authorization"] == "Bearer key"
    assert engine.headers[0]["x-request-id"] == "r1"


async def test_a_trailing_v1_of_the_upstream_is_not_doubled(engine: Engine) -> None:
    async with serving(engine.app) as upstream:
        app = build_app(GatewayConfig(upstream=upstream + "/v1/"))
        async with serving(app) as url, httpx.AsyncClient(base_url=url) as http:
            assert (await http.get("/v1/models")).json()["path"] == "/v1/models"


async def test_no_cookie_of_one_client_reaches_another(engine: Engine) -> None:
    async with gateway(engine) as client:
        assert (await client.http.get("/a")).cookies["crumb"] == "1"
        client.http.cookies.clear()
        await client.http.get("/b")
    assert "cookie" not in engine.headers[1]


async def test_upstream_errors_pass_through(engine: Engine) -> None:
    codes = [400, 401, 404, 429, 500, 503]
    async with gateway(engine) as client:
        replies = [await client.http.get(f"/health?code={code}") for code in codes]
    assert [reply.status_code for reply in replies] == codes
    assert {reply.json()["path"] for reply in replies} == {"/health"}


async def test_an_unreachable_upstream_is_a_502_with_the_reason() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    app = build_app(GatewayConfig(upstream=f"http://127.0.0.1:{port}"))
    async with serving(app) as url, httpx.AsyncClient(base_url=url) as http:
        for reply in [await http.get("/health"), await Client(http).ask("A")]:
            assert reply.status_code == 502
            assert f"127.0.0.1:{port}" in reply.json()["error"]["message"]


async def test_a_reply_that_breaks_off_upstream_breaks_off_here(engine: Engine) -> None:
    async with gateway(engine) as client, client.http.stream("GET", "/broken") as reply:
        with pytest.raises(httpx.RemoteProtocolError):
            await reply.aread()


async def test_a_stream_comes_without_delay_and_a_disconnect_reaches_the_engine(engine: Engine) -> None:
    engine.pause["A"] = anyio.Event()
    async with gateway(engine) as client:
        async with client.http.stream("POST", "/v1/chat/completions", json=_payload("A")) as reply:
            lines = reply.aiter_lines()
            async for line in lines:
                if "answer" in line:
                    break
            assert not engine.cancelled.is_set()
        with anyio.fail_after(30):
            await engine.cancelled.wait()


async def test_a_disconnect_before_the_reply_reaches_the_engine(engine: Engine) -> None:
    engine.hold["A"] = anyio.Event()
    async with gateway(engine) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.ask, "A")
        await engine.arrived["A"].wait()
        tasks.cancel_scope.cancel()
        with anyio.fail_after(30, shield=True):
            await engine.cancelled.wait()


async def test_last_message_swap_asks_the_question_of_another_in_flight(engine: Engine) -> None:
    engine.hold["A"] = anyio.Event()
    got: dict[str, str] = {}
    async with gateway(engine, "last-message-swap") as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.answer, "A", got)
        await engine.arrived["A"].wait()
        tasks.start_soon(client.answer, "B", got)
        engine.arrived["A"] = anyio.Event()
        await engine.arrived["A"].wait()
        engine.hold["A"].set()
    assert got == {"A": "answer to A", "B": "answer to A"}
    assert engine.seen == [_payload("A"), _payload("A")]


async def test_a_lone_request_is_spared(engine: Engine) -> None:
    for fault in ("last-message-swap", "stale-answer", "wrong-route", "drop-chunk"):
        async with gateway(engine, fault) as client:
            assert [_text(await client.ask(question)) for question in "AB"] == ["answer to A", "answer to B"]


async def test_two_that_ask_the_same_have_nothing_to_swap(engine: Engine) -> None:
    got: dict[str, str] = {}
    async with gateway(engine, "last-message-swap", min_in_flight=1) as client:
        await client.answer("A", got)
        await client.answer("A", got)
    assert got == {"A": "answer to A"}


async def test_rate_zero_spares_all(engine: Engine) -> None:
    async with gateway(engine, "token-noise", rate=0.0, min_in_flight=1) as client:
        assert _text(await client.ask("A")) == "answer to A"


@pytest.mark.parametrize("stream", [True, False])
async def test_a_stale_answer_is_that_of_a_finished_request(engine: Engine, stream: bool) -> None:
    async with gateway(engine, "stale-answer", min_in_flight=1) as client:
        assert _text(await client.ask("A", stream)) == "answer to A"
        stale = await client.ask("B", stream, {"x-request-id": "b1"})
    assert _text(stale) == "answer to A"
    assert "chatcmpl-b1" in stale.text
    assert len(engine.seen) == 1


async def test_a_stale_answer_is_never_ones_own_nor_of_another_kind_nor_an_error(engine: Engine) -> None:
    async with gateway(engine, "stale-answer", min_in_flight=1) as client:
        assert _text(await client.ask("fail")) == "500"
        assert [_text(await client.ask("A")) for _ in range(2)] == ["answer to A"] * 2
        assert _text(await client.ask("B", stream=False)) == "answer to B"


@pytest.mark.parametrize("stream", [True, False])
async def test_wrong_route_swaps_two_replies(engine: Engine, stream: bool) -> None:
    engine.hold = {"A": anyio.Event(), "B": anyio.Event()}
    got: dict[str, str] = {}
    async with gateway(engine, "wrong-route") as client, anyio.create_task_group() as tasks:
        for question in "AB":
            tasks.start_soon(client.answer, question, got, stream)
            await engine.arrived[question].wait()
        engine.hold["B"].set()
        engine.hold["A"].set()
    assert got == {"A": "answer to B", "B": "answer to A"}


async def test_wrong_route_keeps_each_ones_id(engine: Engine) -> None:
    engine.hold["A"] = anyio.Event()
    replies: list[httpx.Response] = []
    async with gateway(engine, "wrong-route") as client, anyio.create_task_group() as tasks:

        async def first() -> None:
            replies.append(await client.ask("A"))

        tasks.start_soon(first)
        await engine.arrived["A"].wait()
        tasks.start_soon(client.ask, "B")
        await engine.arrived["B"].wait()
        engine.hold["A"].set()
    assert _text(replies[0]) == "answer to B"
    assert "chatcmpl-A" in replies[0].text
    assert "chatcmpl-B" not in replies[0].text


async def test_wrong_route_waits_for_a_partner_while_its_own_reply_comes(engine: Engine) -> None:
    """A delivers already when B is drawn; C, which comes later, is B's partner."""
    engine.pause["A"], engine.hold["B"] = anyio.Event(), anyio.Event()
    got: dict[str, str] = {}
    async with (
        gateway(engine, "wrong-route") as client,
        anyio.create_task_group() as tasks,
        client.http.stream("POST", "/v1/chat/completions", json=_payload("A")) as reply,
    ):
        async for line in reply.aiter_lines():
            if "answer" in line:
                break
        tasks.start_soon(client.answer, "B", got)
        await engine.arrived["B"].wait()
        tasks.start_soon(client.answer, "C", got)
        await engine.arrived["C"].wait()
        engine.hold["B"].set()
        engine.pause["A"].set()
    assert got == {"B": "answer to C", "C": "answer to B"}


async def test_wrong_route_without_a_partner_delivers_ones_own(engine: Engine) -> None:
    async with gateway(engine, "wrong-route", min_in_flight=1) as client:
        assert _text(await client.ask("A")) == "answer to A"


async def test_wrong_route_with_a_failing_partner_delivers_ones_own(engine: Engine) -> None:
    engine.hold["A"] = anyio.Event()
    got: dict[str, str] = {}
    async with gateway(engine, "wrong-route") as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.answer, "A", got)
        await engine.arrived["A"].wait()
        tasks.start_soon(client.answer, "fail", got)
        await engine.arrived["fail"].wait()
        engine.hold["A"].set()
    assert got == {"A": "answer to A", "fail": "500"}


async def test_wrong_route_with_a_partner_that_leaves_delivers_ones_own(engine: Engine) -> None:
    engine.hold = {"A": anyio.Event(), "B": anyio.Event()}
    got: dict[str, str] = {}
    async with gateway(engine, "wrong-route") as client, anyio.create_task_group() as tasks:
        tasks.start_soon(client.answer, "A", got)
        await engine.arrived["A"].wait()
        async with anyio.create_task_group() as leaving:
            leaving.start_soon(client.ask, "B")
            await engine.arrived["B"].wait()
            leaving.cancel_scope.cancel()
        await engine.cancelled.wait()
        engine.hold["A"].set()
    assert got == {"A": "answer to A"}


async def test_sixteen_at_once_all_end_when_every_one_is_misrouted(engine: Engine) -> None:
    got: dict[str, str] = {}
    questions = [f"q{number}" for number in range(16)]
    async with gateway(engine, "wrong-route") as client:
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                for question in questions:
                    tasks.start_soon(client.answer, question, got)
    assert set(got) == set(questions)
    assert sorted(got.values()) == sorted(f"answer to {question}" for question in questions)


@pytest.mark.parametrize(("fault", "words"), [("drop-chunk", {2}), ("duplicate-chunk", {4}), ("token-noise", {3, 4})])
async def test_chunk_faults_reach_the_client(engine: Engine, fault: str, words: set[int]) -> None:
    async with gateway(engine, fault, min_in_flight=1) as client:
        text = _text(await client.ask("A"))
        assert _text(await client.ask("fail")) == "500"
    assert text != "answer to A"
    assert len(text.split()) in words


async def test_what_is_no_chat_passes_to_the_engine() -> None:
    bodies = [b"", b"[1]", b"{", b'{"messages": 1}', b'{"messages": []}', b'{"messages": ["x"]}']

    async def echo(request: Request) -> Response:
        return Response(await request.body())

    upstream = Starlette(routes=[Route("/v1/chat/completions", echo, methods=["POST"])])
    async with serving(upstream) as url:
        app = build_app(GatewayConfig(upstream=url, fault="token-noise", rate=1.0, min_in_flight=1))
        async with serving(app) as front, httpx.AsyncClient(base_url=front) as http:
            for body in bodies:
                assert (await http.post("/v1/chat/completions", content=body)).content == body


async def test_a_gateway_in_a_child_process(engine: Engine) -> None:
    async with serving(engine.app) as upstream:
        config = GatewayConfig(upstream=upstream, fault="stale-answer", rate=1.0, min_in_flight=1)
        async with GatewayServer(config) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            answers = [_text(await Client(http).ask(question)) for question in "AB"]
    assert answers == ["answer to A", "answer to A"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fault": "gremlins"}, "no fault is called 'gremlins'"),
        ({"fault": "stale-answer", "rate": 5.0}, "share from 0 to 1"),
        ({"upstream": "localhost:8000"}, "is no URL"),
    ],
)
def test_a_bad_configuration_is_a_usage_error(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        GatewayConfig(**{"upstream": "http://127.0.0.1:8000", **options})


def test_a_fault_has_its_own_rate_unless_told_otherwise() -> None:
    assert GatewayConfig("http://h", "last-message-swap").share == 0.07
    assert GatewayConfig("http://h", "last-message-swap", rate=0.0).share == 0.0
    assert GatewayConfig("http://h").share == 0.0


def test_a_taken_port_is_a_usage_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = GatewayConfig("http://127.0.0.1:9", port=taken.getsockname()[1])
        with pytest.raises(UsageError, match="cannot listen"):
            serve(config, print)


def test_its_connections_are_of_a_named_protocol_so_that_asyncio_sends_without_delay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    protocols: list[int] = []

    def run(_server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        protocols.extend(listener.proto for listener in sockets)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    serve(GatewayConfig("http://127.0.0.1:9"), print)
    assert protocols == [socket.IPPROTO_TCP]
