from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from anyio.abc import ByteStream

from fuzzer.errors import UsageError
from fuzzer.history.records import Counters, Draft, Message, Received, TokenLogprob, Usage
from fuzzer.plan import Endpoint
from fuzzer.wire.bounds import Limits
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import LLAMACPP, VLLM, Dialect
from fuzzer.wire.params import Params

from .servers import Handler, Request, answering, data, delta, http, routing, serving, sse, usage, whole

pytestmark = pytest.mark.anyio
MESSAGES = (Message(role="user", content="Hi"),)
STREAM = Params(max_tokens=5)
WHOLE = Params(max_tokens=5, stream=False)


async def ask(handler: Handler, params: Params = STREAM, dialect: Dialect = VLLM, **options: Any) -> Received:
    async with serving(handler) as url:
        endpoint = Endpoint(name="candidate", url=url, model="m")
        async with Client(endpoint, dialect, **({"timeout": 60} | options)) as client:
            return await client.ask(MESSAGES, params)


async def test_a_stream_becomes_one_answer_with_its_account() -> None:
    first = delta("", token_ids=[]) | {"system_fingerprint": "fp"}
    first["choices"][0]["delta"]["role"] = "assistant"
    counts = usage(3, 9, prompt_tokens_details={"cached_tokens": 4})
    received = await ask(
        answering(
            sse(first, delta("Hel", token_ids=[1]), delta("lo", token_ids=[2, 3]), delta("!", finish="stop"), counts)
        )
    )
    assert (received.outcome, received.detail, received.anomalies) == ("ok", "", ())
    assert (received.text, received.finish_reason, received.parts) == ("Hello!", "stop", 3)
    assert received.token_ids == (1, 2, 3)
    assert received.usage == Usage(prompt_tokens=9, completion_tokens=3, cached_tokens=4)
    assert (received.model, received.fingerprint, received.request_id) == ("m", "fp", "chatcmpl-1")
    assert received.http_status == 200
    assert received.first_ns is not None
    assert received.first_ns <= received.end_ns


