"""Engines that are too heavy for every test run: name a server that is up, and its dialect is held to what it claims.

SPECFUZZ_VLLM_URL=http://127.0.0.1:8001 pytest -n 0 tests/wire/test_opt_in.py
SPECFUZZ_MLX_URL=http://127.0.0.1:8001 pytest -n 0 tests/wire/test_opt_in.py
"""

from __future__ import annotations

import os

import pytest

from fuzzer.history.records import Message
from fuzzer.plan import Endpoint, Engine
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.features import FEATURES, FeatureName
from fuzzer.wire.identify import identify
from fuzzer.wire.negotiate import negotiate
from fuzzer.wire.pace import Pace
from fuzzer.wire.pairing import render
from fuzzer.wire.params import Params

pytestmark = pytest.mark.anyio

ASKED = (Message(role="user", content="Count from one to twenty in words."),)
ENGINES: tuple[Engine, ...] = ("vllm", "mlx", "sglang", "trtllm", "lmdeploy")


@pytest.mark.parametrize("engine", ENGINES)
async def test_a_server_that_is_up_does_what_its_dialect_claims(engine: Engine) -> None:
    variable = f"SPECFUZZ_{engine.upper()}_URL"
    url = os.environ.get(variable)
    if not url:
        pytest.skip(f"{variable} names no server")
    endpoint = Endpoint(name="candidate", url=url)
    found = await identify(endpoint)
    assert found.engine == engine
    async with Client(found.pin(endpoint), dialect_for(engine), timeout=300) as client:
        await negotiate(client, client.dialect, ASKED, Params(max_tokens=8, logprobs=5))
        before = await client.counters()
        reply = await client.ask(ASKED, Params(max_tokens=64, logprobs=5, stream=False))  # mlx-lm's streams have none
        assert reply.outcome == "ok", reply.detail
        assert reply.usage is not None
        after = await client.counters()
        broken = await client.ask(ASKED, Params(max_tokens=512), pace=Pace(cancel_tokens=2))
        assert broken.outcome == "cancelled"
        shown: dict[FeatureName, bool] = {
            "token ids": reply.token_ids is not None,
            "log-probabilities": any(token.top for token in reply.logprobs or ()),
            "metrics": None not in (before, after),
            "rendered prompt": await render(client, ASKED, "auto") is not None,
            "version": await client.version() is not None or reply.fingerprint is not None,
            "KV budget": found.kv_tokens is not None,
        }
    assert {name: seen for name, seen in shown.items() if FEATURES[engine][name].standing != "absent"} == {
        name: True for name in shown if FEATURES[engine][name].standing != "absent"
    }
