"""CONSTRUCTED: TensorRT-LLM, mlx-lm and LMDeploy by their source (cited in ``features``); only mlx-lm was asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fuzzer.history.records import Message
from fuzzer.plan import Endpoint, Engine
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.features import FEATURES
from fuzzer.wire.identify import Identity, identify
from fuzzer.wire.params import Params

from .servers import answering, http, routing, serving

pytestmark = pytest.mark.anyio

HELLO = (Message(role="user", content="hello"),)
CONSTRUCTED: tuple[Engine, ...] = ("trtllm", "mlx", "lmdeploy")


def page(value: object, **more: Any) -> bytes:
    return http(json.dumps(value).encode(), **more)


def text(content: bytes) -> bytes:
    return http(content, kind="text/plain; version=0.0.4")


def models(**more: object) -> dict[str, object]:
    return {"object": "list", "data": [{"id": "M", "object": "model", **more}]}


TRTLLM = {
    "/v1/models": page(models(owned_by="tensorrt_llm")),
    "/version": page({"version": "1.2"}),
    "/metrics": page([{"iter": 1, "numActiveRequests": 2}]),
    "/prometheus/metrics": text(
        b'trtllm_num_requests_running{model_name="M"} 2.0\n'
        b'trtllm_kv_cache_utilization{model_name="M"} 0.25\n'
        b'trtllm_generation_tokens_total{model_name="M"} 40.0\n'
        b'trtllm_spec_decode_num_draft_tokens_total{model_name="M"} 30.0\n'
        b'trtllm_spec_decode_num_accepted_tokens_total{model_name="M"} 20.0\n'
    ),
}
MLX = {"/v1/models": page(models(), Server="BaseHTTP/0.6 Python/3.12"), "/health": page({"status": "ok"})}
LMDEPLOY = {
    "/v1/models": page(models(owned_by="lmdeploy")),
    "/metrics": text(b'lmdeploy:num_requests_running{engine="0"} 3\nlmdeploy:gpu_cache_usage_perc{engine="0"} 0.5\n'),
}


def test_nothing_of_these_engines_is_called_tested_or_measured() -> None:
    for engine in ("trtllm", "lmdeploy"):
        assert {feature.standing for feature in FEATURES[engine].values()} <= {"constructed", "absent"}


async def ask(pages: dict[str, bytes]) -> Identity:
    async with serving(routing(pages)) as url:
        return await identify(Endpoint(name="candidate", url=url))


@pytest.mark.parametrize(("engine", "pages"), [("trtllm", TRTLLM), ("mlx", MLX), ("lmdeploy", LMDEPLOY)])
async def test_each_is_known_by_its_pages(engine: Engine, pages: dict[str, bytes]) -> None:
    found = await ask(pages)
    assert (found.engine, found.model, found.warnings) == (engine, "M", ())


async def test_drafting_is_told_by_tensorrt_llm_alone_and_only_where_it_is_on() -> None:
    assert (await ask(TRTLLM)).speculation is None
    told = TRTLLM["/prometheus/metrics"] + b'trtllm_speculative_config_info{method="Eagle"} 1.0\n'
    assert (await ask(TRTLLM | {"/prometheus/metrics": told})).speculation is True
    assert (await ask(MLX)).speculation is None
    assert (await ask(LMDEPLOY)).speculation is None


async def test_a_python_server_that_is_not_mlx_is_not_taken_for_it() -> None:
    other = {"/v1/models": page(models(owned_by="me"), Server="BaseHTTP/0.6 Python/3.12"), "/health": MLX["/health"]}
    assert (await ask(other)).engine == "openai"
    assert (await ask({"/v1/models": MLX["/v1/models"]})).engine == "openai"


@pytest.mark.parametrize(
    ("engine", "pages", "wanted"),
    [
        (
            "trtllm",
            TRTLLM,
            {"running": 2, "generated_tokens": 40, "draft_tokens": 30, "accepted_tokens": 20, "pool_usage": 0.25},
        ),
        ("lmdeploy", LMDEPLOY, {"running": 3, "pool_usage": 0.5}),
    ],
)
async def test_counters_are_read_from_each_ones_page(
    engine: Engine, pages: dict[str, bytes], wanted: dict[str, float]
) -> None:
    async with (
        serving(routing(pages)) as url,
        Client(Endpoint(name="c", url=url, model="M"), dialect_for(engine), timeout=30) as client,
    ):
        counters = await client.counters()
    assert counters is not None
    assert {name: getattr(counters, name) for name in wanted} == wanted


@pytest.mark.parametrize("engine", CONSTRUCTED)
def test_what_would_override_a_servers_defaults_is_sent_with_its_neutral_value(engine: Engine) -> None:
    body = dialect_for(engine).body("M", HELLO, Params(max_tokens=8, thinking="off", salt="s"))
    assert (body["temperature"], body["top_k"], body["min_p"], body["max_tokens"]) == (0, 0, 0, 8)
    assert body["repetition_penalty"] == (0 if engine == "mlx" else 1)
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert ("cache_salt" in body) == (engine == "trtllm")
    assert ("return_token_ids" in body) == (engine == "lmdeploy")
    assert ("enable_thinking" in body) == (engine == "lmdeploy")


async def test_lmdeploy_gives_token_ids_in_the_message() -> None:
    message = {"role": "assistant", "content": "hi", "gen_tokens": [5, 6]}
    reply = {"id": "1", "model": "M", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    async with (
        serving(answering(page(reply))) as url,
        Client(Endpoint(name="c", url=url, model="M"), dialect_for("lmdeploy"), timeout=30) as client,
    ):
        received = await client.ask(HELLO, Params(max_tokens=8, stream=False))
    assert (received.outcome, received.token_ids) == ("ok", (5, 6))
