"""When a request leaves, when it is broken off, and what a schedule changes about it."""

from __future__ import annotations

import anyio
import pytest
from anyio.abc import ByteStream

from fuzzer.history.records import Message, Received
from fuzzer.history.schedule import Overrides
from fuzzer.plan import Endpoint
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import LLAMACPP, OPENAI, VLLM, Dialect
from fuzzer.wire.pace import Pace
from fuzzer.wire.params import Params
from fuzzer.wire.pool import kv_pool

from .servers import Request, answering, delta, http, serving, silent, sse, usage

MESSAGES = (Message(role="user", content="Hi"),)
STREAM = Params(max_tokens=5)
FINE = sse(delta("fine"), delta(None, finish="stop"), usage(1))


async def paced(client: Client, pace: Pace, params: Params = STREAM) -> Received:
    return await client.ask(MESSAGES, params, pace=pace)


def client_of(url: str) -> Client:
    return Client(Endpoint(name="candidate", url=url, model="m"), VLLM, timeout=60)


@pytest.mark.anyio
async def test_a_held_request_leaves_when_it_is_released_and_not_before() -> None:
    arrived: list[str] = []

    async def handler(request: Request, stream: ByteStream) -> None:
        arrived.append(request.path)
        await stream.send(FINE)

    ready, seen = anyio.Event(), []
    pace = Pace(hold=True, ready=ready.set)
    async with serving(handler) as url, client_of(url) as client, anyio.create_task_group() as tasks:

        async def ask() -> None:
            seen.append(await paced(client, pace))

        tasks.start_soon(ask)
        await ready.wait()
        assert pace.written_ns is None
        assert arrived == []
        pace.release()
        assert pace.written_ns is not None
    assert [received.text for received in seen] == ["fine"]
    assert arrived == ["/v1/chat/completions"]


@pytest.mark.anyio
async def test_a_request_released_before_it_is_ready_leaves_as_soon_as_it_is() -> None:
    pace = Pace(hold=True)
    pace.release()
    async with serving(answering(FINE)) as url, client_of(url) as client:
        received = await paced(client, pace)
    assert received.outcome == "ok"
    assert pace.written_ns is not None


@pytest.mark.anyio
async def test_a_request_is_broken_off_after_its_milliseconds_and_its_connection_closed() -> None:
    gone = anyio.Event()

    async def handler(_: Request, stream: ByteStream) -> None:
        await stream.send(http(kind="text/event-stream"))
        try:
            await stream.receive()
        except anyio.EndOfStream:
            gone.set()

    async with serving(handler) as url, client_of(url) as client:
        received = await paced(client, Pace(cancel_ms=5))
        await gone.wait()
    assert (received.outcome, received.text) == ("cancelled", "")


@pytest.mark.anyio
async def test_a_request_that_gets_no_reply_is_broken_off_all_the_same() -> None:
    async with serving(silent) as url, client_of(url) as client:
        received = await paced(client, Pace(cancel_ms=5))
    assert received.outcome == "cancelled"


@pytest.mark.anyio
async def test_a_request_is_broken_off_after_its_tokens_and_what_came_is_kept() -> None:
    async def chunks(_: Request, stream: ByteStream) -> None:
        await stream.send(http(kind="text/event-stream"))
        for word in ("one ", "two ", "three "):
            await stream.send(sse(delta(word), done=False).partition(b"\r\n\r\n")[2])
        await anyio.sleep_forever()

    async with serving(chunks) as url, client_of(url) as client:
        received = await paced(client, Pace(cancel_tokens=2))
    assert received.outcome == "cancelled"
    assert received.text.startswith("one two ")


@pytest.mark.anyio
async def test_a_reply_that_ends_before_it_is_broken_off_stands() -> None:
    async with serving(answering(FINE)) as url, client_of(url) as client:
        received = await paced(client, Pace(cancel_tokens=50, cancel_ms=30_000))
    assert received.outcome == "ok"


@pytest.mark.anyio
async def test_of_several_choices_the_first_is_the_answer() -> None:
    second = delta("another") | {}
    second["choices"][0]["index"] = 1
    reply = sse(delta("one"), second, delta(None, finish="stop"), usage(2))
    async with serving(answering(reply)) as url, client_of(url) as client:
        asked = await paced(client, Pace(), Params(max_tokens=5, overrides=Overrides(temperature=1.0, n=2)))
        unasked = await paced(client, Pace())
    assert (asked.text, asked.anomalies) == ("one", ())
    assert unasked.anomalies == ("chunk-index",)


def body(dialect: Dialect, **overrides: object) -> dict[str, object]:
    params = Params(max_tokens=5, overrides=Overrides.model_validate(overrides))
    return dict(dialect.body("m", MESSAGES, params))


def test_a_neighbour_may_send_no_temperature_at_all() -> None:
    assert not {"temperature", "seed"} & body(VLLM, temperature="absent", seed="absent").keys()
    assert body(VLLM, temperature=0.7, seed=9).items() >= {"temperature": 0.7, "seed": 9}.items()
    assert body(VLLM).items() >= {"temperature": 0, "seed": 0}.items()


def test_each_engine_is_asked_in_its_own_words_and_never_for_what_it_lacks() -> None:
    asked = {
        "repetition_penalty": 1.2,
        "ignore_eos": True,
        "slot": 3,
        "stop": ("x",),
        "n": 2,
        "logit_bias": {"7": -1.0},
    }
    common: dict[str, object] = {"stop": ["x"], "n": 2, "logit_bias": {"7": -1.0}}
    assert body(VLLM, **asked).items() >= (common | {"repetition_penalty": 1.2, "ignore_eos": True}).items()
    assert body(LLAMACPP, **asked).items() >= (common | {"repeat_penalty": 1.2, "id_slot": 3}).items()
    assert not {"repetition_penalty", "ignore_eos", "id_slot"} & body(OPENAI, **asked).keys()
    assert "id_slot" not in body(VLLM, **asked)
    assert not {"stop", "logit_bias", "ignore_eos"} & body(VLLM).keys()


def test_the_pool_is_read_where_the_engine_tells() -> None:
    page = b'vllm:cache_config_info{block_size="16",num_gpu_blocks="4096",engine="0"} 1.0\n'
    assert kv_pool("vllm", page, {}, None, None) == (16, 65536)
    told = b'vllm:cache_config_info{block_size="128",num_gpu_blocks="None",kv_cache_size_tokens="9000"} 1.0\n'
    assert kv_pool("vllm", told, {}, None, None) == (128, 9000)
    assert kv_pool("sglang", None, {"page_size": 1, "max_total_num_tokens": 5000}, None, None) == (1, 5000)
    assert kv_pool("llamacpp", None, {}, 8, 1024) == (None, 8192)
    for page in (b"", b"vllm:cache_config_info{block_size=", b'vllm:cache_config_info{block_size="\xff"} 1'):
        assert kv_pool("vllm", page, {}, None, None) == (None, None)
    assert kv_pool("openai", page, {}, 8, 1024) == (None, None)
