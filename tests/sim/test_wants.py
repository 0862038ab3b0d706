"""Tools, structured output and thinking on the simulated engine's HTTP surface."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from .test_server import CHAT, client, events, whole

pytestmark = pytest.mark.anyio

PARAMETERS = {
    "type": "object",
    "properties": {"owner": {"type": "string"}, "size": {"type": "integer"}},
    "required": ["owner", "size"],
}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": "Does it.", "parameters": PARAMETERS}}
    for name in ("close_ticket", "open_ticket")
]
ASK = {"messages": [{"role": "user", "content": "Call the function open_ticket with owner = Ann Bee, size = 417."}]}
EXPECTED = {"owner": "Ann Bee", "size": 417}
FACTS = {"messages": [{"role": "user", "content": "Write as JSON: owner = Ann Bee, size = 417"}]}
THINKING = {"chat_template_kwargs": {"enable_thinking": True}}
COUNTED = {"return_token_ids": True, "logprobs": True, "top_logprobs": 2}


async def refused(http: httpx.AsyncClient, **fields: Any) -> str:
    response = await http.post(CHAT, json=ASK | fields)
    assert response.status_code == 400
    message: str = response.json()["error"]["message"]
    return message


def said(deltas: list[dict[str, Any]], channel: str) -> str:
    return "".join(delta["delta"].get(channel) or "" for delta in deltas)


async def test_a_call_comes_whole() -> None:
    async with client() as http:
        body = await whole(http, tools=TOOLS, **ASK)
    (choice,) = body["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert (call["type"], call["function"]["name"]) == ("function", "open_ticket")
    assert json.loads(call["function"]["arguments"]) == EXPECTED
    assert (choice["message"]["content"], choice["finish_reason"]) == (None, "tool_calls")
    assert call["id"]


@pytest.mark.parametrize("speculative", [False, True])
async def test_a_streamed_call_comes_in_fragments_and_every_token_is_counted(speculative: bool) -> None:
    async with client(speculative=speculative) as http:
        body = await whole(http, tools=TOOLS, **ASK, **COUNTED)
        *chunks, last = await events(http, tools=TOOLS, stream_options={"include_usage": True}, **ASK, **COUNTED)
    deltas = [chunk["choices"][0] for chunk in chunks]
    fragments = [call for delta in deltas for call in delta["delta"].get("tool_calls", ())]
    assert len(fragments) > 3
    assert {call["index"] for call in fragments} == {0}
    assert [call["function"].get("name") for call in fragments if "id" in call] == ["open_ticket"]
    arguments = "".join(call["function"]["arguments"] for call in fragments)
    (choice,) = body["choices"]
    assert arguments == choice["message"]["tool_calls"][0]["function"]["arguments"]
    assert said(deltas, "content") == ""
    assert deltas[-1]["finish_reason"] == choice["finish_reason"] == "tool_calls"
    tokens = [token for delta in deltas for token in delta["token_ids"] or ()]
    assert tokens == choice["token_ids"]
    assert last["usage"]["completion_tokens"] == len(tokens) == len(choice["logprobs"]["content"])


async def test_a_limit_in_mid_call_leaves_its_beginning() -> None:
    async with client() as http:
        body = await whole(http, tools=TOOLS, max_tokens=20, **ASK)
    (choice,) = body["choices"]
    (call,) = choice["message"]["tool_calls"]
    assert choice["finish_reason"] == "length"
    assert json.dumps(EXPECTED).startswith(call["function"]["arguments"].rstrip())


async def test_a_call_must_be_made_where_it_is_required_and_none_where_it_is_forbidden() -> None:
    unknown = {"messages": [{"role": "user", "content": "It rains."}]}
    async with client() as http:
        forced = await whole(http, tools=TOOLS, tool_choice="required", **unknown)
        named = {"type": "function", "function": {"name": "open_ticket"}}
        chosen = await whole(http, tools=TOOLS, tool_choice=named, **unknown)
        free = await whole(http, tools=TOOLS, **unknown)
        forbidden = await whole(http, tools=TOOLS, tool_choice="none", **ASK)
    (call,) = forced["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"owner": "", "size": 0}
    assert chosen["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "open_ticket"
    for body in (free, forbidden):
        assert (body["choices"][0]["message"]["tool_calls"], body["choices"][0]["finish_reason"]) == ([], "stop")


async def test_an_earlier_call_and_its_result_are_part_of_the_prompt() -> None:
    function = {"name": "open_ticket", "arguments": '{"owner": "Al Coe", "size": 1}'}
    earlier = [
        {"role": "user", "content": "Open one."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "c", "content": "done"},
    ]
    async with client() as http:
        short = await whole(http, tools=TOOLS, **ASK)
        long = await whole(http, tools=TOOLS, messages=[*earlier, *ASK["messages"]])
    assert json.loads(long["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]) == EXPECTED
    assert long["usage"]["prompt_tokens"] > short["usage"]["prompt_tokens"] + 20


@pytest.mark.parametrize(
    "form",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": PARAMETERS}}},
        {"json_schema": PARAMETERS},
        {"structured_outputs": {"json": PARAMETERS}},
        {"structured_outputs": {"json": json.dumps(PARAMETERS)}},
    ],
)
@pytest.mark.parametrize("stream", [True, False])
async def test_structured_output_holds_to_its_schema_in_whatever_form_that_comes(
    form: dict[str, Any], stream: bool
) -> None:
    async with client() as http:
        if stream:
            chunks = await events(http, **FACTS, **form)
            text = said([chunk["choices"][0] for chunk in chunks], "content")
        else:
            text = (await whole(http, **FACTS, **form))["choices"][0]["message"]["content"]
    assert json.loads(text) == EXPECTED


async def test_what_the_question_does_not_tell_is_left_empty() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "boolean"}, "c": {}},
    }
    async with client() as http:
        body = await whole(http, json_schema=schema)
    assert json.loads(body["choices"][0]["message"]["content"]) == {"a": [], "b": False, "c": ""}


@pytest.mark.parametrize("speculative", [False, True])
async def test_thinking_is_kept_apart_from_the_answer(speculative: bool) -> None:
    async with client(speculative=speculative) as http:
        plain = await whole(http)
        body = await whole(http, **THINKING, **COUNTED)
        *chunks, last = await events(http, stream_options={"include_usage": True}, **THINKING, **COUNTED)
    (choice,) = body["choices"]
    deltas = [chunk["choices"][0] for chunk in chunks]
    assert choice["message"]["reasoning_content"]
    assert plain["choices"][0]["message"]["reasoning_content"] is None
    assert choice["message"]["content"].endswith("amber birch cedar 7.")
    for channel in ("content", "reasoning_content"):
        assert said(deltas, channel) == choice["message"][channel]
        assert "think>" not in choice["message"][channel]
    order = [name for delta in deltas for name in ("reasoning_content", "content") if delta["delta"].get(name)]
    assert order == sorted(order, reverse=True)
    assert last["usage"]["completion_tokens"] == len(choice["token_ids"]) == len(choice["logprobs"]["content"])


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"tools": []}, "must not be an empty array"),
        ({"tools": [{"type": "function"}]}, "a function with a name"),
        ({"tools": [{"function": {"name": "f", "parameters": 3}}]}, "JSON Schema"),
        ({"tool_choice": "required"}, "`tools` must be set"),
        ({"tools": TOOLS, "tool_choice": "perhaps"}, "perhaps"),
        ({"tools": TOOLS, "tool_choice": {"function": {"name": "other"}}}, "does not match"),
        ({"response_format": "json"}, "valid dictionary"),
        ({"response_format": {"type": "json_schema"}}, "json_schema.schema"),
        ({"response_format": {"type": "poem"}}, "poem"),
        ({"structured_outputs": {"json": "{"}}, "structured_outputs.json"),
        ({"json_schema": [1]}, "should be an object"),
        ({"messages": [{"role": "assistant", "content": "", "tool_calls": [{}]}]}, "a function with a name"),
    ],
)
async def test_what_is_asked_for_in_another_shape_is_refused(fields: dict[str, Any], told: str) -> None:
    async with client() as http:
        assert told in await refused(http, **fields)