async def test_a_body_becomes_the_same_answer() -> None:
    reply = whole("Hello!", usage={"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None})
    reply["choices"][0]["token_ids"] = [1, 2, 3]
    received = await ask(answering(http(json.dumps(reply).encode())), WHOLE)
    assert (received.outcome, received.anomalies) == ("ok", ())
    assert (received.text, received.finish_reason, received.parts) == ("Hello!", "stop", 1)
    assert (received.token_ids, received.usage) == ((1, 2, 3), Usage(prompt_tokens=9, completion_tokens=3))


async def test_the_request_says_what_was_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIRE_KEY", " secret\n")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    seen: list[Request] = []

    async def handler(request: Request, stream: ByteStream) -> None:
        seen.append(request)
        await stream.send(sse(delta("x", finish="stop")))

    async with serving(handler) as url:
        endpoint = Endpoint(name="c", url=f"{url}/v1", model="m", api_key_env="WIRE_KEY", headers={"X-Team": "a b"})
        async with Client(endpoint, VLLM, timeout=60) as client:
            received = await client.ask(MESSAGES, Params(max_tokens=5, seed=2, request_id="run-7"))
    assert received.outcome == "ok"
    assert seen[0].path == "/v1/chat/completions"
    assert seen[0].body == VLLM.body("m", MESSAGES, Params(max_tokens=5, seed=2))
    expected = {
        "authorization": "Bearer secret",
        "x-request-id": "run-7",
        "x-team": "a b",
        "accept-encoding": "identity",
    }
    assert seen[0].headers.items() >= (expected | {"content-type": "application/json"}).items()


async def test_a_key_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIRE_KEY", raising=False)
    endpoint = Endpoint(name="candidate", url="http://127.0.0.1:1", api_key_env="WIRE_KEY")
    with pytest.raises(UsageError, match=r"candidate: .* WIRE_KEY \(--api-key-env\) is not set"):
        Client(endpoint, VLLM, timeout=1)
    with pytest.raises(UsageError, match="--reference-api-key-env"):
        Client(endpoint, VLLM, timeout=1, role="reference")


async def test_a_key_never_gets_into_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIRE_KEY", "sk-hush")
    page = http(b'{"error": {"message": "no such key: sk-hush"}}', status=401)
    async with serving(answering(page)) as url:
        endpoint = Endpoint(name="c", url=url, api_key_env="WIRE_KEY")
        async with Client(endpoint, VLLM, timeout=60) as client:
            received = await client.ask(MESSAGES, STREAM)
    assert received.outcome == "unauthorised"
    assert "no such key: ***" in received.detail
    assert "sk-hush" not in received.model_dump_json()


@pytest.mark.parametrize("stream", [True, False])
async def test_the_first_content_is_told_once(stream: bool) -> None:
    told: list[int] = []
    role = delta("")
    role["choices"][0]["delta"]["role"] = "assistant"
    page = sse(role, delta("a"), delta("b", finish="stop")) if stream else http(json.dumps(whole()).encode())
    async with serving(answering(page)) as url, Client(Endpoint(name="c", url=url), VLLM, timeout=60) as client:
        await client.ask(MESSAGES, Params(max_tokens=5, stream=stream), lambda: told.append(1))
    assert told == [1]


async def test_a_stream_without_content_is_an_empty_answer() -> None:
    received = await ask(answering(sse(delta(""), delta(None, finish="stop"), usage(1))))
    assert (received.outcome, received.text, received.parts) == ("ok", "", 0)
    assert received.first_ns is None


async def test_reasoning_and_tool_arguments_are_kept_apart() -> None:
    def chunk(**fields: object) -> dict[str, Any]:
        return {"choices": [{"index": 0, "delta": fields}]}

    def call(index: int, arguments: str | None) -> dict[str, Any]:
        return {"index": index, "function": {"name": "f", "arguments": arguments}}

    received = await ask(
        answering(
            sse(
                chunk(reasoning_content="hm"),
                chunk(reasoning="m "),
                chunk(content="a"),
                chunk(tool_calls=[call(0, None)]),
                chunk(tool_calls=[call(0, '{"x"'), call(1, "{}")]),
                chunk(tool_calls=[call(0, ":1}")]),
                delta(None, finish="tool_calls"),
            )
        )
    )
    assert (received.reasoning, received.text, received.tool_arguments) == ("hmm ", "a", '{"x":1}\n{}')
    assert (received.finish_reason, received.outcome) == ("tool_calls", "ok")


class TestTokens:
    async def test_log_probabilities_come_with_ids_where_those_are_known(self) -> None:
        top = [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1}]
        content = [{"token": "a", "logprob": -0.5, "top_logprobs": top}]
        received = await ask(
            answering(sse(delta("a", finish="stop", logprobs={"content": content}, token_ids=[7]), usage(1))),
            Params(max_tokens=5, logprobs=2),
        )
        assert received.logprobs == (TokenLogprob(token="a", id=7, logprob=-0.5, top=(("a", -0.5), ("b", -1.0))),)
        assert received.logprobs[0].margin == 0.5

    async def test_an_accepted_draft_token_has_no_log_probability(self) -> None:
        entry = {"id": 5, "token": "a", "bytes": [97], "logprob": 0.0, "top_logprobs": []}
        received = await ask(
            answering(sse(delta("a", logprobs={"content": [entry]}), delta("b", finish="length"), usage(2))),
            Params(max_tokens=2, logprobs=2),
            LLAMACPP,
        )
        assert received.logprobs == (TokenLogprob(token="a", id=5), TokenLogprob(token="b"))
        assert received.token_ids is None

    @pytest.mark.parametrize(
        ("finish", "completion", "expected"),
        [("length", 2, (5, 6)), ("stop", 3, (5, 6)), ("length", 3, None), ("stop", 4, None)],
    )
    async def test_ids_from_log_probabilities_are_kept_only_if_none_is_missing(
        self, finish: str, completion: int, expected: tuple[int, ...] | None
    ) -> None:
        def entry(token: str, number: int) -> dict[str, Any]:
            return {"id": number, "token": token, "logprob": -1, "top_logprobs": [{"token": token, "logprob": -1}]}

        chunks = [delta(token, logprobs={"content": [entry(token, n)]}) for token, n in (("a", 5), ("b", 6))]
        page = sse(*chunks, delta(None, finish=finish), usage(completion))
        received = await ask(answering(page), Params(max_tokens=4, logprobs=1), LLAMACPP)
        assert received.token_ids == expected

    async def test_llama_cpp_gives_ids_in_the_verbose_part_of_a_body(self) -> None:
        page = json.dumps(whole("ab") | {"__verbose": {"tokens": [5, 6, 2]}}).encode()
        assert (await ask(answering(http(page)), WHOLE, LLAMACPP)).token_ids == (5, 6, 2)

    async def test_malformed_extras_leave_the_answer_usable(self) -> None:
        page = sse(
            delta("a", token_ids=["x", True, -1, 2**60]),
            data(delta("b", logprobs={"content": [{"token": 3}, {"token": "b", "logprob": 7}]})).replace(
                b"7", b"1e999"
            ),
            delta("c", finish="stop", logprobs="none"),
            usage("many", True, prompt_tokens_details={"cached_tokens": -3}),
        )
        received = await ask(answering(page), Params(max_tokens=5, logprobs=1))
        assert (received.outcome, received.text) == ("ok", "abc")
        assert set(received.anomalies) == {"bad-token-ids", "bad-logprobs", "bad-usage"}
        assert (received.token_ids, received.usage) == (None, Usage())


class TestDrafts:
    async def test_llama_cpp_tells_in_timings_and_leaves_zero_out(self) -> None:
        timings = {"cache_n": 30, "prompt_n": 5, "predicted_n": 4}
        page = sse(delta("a", finish="stop") | {"timings": timings | {"draft_n": 6, "draft_n_accepted": 2}})
        received = await ask(answering(page), dialect=LLAMACPP)
        assert received.draft == Draft(drafted=6, accepted=2)
        assert received.usage == Usage(prompt_tokens=35, completion_tokens=4, cached_tokens=30)
        received = await ask(answering(sse(delta("a", finish="stop") | {"timings": timings})), dialect=LLAMACPP)
        assert received.draft == Draft(drafted=0, accepted=0)

    async def test_vllm_tells_in_metrics_if_it_is_told_to(self) -> None:
        told = {"num_draft_tokens": 12, "num_accepted_draft_tokens": 7, "num_spec_steps": 3}
        page = sse(delta("a", finish="stop"), usage(10) | {"metrics": {"speculative_decoding": told}})
        assert (await ask(answering(page))).draft == Draft(drafted=12, accepted=7, steps=3)
        page = sse(delta("a", finish="stop"), usage(10) | {"metrics": {"speculative_decoding": None}})
        assert (await ask(answering(page))).draft is None


def renamed(chunk: dict[str, Any], **fields: str) -> dict[str, Any]:
    return chunk | fields


def with_role(chunk: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(chunk))
    copy["choices"][0]["delta"]["role"] = "assistant"
    return copy


END = delta(None, finish="stop")
ODD: dict[str, tuple[bytes, tuple[str, ...], str]] = {
    "nothing": (sse(delta("a"), delta("a"), END, usage(2)), (), "aa"),
    "no-done": (sse(delta("a"), END, done=False), ("no-done",), "a"),
    "no-finish-reason": (sse(delta("a")), ("no-finish-reason",), "a"),
    "after-done": (sse(delta("a", finish="stop"), b"data: [DONE]\n\n", delta("b")), ("after-done",), "a"),
    "content-after-finish": (sse(END, delta("a")), ("content-after-finish",), "a"),
    "finish-twice": (sse(delta("a"), END, END), ("finish-twice",), "a"),
    "another choice": (sse(delta("a"), delta("b", index=1), END), ("chunk-index",), "a"),
    "role-twice": (sse(with_role(delta("a")), delta("b"), with_role(END)), ("role-twice",), "ab"),
    "role in every chunk": (sse(with_role(delta("a")), with_role(delta("b")), END), (), "ab"),
    "id-changed": (sse(delta("a"), renamed(delta("b", finish="stop"), id="other")), ("id-changed",), "ab"),
    "model-changed": (sse(delta("a"), renamed(delta("b", finish="stop"), model="n")), ("model-changed",), "ab"),
    "more chunks than tokens": (sse(delta("a"), delta("a"), END, usage(1)), ("duplicate-chunk",), "aa"),
    "more ids than tokens": (
        sse(delta("a", token_ids=[1, 2]), delta("a", token_ids=[1, 2]), END, usage(2)),
        ("duplicate-chunk",),
        "aa",
    ),
    "pair cut in two": (sse(delta("\ud83d"), delta("\ude00"), END), ("split-surrogate",), "😀"),
    "no content type": (sse(delta("a", finish="stop")).replace(b"content-type", b"x-other"), ("no-content-type",), "a"),
    "a body": (http(json.dumps(whole("a")).encode()), ("not-streamed",), "a"),
    "a comment": (sse(b": ping\n\n", delta("a", finish="stop")), (), "a"),
    "no last blank line": (sse(delta("a", finish="stop"), b"data: [DONE]", done=False), (), "a"),
}


@pytest.mark.parametrize("case", ODD)
async def test_oddities_are_listed_and_leave_the_answer_usable(case: str) -> None:
    page, anomalies, text = ODD[case]
    received = await ask(answering(page))
    assert (received.outcome, received.detail) == ("ok", "")
    assert (received.anomalies, received.text) == (anomalies, text)


async def test_a_stream_that_nobody_asked_for_is_read_all_the_same() -> None:
    received = await ask(answering(sse(delta("a", finish="stop"))), WHOLE)
    assert (received.outcome, received.text, received.anomalies) == ("ok", "a", ("streamed",))


async def test_a_connection_left_open_after_done_does_not_hold_up_the_exchange() -> None:
    async def handler(_: Request, stream: ByteStream) -> None:
        await stream.send(sse(delta("a", finish="stop")))
        await anyio.sleep_forever()

    received = await ask(handler)
    assert (received.outcome, received.anomalies) == ("ok", ("open-after-done",))


class TestCancellation:
    async def test_it_passes_through_and_frees_the_server(self) -> None:
        gone = anyio.Event()
        began = anyio.Event()

        async def handler(_: Request, stream: ByteStream) -> None:
            await stream.send(sse(delta("a"), done=False))
            try:
                await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                gone.set()

        async with serving(handler) as url, Client(Endpoint(name="c", url=url), VLLM, timeout=60) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.ask, MESSAGES, STREAM, began.set)
                await began.wait()
                group.cancel_scope.cancel()
            with anyio.fail_after(30):
                await gone.wait()


