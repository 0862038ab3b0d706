from __future__ import annotations

import json

import pytest

from fuzzer.history.records import Message, Tool, ToolCall, Wants
from fuzzer.plan import Engine
from fuzzer.wire.dialects import LLAMACPP, OPENAI, REQUIRED, SGLANG, VLLM, Dialect, dialect_for
from fuzzer.wire.params import Params

MESSAGES = (Message(role="system", content="Be brief."), Message(role="user", content="Hi"))
ALL = (VLLM, LLAMACPP, SGLANG, OPENAI)


def body(dialect: Dialect, **changes: object) -> dict[str, object]:
    params = Params(**({"max_tokens": 5} | changes))  # type: ignore[arg-type]  # names and types are the tests' own
    return dict(dialect.body("m", MESSAGES, params))


@pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.engine)
def test_every_dialect_asks_greedily(dialect: Dialect) -> None:
    sent = body(dialect, seed=3)
    expected = {"temperature": 0, "top_p": 1, "n": 1, "presence_penalty": 0, "frequency_penalty": 0, "seed": 3}
    assert sent.items() >= expected.items()
    assert sent["messages"] == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert sent["stream_options"] == {"include_usage": True}
    assert sent.get("top_k") != 1
    json.dumps(sent)


def test_each_engine_has_its_own_names_for_what_is_off() -> None:
    assert body(VLLM).items() >= {"top_k": -1, "min_p": 0, "repetition_penalty": 1}.items()
    assert body(SGLANG).items() >= {"top_k": -1, "min_p": 0, "repetition_penalty": 1}.items()
    assert body(LLAMACPP).items() >= {"top_k": 0, "min_p": 0, "repeat_penalty": 1, "mirostat": 0}.items()
    assert not {"top_k", "min_p", "repetition_penalty", "return_token_ids"} & body(OPENAI).keys()


def test_the_cache_is_kept_cold_where_the_engine_can() -> None:
    assert body(LLAMACPP)["cache_prompt"] is True
    assert body(LLAMACPP, cache="cold")["cache_prompt"] is False
    salts = [
        body(VLLM, cache=cache, salt=salt)["cache_salt"]
        for cache, salt in (("cold", "a/b"), ("warm", "a/b"), ("cold", "c"))
    ]
    assert salts[0] == salts[1] != salts[2]  # a replay goes by its first salt
    assert all(str(salt).isalnum() and len(str(salt)) <= 128 for salt in salts)  # as vLLM wants them
    assert "cache_salt" not in body(VLLM, cache="warm")
    assert "cache_salt" not in body(VLLM, cache="cold")


def test_token_ids_are_asked_for_without_log_probabilities() -> None:
    assert body(VLLM)["return_token_ids"] is True
    unstreamed = body(LLAMACPP, stream=False)
    assert (unstreamed["return_tokens"], unstreamed["verbose"]) == (True, True)
    assert not {"logprobs", "top_logprobs"} & (unstreamed.keys() | body(VLLM).keys())


def test_log_probabilities_only_when_asked_for() -> None:
    assert body(VLLM, logprobs=4).items() >= {"logprobs": True, "top_logprobs": 4}.items()
    assert "top_logprobs" not in body(VLLM.without("logprobs"), logprobs=4)


def test_the_thinking_switch_is_sent_only_when_it_is_set() -> None:
    assert "chat_template_kwargs" not in body(VLLM)
    assert body(VLLM, thinking="on")["chat_template_kwargs"] == {"enable_thinking": True}
    assert body(VLLM, thinking="off")["chat_template_kwargs"] == {"enable_thinking": False}
    assert "reasoning_effort" not in body(OPENAI) | body(VLLM, thinking="off")
    assert [body(OPENAI, thinking=switch)["reasoning_effort"] for switch in ("on", "off")] == ["medium", "none"]


def test_a_dropped_parameter_is_never_sent_again() -> None:
    dropped = VLLM.without("top_k").without("min_p", "stream_options")
    assert dropped.dropped == {"top_k", "min_p", "stream_options"}
    assert not {"top_k", "min_p", "stream_options"} & body(dropped).keys()
    assert "top_k" in body(VLLM)


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_what_makes_the_request_cannot_be_dropped(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        VLLM.without(name)


def test_without_a_model_none_is_named() -> None:
    assert "model" not in OPENAI.body(None, MESSAGES, Params(max_tokens=1))


@pytest.mark.parametrize("engine", ["auto", "vllm", "sglang", "llamacpp", "mlx", "trtllm", "lmdeploy", "openai"])
def test_every_engine_has_a_dialect(engine: Engine) -> None:
    assert dialect_for(engine).engine == ("openai" if engine == "auto" else engine)


SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = Tool(name="open_ticket", description="Open a ticket.", parameters={"type": "object", "properties": {}})


@pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.engine)
def test_structured_output_is_asked_for_in_the_openai_form(dialect: Dialect) -> None:
    wrapped = {"name": "answer", "schema": SCHEMA, "strict": True}
    assert body(dialect, wants=Wants(json_schema=SCHEMA))["response_format"] == {
        "type": "json_schema",
        "json_schema": wrapped,
    }
    assert "response_format" not in body(dialect)


def test_tensorrt_llm_takes_the_schema_bare() -> None:
    sent = body(dialect_for("trtllm"), wants=Wants(json_schema=SCHEMA))
    assert sent["response_format"] == {"type": "json", "schema": SCHEMA}


@pytest.mark.parametrize("dialect", ALL, ids=lambda dialect: dialect.engine)
def test_tools_are_offered_in_the_openai_form(dialect: Dialect) -> None:
    sent = body(dialect, wants=Wants(tools=(TOOL,), tool_choice="required"))
    function = {"name": "open_ticket", "description": "Open a ticket.", "parameters": TOOL.parameters}
    assert sent["tools"] == [{"type": "function", "function": function}]
    assert sent["tool_choice"] == "required"
    assert not {"tools", "tool_choice"} & body(dialect).keys()


def test_calls_and_their_results_stand_in_the_history() -> None:
    call = ToolCall(name="open_ticket", arguments='{"a": 1}', id="call_1")
    history = (
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content="done", tool_call_id="call_1"),
    )
    function = {"name": "open_ticket", "arguments": '{"a": 1}'}
    assert OPENAI.body("m", history, Params(max_tokens=1))["messages"] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "done", "tool_call_id": "call_1"},
    ]


def test_llamacpp_is_not_asked_for_what_it_refuses_with_tools() -> None:
    wants = Wants(tools=(TOOL,))
    assert not {"logprobs", "top_logprobs"} & body(LLAMACPP, logprobs=2, wants=wants).keys()
    assert body(LLAMACPP, logprobs=2, wants=wants, stream=False)["logprobs"] is True
    assert body(VLLM, logprobs=2, wants=wants)["logprobs"] is True
