from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving

pytestmark = pytest.mark.anyio

QUESTION = {"messages": [{"role": "user", "content": "amber birch cedar 7"}], "temperature": 0}
CHAT = "/v1/chat/completions"


@asynccontextmanager
async def client(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server of its own."""
    async with (
        serving(SimConfig(**settings)) as url,
        httpx.AsyncClient(base_url=url, headers={"connection": "close"}, timeout=30) as http,
    ):
        yield http


async def whole(http: httpx.AsyncClient, **fields: Any) -> dict[str, Any]:
    response = await http.post(CHAT, json=QUESTION | fields)
    assert response.status_code == 200
    body: dict[str, Any] = response.json()
    return body


async def events(http: httpx.AsyncClient, **fields: Any) -> list[Any]:
    response = await http.post(CHAT, json=QUESTION | {"stream": True} | fields)
    assert response.headers["content-type"].startswith("text/event-stream")
    lines = [line.removeprefix("data: ") for line in response.text.split("\n\n") if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


async def metrics(http: httpx.AsyncClient) -> dict[str, float]:
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    return {
        sample.name.removeprefix("vllm:") + sample.labels.get("position", ""): sample.value
        for family in families
        for sample in family.samples
    }


async def test_a_whole_reply_has_the_shape_of_a_completion() -> None:
    async with client() as http:
        body = await whole(http)
    (choice,) = body["choices"]
    assert body["object"] == "chat.completion"
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"].endswith("amber birch cedar 7.")
    assert (choice["finish_reason"], choice["token_ids"], body["prompt_token_ids"]) == ("stop", None, None)
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize("speculative", [False, True])
async def test_a_stream_says_what_the_whole_reply_says(speculative: bool) -> None:
    asked = {"return_token_ids": True, "logprobs": True, "top_logprobs": 2}
    async with client(speculative=speculative) as http:
        body = await whole(http, **asked)
        *chunks, last = await events(http, stream_options={"include_usage": True}, **asked)
    (choice,) = body["choices"]
    deltas = [chunk["choices"][0] for chunk in chunks]
    assert deltas[0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(delta["delta"]["content"] for delta in deltas) == choice["message"]["content"]
    assert [token for delta in deltas for token in delta["token_ids"] or ()] == choice["token_ids"]
    entries = [entry for delta in deltas for entry in (delta["logprobs"] or {}).get("content", ())]
    assert entries == choice["logprobs"]["content"]
    assert [delta["finish_reason"] for delta in deltas] == [None] * (len(deltas) - 1) + ["stop"]
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] == body["usage"]["completion_tokens"] == len(choice["token_ids"])
    assert chunks[0]["prompt_token_ids"] == body["prompt_token_ids"]
    assert len(body["prompt_token_ids"]) == body["usage"]["prompt_tokens"]
    assert len(deltas) > 2


async def test_log_probabilities_come_as_asked() -> None:
    async with client() as http:
        entries = (await whole(http, logprobs=True, top_logprobs=3))["choices"][0]["logprobs"]["content"]
        bare = (await whole(http, logprobs=True))["choices"][0]["logprobs"]["content"]
    for entry in entries:
        assert len(entry["top_logprobs"]) == 3
        assert entry["logprob"] == max(other["logprob"] for other in entry["top_logprobs"])
        assert bytes(entry["bytes"]).decode() == entry["token"]
    assert [entry["top_logprobs"] for entry in bare] == [[]] * len(entries)


async def test_a_swapped_token_stands_first_in_its_list_below_the_maximum() -> None:
    async with client(speculative=True, faults={"row-swap": 1.0}) as http:
        asked = [{"messages": [{"role": "user", "content": f"{word} " * 8}]} for word in ("amber", "birch", "cedar")]
        replies = await asyncio.gather(*(whole(http, **one, logprobs=True, top_logprobs=2) for one in asked))
    entries = [entry for body in replies for entry in body["choices"][0]["logprobs"]["content"]]
    lies = [entry for entry in entries if entry["logprob"] < entry["top_logprobs"][-1]["logprob"]]
    assert lies
    assert all(lie["top_logprobs"][0]["token"] == lie["token"] for lie in lies)


async def test_usage_comes_in_a_stream_only_if_asked_for() -> None:
    async with client() as http:
        assert all("usage" not in chunk for chunk in await events(http))


async def test_request_ids_and_fingerprint() -> None:
    async with client() as http, client(seed=1) as other:
        response = await http.post(CHAT, json=QUESTION, headers={"x-request-id": "mine-7"})
        assert response.json()["id"] == "chatcmpl-mine-7"
        marks = [(await whole(each))["system_fingerprint"] for each in (http, http, other)]
    assert marks[0] == marks[1] != marks[2]
    assert marks[0].startswith("vllm-")


async def test_cached_tokens_are_told() -> None:
    async with client() as http:
        long = [{"role": "user", "content": "word " * 50}]
        details = [(await whole(http, messages=long))["usage"]["prompt_tokens_details"] for _ in range(2)]
    assert details[0] == {"cached_tokens": 0}
    assert details[1]["cached_tokens"] >= 48


async def test_what_the_engine_says_of_itself() -> None:
    async with client(model="tiny", max_model_len=500) as http:
        assert (await http.get("/health")).status_code == 200
        assert (await http.get("/version")).json() == {"version": SimConfig().version}
        (card,) = (await http.get("/v1/models")).json()["data"]
    assert (card["id"], card["max_model_len"]) == ("tiny", 500)


async def test_counters_of_speculation_exist_only_while_it_is_on() -> None:
    async with client(speculative=True) as on, client() as off:
        await whole(on)
        await whole(off)
        speculating, plain = await metrics(on), await metrics(off)
    names = {name for name in speculating if name.startswith("spec_decode")}
    assert {"spec_decode_num_drafts_total", "spec_decode_num_accepted_tokens_per_pos_total3"} <= names
    assert speculating["spec_decode_num_draft_tokens_total"] == 4 * speculating["spec_decode_num_drafts_total"]
    assert not any(name.startswith("spec_decode") for name in plain)
    assert plain["generation_tokens_total"] > 5
    assert plain["prompt_tokens_total"] > 5
    assert plain["request_success_total"] == 1


async def test_silent_speculation_leaves_no_counters() -> None:
    async with client(speculative=True, faults={"spec-off": 1.0}) as http:
        await whole(http)
        assert not any(name.startswith("spec_decode") for name in await metrics(http))


@pytest.mark.parametrize(
    ("fields", "status", "kind"),
    [
        ({"max_tokens": 0}, 400, "BadRequestError"),
        ({"model": "other"}, 404, "NotFoundError"),
        ({"max_tokens": 10**6}, 400, "BadRequestError"),
        ({"messages": []}, 400, "BadRequestError"),
    ],
)
async def test_bad_requests_are_answered_with_an_error_object(fields: dict[str, Any], status: int, kind: str) -> None:
    async with client() as http:
        response = await http.post(CHAT, json=QUESTION | fields)
    assert response.status_code == status
    assert response.json()["error"]["type"] == kind


async def test_a_key_is_asked_for_under_v1_only() -> None:
    async with client(api_key="sesame") as http:
        assert (await http.post(CHAT, json=QUESTION)).status_code == 401
        assert (await http.get("/v1/models")).status_code == 401
        assert (await http.get("/metrics")).status_code == 200
        http.headers["authorization"] = "Bearer sesame"
        assert (await http.post(CHAT, json=QUESTION)).status_code == 200
        assert (await http.get("/v1/models")).status_code == 200


async def test_a_server_error_is_a_500_or_a_stream_that_breaks_off() -> None:
    async with client(faults={"server-error": 1.0}) as http:
        assert (await http.post(CHAT, json=QUESTION)).status_code == 500
        outcomes = set()
        for number in range(30):
            messages = [{"role": "user", "content": f"amber birch {number}"}]
            try:
                response = await http.post(CHAT, json={"messages": messages, "stream": True})
            except httpx.RemoteProtocolError:
                outcomes.add("broken")
            else:
                outcomes.add(str(response.status_code))
    assert outcomes == {"500", "broken"}


async def test_an_empty_reply_is_well_formed() -> None:
    async with client(faults={"empty-200": 1.0}) as http:
        body, chunks = await whole(http), await events(http)
    assert body["choices"][0]["message"]["content"] == ""
    assert body["choices"][0]["finish_reason"] == "stop"
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == ""


async def test_a_truncated_reply_counts_more_than_it_delivers() -> None:
    async with client(faults={"truncate": 1.0}) as http:
        body = await whole(http, return_token_ids=True)
    (choice,) = body["choices"]
    assert len(choice["token_ids"]) < body["usage"]["completion_tokens"]
    assert choice["finish_reason"] == "stop"


async def until(http: httpx.AsyncClient, name: str, value: float) -> None:
    while (await metrics(http))[name] != value:  # noqa: ASYNC110  (only the server's own metrics tell)
        await asyncio.sleep(0.005)


async def test_a_client_that_leaves_frees_its_sequence() -> None:
    async with client(faults={"hang": 1.0}) as http:
        asking = [asyncio.create_task(http.post(CHAT, json=QUESTION | {"stream": stream})) for stream in (True, False)]
        await until(http, "num_requests_running", 2)
        for task in asking:
            task.cancel()
        await until(http, "num_requests_running", 0)


async def test_requests_in_flight_are_seen_running_and_waiting() -> None:
    async with client(max_num_seqs=2, step_seconds=10) as http:
        asking = [asyncio.create_task(whole(http)) for _ in range(5)]
        await until(http, "num_requests_waiting", 3)
        assert (await metrics(http))["num_requests_running"] == 2
        for task in asking:
            task.cancel()
        await until(http, "num_requests_running", 0)
        await until(http, "num_requests_waiting", 0)