async def test_a_thousand_exchanges_are_in_flight_at_once() -> None:
    waiting = 0
    all_there = anyio.Event()

    async def handler(_: Request, stream: ByteStream) -> None:
        nonlocal waiting
        waiting += 1
        if waiting == 1000:
            all_there.set()
        await all_there.wait()
        await stream.send(sse(delta("a", finish="stop")))

    replies: list[Received] = []
    async with serving(handler) as url, Client(Endpoint(name="c", url=url), VLLM, timeout=120) as client:

        async def one() -> None:
            replies.append(await client.ask(MESSAGES, STREAM))

        async with anyio.create_task_group() as group:
            for _ in range(1000):
                group.start_soon(one)
    assert {reply.outcome for reply in replies} == {"ok"}


async def test_every_request_has_a_connection_of_its_own() -> None:
    # A server that promises to keep a connection and closes it anyway must not cost an exchange.
    lying = sse(delta("a", finish="stop")).replace(b"connection: close", b"keep-alive: timeout=5, max=100")
    body = lying.partition(b"\r\n\r\n")[2]
    framed = lying.replace(b"keep-alive", b"content-length: %d\r\nkeep-alive" % len(body))
    async with serving(answering(framed)) as url, Client(Endpoint(name="c", url=url), VLLM, timeout=60) as client:
        assert [(await client.ask(MESSAGES, STREAM)).outcome for _ in range(5)] == ["ok"] * 5


