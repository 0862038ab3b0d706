from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from anyio.abc import ByteStream

from fuzzer.history.records import Received
from fuzzer.plan import Endpoint
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import VLLM, Dialect
from fuzzer.wire.negotiate import named_parameter, negotiate

from .servers import Request, delta, http, serving, sse
from .test_client import MESSAGES

pytestmark = pytest.mark.anyio
Judge = Callable[[dict[str, Any]], bytes | None]
WELL = sse(delta("ok", finish="stop"))


async def meet(judge: Judge, dialect: Dialect = VLLM) -> tuple[tuple[str, ...], Received, int, Dialect]:
    """Negotiates with a server that answers what the judge says, or well; also the number of requests it took."""
    seen: list[Request] = []

    async def handler(request: Request, stream: ByteStream) -> None:
        seen.append(request)
        await stream.send(judge(request.body) or WELL)

    async with serving(handler) as url, Client(Endpoint(name="c", url=url, model="m"), dialect, timeout=60) as client:
        result, dropped, received = await negotiate(client, dialect, MESSAGES)
        assert client.dialect == result
    return dropped, received, len(seen), result


def refusal(message: object, status: int = 400) -> bytes:
    return http(json.dumps(message).encode(), status=status)


def picky(*unknown: str) -> Judge:
    """Refuses unknown fields one at a time, as OpenAI's servers do."""

    def judge(body: dict[str, Any]) -> bytes | None:
        wrong = next((name for name in unknown if name in body), None)
        message = f"Unrecognized request argument supplied: {wrong}"
        return refusal({"error": {"message": message}}) if wrong else None

    return judge


async def test_a_server_that_takes_everything_costs_one_request() -> None:
    dropped, received, requests, _ = await meet(lambda _: None)
    assert (dropped, received.outcome, received.text, requests) == ((), "ok", "ok", 1)


async def test_parameters_that_are_named_are_dropped_one_by_one() -> None:
    dropped, received, requests, dialect = await meet(picky("top_k", "min_p", "stream_options"))
    assert (dropped, received.outcome, requests) == (("min_p", "stream_options", "top_k"), "ok", 4)
    assert dialect.dropped == set(dropped)


async def test_refusals_of_pydantic_are_understood() -> None:
    def judge(body: dict[str, Any]) -> bytes | None:
        wrong = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}
        return refusal({"detail": [wrong]}, 422) if "seed" in body else None

    assert (await meet(judge))[0] == ("seed",)


async def test_a_refusal_that_names_nothing_costs_as_little_as_possible() -> None:
    def judge(body: dict[str, Any]) -> bytes | None:
        return refusal("Bad request") if {"min_p", "top_k"} & body.keys() else None

    dropped, received, requests, _ = await meet(judge)
    assert (dropped, received.outcome) == (("min_p", "top_k"), "ok")
    assert requests <= 2 + len(VLLM.neutral) + 3


async def test_nothing_is_dropped_for_a_server_that_refuses_everything() -> None:
    dropped, received, requests, dialect = await meet(lambda _: refusal({"error": "no such model"}))
    assert (dropped, received.outcome, requests, dialect) == ((), "refused", 2, VLLM)
    assert "no such model" in received.detail


async def test_what_makes_the_request_is_never_dropped() -> None:
    dropped, received, _, _ = await meet(lambda _: refusal("temperature must be 1, and max_tokens is not supported"))
    assert (dropped, received.outcome) == ((), "refused")


@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_other_failures_are_not_a_matter_of_parameters(status: int) -> None:
    dropped, received, requests, _ = await meet(lambda _: refusal("min_p", status))
    assert (dropped, received.http_status, requests) == ((), status, 1)


async def test_what_was_dropped_before_stays_dropped_and_is_not_told_again() -> None:
    dropped, _, _, dialect = await meet(picky("top_k"), VLLM.without("min_p"))
    assert dropped == ("top_k",)
    assert dialect.dropped == {"min_p", "top_k"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("unexpected keyword argument 'n'", "n"),
        ("Value must be between n and m", None),
        ("min_p is not supported", "min_p"),
        ("min_pixels is not supported", None),
        ('{"error": {"message": "top_p or min_p?", "param": "top_p"}}', "top_p"),
        ('{"detail": [{"loc": ["body", "min_p"], "msg": "top_p"}]}', "min_p"),
        ("stream_options.include_usage", "stream_options"),
        ("", None),
    ],
)
def test_the_blamed_parameter_is_found(body: str, named: str | None) -> None:
    assert named_parameter(body, ("n", "top_p", "min_p", "stream_options")) == named
