from __future__ import annotations

import json
from typing import Any

import pytest

from fuzzer.sim.config import SimConfig
from fuzzer.sim.request import BadRequestError, parse_chat
from fuzzer.sim.sampling import WARM, Sampling

HELLO = {"messages": [{"role": "user", "content": "hello"}]}


def parse(**fields: Any) -> Any:
    return parse_chat(json.dumps(HELLO | fields).encode(), SimConfig())


def test_defaults_are_those_of_the_protocol() -> None:
    chat = parse()
    assert chat.messages == (("user", "hello"),)
    assert (chat.stream, chat.sampling, chat.max_tokens, chat.seed, chat.n) == (False, WARM, None, None, 1)


def test_unknown_fields_are_accepted_silently() -> None:
    assert parse(priority=3, top_k=-1, min_p=0, chat_template_kwargs={"enable_thinking": False}) == parse()


def test_content_may_come_in_text_parts() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert parse(messages=[{"role": "user", "content": parts}]).messages == (("user", "one\ntwo"),)


def test_sampling_is_read_as_it_comes() -> None:
    fields = {"temperature": 0, "presence_penalty": 1, "frequency_penalty": -1, "repetition_penalty": 1.5}
    wanted = Sampling(presence=1.0, frequency=-1.0, repetition=1.5, bias=((7, -100.0),))
    assert parse(**fields, logit_bias={"7": -300}).sampling == wanted


def test_one_stop_string_is_a_list_of_one() -> None:
    assert parse(stop="END").stop == ("END",)
    assert parse(stop=["a", "b"]).stop == ("a", "b")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"messages": None}, "at least one message"),
        ({"messages": []}, "at least one message"),
        ({"messages": ["hello"]}, "messages.0.role"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"temperature": -1}, "temperature must be non-negative"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"presence_penalty": 3}, "presence_penalty"),
        ({"repetition_penalty": 0}, "repetition_penalty"),
        ({"logit_bias": {"the": 1}}, "no token id"),
        ({"logit_bias": {"7": "much"}}, "no token id"),
        ({"n": 65}, "n must be between 1 and 64"),
        ({"stop": ""}, "empty string"),
        ({"stop": [1]}, "stop"),
        ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
        ({"top_logprobs": 2}, "`logprobs` must be set"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"include_usage": True}}, "Stream options"),
    ],
)
def test_bad_fields_are_refused_by_name(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadRequestError, match=said.replace("`", ".")) as caught:
        parse(**fields)
    assert caught.value.status == 400
    assert json.loads(caught.value.body())["error"]["code"] == 400


def test_another_model_does_not_exist() -> None:
    with pytest.raises(BadRequestError, match="does not exist") as caught:
        parse(model="gpt-nine")
    assert caught.value.status == 404


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequestError):
        parse_chat(body, SimConfig())