async def counters(pages: dict[str, bytes], dialect: Dialect) -> Counters | None:
    async with serving(routing(pages)) as url:
        endpoint = Endpoint(name="c", url=f"{url}/v1")
        async with Client(endpoint, dialect, timeout=60) as client:
            return await client.counters()


class TestCounters:
    async def test_they_are_read_beside_the_traffic(self) -> None:
        told = await counters({"/metrics": http(b"vllm:num_requests_running 3\n", kind="text/plain")}, VLLM)
        assert told is not None
        assert (told.running, told.drafts) == (3, None)

    async def test_llama_cpp_without_metrics_still_has_slots(self) -> None:
        told = await counters({"/slots": http(b'[{"is_processing": true}, {"is_processing": true}]')}, LLAMACPP)
        assert told is not None
        assert told.running == 2

    async def test_there_are_none_where_there_is_no_page_or_no_server(self) -> None:
        assert await counters({}, VLLM) is None
        async with Client(Endpoint(name="c", url="http://127.0.0.1:1"), VLLM, timeout=60) as client:
            assert await client.counters() is None


async def test_bounds_can_be_set() -> None:
    received = await ask(answering(sse(*[delta("a")] * 10)), limits=Limits(chunks=3))
    assert received.outcome == "too-large"
    received = await ask(answering(sse(*[delta("a")] * 10)), limits=Limits(body_bytes=1000))
    assert received.outcome == "too-large"
    assert received.text
