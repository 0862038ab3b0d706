"""What makes a server unlike others: what it ignores, its own defaults, its template, and how it renders a chat."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from fuzzer.sim.config import SimConfig
from fuzzer.sim.request import ChatRequest, parse_chat
from fuzzer.sim.sampling import WARM
from fuzzer.sim.server import serving

HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}


def parse(config: SimConfig, **fields: Any) -> ChatRequest:
    return parse_chat(json.dumps(HELLO | fields).encode(), config)


def test_what_is_ignored_is_as_if_it_had_not_been_given() -> None:
    chat = parse(SimConfig(ignores=("temperature", "stop", "max_tokens", "seed")), temperature=0, stop="x", seed=1)
    assert (chat.sampling, chat.stop, chat.seed) == (WARM, (), None)
    assert parse(SimConfig(ignores=("max_tokens",)), max_tokens=3, max_completion_tokens=3).max_tokens is None


def test_defaults_hold_where_nothing_is_given() -> None:
    config = SimConfig(defaults={"repetition_penalty": 1.1})
    assert parse(config).sampling.repetition == 1.1
    assert parse(config, repetition_penalty=1).sampling.repetition == 1


@pytest.mark.anyio
async def test_a_rendered_chat_is_as_long_as_the_prompt_that_is_read() -> None:
    lengths = []
    for template in ("", "You are kind."):
        async with serving(SimConfig(template=template)) as url, httpx.AsyncClient() as http:
            asked = (await http.post(f"{url}/v1/chat/completions", json=HELLO | {"max_tokens": 1})).json()
            told = (await http.post(f"{url}/tokenize", json=HELLO)).json()
            assert len(told["tokens"]) == told["count"] == asked["usage"]["prompt_tokens"]
            assert (await http.post(f"{url}/tokenize", json={"messages": []})).status_code == 400
            lengths.append(told["count"])
    assert lengths[0] < lengths[1]
