"""Calls of functions and structured output, as they come over HTTP: made up here, and recorded from a real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuzzer.history.records import Received, ToolCall
from fuzzer.wire.calls import MOST
from fuzzer.wire.dialects import LLAMACPP
from fuzzer.wire.params import Params

from .servers import answering, delta, http, sse, usage
from .test_client import STREAM, WHOLE, ask

pytestmark = pytest.mark.anyio

RECORDED = Path(__file__).parent / "recorded"
OPENED = {"owner": "Silverbrook Hazelgate", "size": 417}


def calls(*fragments: object, **choice: Any) -> dict[str, Any]:
    """A chunk with fragments of calls."""
    return {"choices": [{"index": 0, "delta": {"tool_calls": list(fragments)}, **choice}]}


def part(name: object = None, arguments: object = None, **more: object) -> dict[str, Any]:
    """A fragment of a call."""
    return {"type": "function", "function": {"name": name, "arguments": arguments}} | more


async def streamed(*chunks: object, finish: str = "tool_calls") -> Received:
    return await ask(answering(sse(*chunks, delta(None, finish=finish), usage(9))))


async def test_a_call_is_put_together_from_its_fragments() -> None:
    received = await streamed(
        calls(part("book_", index=0, id="c1")),
        calls(part("table", "", index=0)),
        calls(part(None, '{"name": "Ann', index=0, id=None)),
        calls({"index": 0, "function": {"arguments": 'a"}'}}),
    )
    assert received.tool_calls == (ToolCall(name="book_table", arguments='{"name": "Anna"}', id="c1"),)
    assert (received.outcome, received.anomalies, received.text) == ("ok", (), "")
    assert (received.tool_arguments, received.finish_reason) == ('{"name": "Anna"}', "tool_calls")


async def test_two_calls_may_come_interleaved() -> None:
    received = await streamed(
        calls(part("a", "{", index=0, id="c1"), part("b", "[", index=1, id="c2")),
        calls(part(None, "]", index=1), part(None, "}", index=0)),
    )
    assert received.tool_calls == (
        ToolCall(name="a", arguments="{}", id="c1"),
        ToolCall(name="b", arguments="[]", id="c2"),
    )


async def test_a_name_that_is_said_again_with_every_fragment_is_one_name() -> None:
    received = await streamed(calls(part("f", "{", index=0)), calls(part("f", "}", index=0)))
    assert received.tool_calls == (ToolCall(name="f", arguments="{}"),)


async def test_a_whole_reply_lists_its_calls_without_an_index() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [part("f", "{}", id="a"), part("g", "{}", id="b")]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    received = await ask(answering(http(json.dumps(body).encode())), WHOLE)
    assert [(call.name, call.id) for call in received.tool_calls] == [("f", "a"), ("g", "b")]
    assert (received.text, received.parts, received.outcome) == ("", 1, "ok")


async def test_a_call_without_arguments_is_a_first_sign_of_life() -> None:
    received = await streamed(calls(part("stop", None, index=0)))
    assert received.tool_calls == (ToolCall(name="stop", arguments=""),)
    assert received.first_ns is not None


async def test_what_came_of_a_call_before_the_stream_broke_is_kept() -> None:
    received = await ask(answering(sse(calls(part("f", '{"a": 1', index=0)), done=False)))
    assert received.outcome == "truncated-stream"
    assert received.tool_calls == (ToolCall(name="f", arguments='{"a": 1'),)


async def test_a_call_that_changes_its_id_is_noted() -> None:
    received = await streamed(calls(part("f", "{", index=0, id="c1")), calls(part(None, "}", index=0, id="c2")))
    assert received.anomalies == ("call-id-changed",)
    assert received.tool_calls == (ToolCall(name="f", arguments="{}", id="c1"),)


async def test_a_flood_of_calls_is_bounded_and_noted() -> None:
    received = await streamed(*(calls(part("f", "{}", index=place)) for place in range(MOST + 5)))
    assert (len(received.tool_calls), received.anomalies) == (MOST, ("many-calls",))
    assert received.tool_arguments.count("{}") == MOST + 5


@pytest.mark.parametrize("wrong", [[1], "f", {"index": 0}, [part(3)], [part("f", {"a": 1})]])
async def test_calls_of_another_shape_are_no_calls(wrong: object) -> None:
    received = await ask(answering(sse({"choices": [{"index": 0, "delta": {"tool_calls": wrong}}]})))
    assert received.outcome == "bad-shape"


@pytest.mark.parametrize("odd", [{}, {"function": None}, {"function": "f"}, {"index": True, "function": {"name": "f"}}])
async def test_a_call_with_nothing_in_it_does_no_harm(odd: dict[str, object]) -> None:
    received = await streamed(calls(odd))
    assert received.outcome == "ok"
    assert len(received.tool_calls) == 1


async def test_half_characters_in_a_name_can_be_stored() -> None:
    received = await streamed(calls(part("f\ud83d", "{}", index=0)))
    assert received.tool_calls[0].name == "f�"


async def test_a_refusal_of_tools_is_an_ordinary_refusal() -> None:
    said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    page = http(json.dumps({"error": {"message": said, "code": 400}}).encode(), status=400)
    received = await ask(answering(page))
    assert (received.outcome, received.tool_calls) == ("refused", ())
    assert said in received.detail


def recorded(name: str) -> bytes:
    """A reply of llama.cpp (see recorded/README.md), with a head before it."""
    kind = "text/event-stream" if name.endswith(".sse") else "application/json"
    return http((RECORDED / name).read_bytes(), kind=kind)


@pytest.mark.parametrize(
    ("name", "params"), [("llamacpp-tool-call-streamed.sse", STREAM), ("llamacpp-tool-call.json", WHOLE)]
)
async def test_a_call_by_llamacpp(name: str, params: Params) -> None:
    received = await ask(answering(recorded(name)), params, LLAMACPP)
    assert (received.outcome, received.anomalies, received.text) == ("ok", (), "")
    assert received.finish_reason == "tool_calls"
    (call,) = received.tool_calls
    assert (call.name, len(call.id), json.loads(call.arguments)) == ("open_ticket", 32, OPENED)
    assert received.tool_arguments == call.arguments
    assert received.usage is not None
    assert received.token_ids is None or len(received.token_ids) == received.usage.completion_tokens


@pytest.mark.parametrize(
    ("name", "params"), [("llamacpp-json-schema-streamed.sse", STREAM), ("llamacpp-json-schema.json", WHOLE)]
)
async def test_structured_output_by_llamacpp(name: str, params: Params) -> None:
    received = await ask(answering(recorded(name)), params, LLAMACPP)
    assert (received.outcome, received.anomalies, received.tool_calls) == ("ok", (), ())
    assert json.loads(received.text) == {"name": OPENED["owner"], "size": OPENED["size"]}
    assert received.finish_reason == "stop"
