from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

import pytest

from fuzzer.errors import UnavailableError, UsageError
from fuzzer.history.records import Arm
from fuzzer.plan import Endpoint
from fuzzer.wire.identify import Identity, identify

from .servers import answering, http, routing, serving, silent, tls_context

pytestmark = pytest.mark.anyio


def page(value: object, **more: Any) -> bytes:
    return http(json.dumps(value).encode(), **more)


def models(*names: str, **more: object) -> bytes:
    return page({"object": "list", "data": [{"id": name} | more for name in names]})


def text(content: bytes) -> bytes:
    return http(content, kind="text/plain; version=0.0.4")


VLLM = {
    "/v1/models": models("org/M", owned_by="vllm", max_model_len=4096),
    "/version": page({"version": "0.26.0"}),
    "/health": http(),
    "/metrics": text(b'vllm:num_requests_running{engine="0"} 0\n'),
}
DRAFTING = text(b'vllm:num_requests_running 0\nvllm:spec_decode_num_drafts_total{engine="0"} 0\n')
LLAMACPP = {
    "/v1/models": models("/models/m.gguf", owned_by="llamacpp", meta={"n_ctx": 1024}),
    "/props": page(
        {
            "total_slots": 8,
            "build_info": "b1",
            "default_generation_settings": {"n_ctx": 1024, "params": {"top_k": 40, "min_p": 0, "seed": 7}},
        }
    ),
    "/slots": page([{"speculative": True}, {"speculative": True}]),
    "/metrics": text(b"llamacpp:spec_decode_num_drafts_total 0\n"),
}
SGLANG = {
    "/v1/models": models("M", owned_by="sglang", max_model_len=512),
    "/get_server_info": page({"version": "0.5", "speculative_algorithm": "EAGLE3", "max_running_requests": 64}),
}


async def ask(pages: Mapping[str, bytes], role: Arm = "candidate", **fields: Any) -> Identity:
    async with serving(routing(pages)) as url:
        return await identify(Endpoint(**({"name": role, "url": url} | fields)), role=role)


async def test_vllm_is_known_by_its_pages() -> None:
    found = await ask(VLLM)
    assert (found.engine, found.model, found.models) == ("vllm", "org/M", ("org/M",))
    assert (found.fingerprint, found.context_length) == ("0.26.0", 4096)
    assert (found.warnings, found.model_given) == ((), False)


async def test_vllm_speculates_if_it_counts_drafts_and_cannot_tell_without_a_page() -> None:
    assert (await ask(VLLM)).speculation is False
    assert (await ask(VLLM | {"/metrics": DRAFTING})).speculation is True
    assert (await ask(VLLM | {"/metrics": http(status=404)})).speculation is None


async def test_llama_cpp_tells_in_its_slots() -> None:
    found = await ask(LLAMACPP)
    assert (found.engine, found.model, found.slots, found.context_length) == ("llamacpp", "/models/m.gguf", 8, 1024)
    assert (found.speculation, found.default_generation) == (True, {"top_k": 40})
    assert (await ask(LLAMACPP | {"/slots": page([{"speculative": False}])})).speculation is False
    assert (await ask(LLAMACPP | {"/slots": http(status=501)})).speculation is None


async def test_sglang_tells_in_its_server_info() -> None:
    found = await ask(SGLANG)
    assert (found.engine, found.slots, found.fingerprint, found.speculation) == ("sglang", 64, "0.5", True)
    silent = {"/get_server_info": page({"speculative_algorithm": None})}
    assert (await ask(SGLANG | silent)).speculation is False


async def test_an_unknown_engine_is_asked_in_plain_terms_with_a_warning() -> None:
    found = await ask({"/v1/models": models("M")})
    assert (found.engine, found.speculation) == ("openai", None)
    assert "--engine" in found.warnings[0]


async def test_the_users_word_on_the_engine_stands() -> None:
    found = await ask({"/v1/models": models("M")}, engine="sglang")
    assert (found.engine, found.warnings) == ("sglang", ())


async def test_what_was_found_can_be_pinned() -> None:
    found = await ask(VLLM)
    pinned = found.pin(Endpoint(name="c", url="http://x"))
    assert (pinned.engine, pinned.model) == ("vllm", "org/M")


class TestModel:
    async def test_one_that_is_asked_for_is_taken_even_if_it_is_not_listed(self) -> None:
        found = await ask(VLLM, model="other")
        assert (found.model, found.model_given) == ("other", True)
        assert "does not list the model 'other', only 'org/M'" in found.warnings[0]

    async def test_of_several_the_first_is_taken_with_a_warning(self) -> None:
        found = await ask(VLLM | {"/v1/models": models("a", "b", owned_by="vllm")})
        assert found.model == "a"
        assert "--model" in found.warnings[0]

    @pytest.mark.parametrize(("role", "option"), [("candidate", " --model ID"), ("reference", " --reference-model ID")])
    @pytest.mark.parametrize(
        "listing",
        [http(status=404), page({"data": []}), page({"data": "x"}), http(b"<html>")],
        ids=["missing", "empty", "malformed", "html"],
    )
    async def test_without_a_list_the_user_must_say(self, role: Arm, option: str, listing: bytes) -> None:
        with pytest.raises(UsageError, match=option):
            await ask({"/v1/models": listing}, role)
        assert (await ask({"/v1/models": listing}, role, model="M")).model == "M"


class TestUnavailable:
    @staticmethod
    async def message(url: str, **fields: Any) -> str:
        with pytest.raises(UnavailableError) as caught:
            await identify(Endpoint(**({"name": "candidate", "url": url} | fields)), timeout=30)
        said = str(caught.value)
        assert said.startswith(f"candidate at {url}")
        assert "\n" not in said
        return said

    async def test_nothing_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        assert "is the server up" in await self.message(f"http://127.0.0.1:{port}")

    async def test_no_such_host(self) -> None:
        assert "host name" in await self.message("http://no-such-host.invalid:1")

    async def test_a_plain_server_asked_over_tls(self) -> None:
        async with serving(routing(VLLM)) as url:
            assert "write http://" in await self.message(url.replace("http:", "https:"))

    async def test_a_tls_server_asked_plainly(self) -> None:
        async with serving(answering(b"\x15\x03\x01\x00\x02\x02\x46")) as url:
            assert "write https://" in await self.message(url)

    async def test_an_untrusted_certificate(self) -> None:
        async with serving(routing(VLLM), tls_context()) as url:
            assert "certificate" in await self.message(url)

    @pytest.mark.parametrize("status", [401, 403])
    async def test_a_key_is_wanted(self, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("WIRE_KEY", "sk-hush")
        async with serving(routing({}, http(b"sk-hush", status=status))) as url:
            assert "with --api-key-env VAR" in await self.message(url)
            refused = await self.message(url, api_key_env="WIRE_KEY")
        assert "the key in WIRE_KEY (--api-key-env) was not accepted" in refused
        assert "sk-hush" not in refused

    async def test_the_reference_has_its_own_options(self) -> None:
        with pytest.raises(UnavailableError, match="--reference-api-key-env VAR"):
            await ask({"/v1/models": http(status=401)}, "reference")

    async def test_llama_cpp_wants_its_key_on_other_pages_only(self) -> None:
        with pytest.raises(UnavailableError, match="--api-key-env VAR"):
            await ask(LLAMACPP | {"/props": http(status=401)})

    async def test_a_server_that_only_fails(self) -> None:
        async with serving(routing({}, page({"error": {"message": "Loading model"}}, status=503))) as url:
            assert "HTTP 503 to everything: 'Loading model'" in await self.message(url)

    async def test_a_server_that_does_not_answer(self) -> None:
        async with serving(silent) as url:
            with pytest.raises(UnavailableError, match=r"no reply within 0\.2 s"):
                await identify(Endpoint(name="candidate", url=url), timeout=0.2)

    async def test_what_is_no_server_at_all(self) -> None:
        async with serving(answering(b"SSH-2.0-OpenSSH\r\n")) as url:
            assert "not HTTP" in await self.message(url)


@pytest.mark.parametrize("rubbish", [b"", b"{", b"[" * 100_000, b"\xff", b'"x"', b"[[3]]", b'{"data": [3, {"id": 4}]}'])
async def test_rubbish_on_the_other_pages_is_passed_over(rubbish: bytes) -> None:
    paths = ("/health", "/version", "/props", "/slots", "/metrics", "/get_server_info", "/server_info")
    found = await ask(dict.fromkeys(paths, http(rubbish)) | {"/v1/models": models("M", owned_by="llamacpp")})
    assert (found.engine, found.model, found.speculation, found.slots) == ("llamacpp", "M", None, None)


async def test_an_unhealthy_server_is_warned_of() -> None:
    found = await ask(VLLM | {"/health": http(status=500)})
    assert "not healthy" in found.warnings[0]


async def test_memory_and_clock_are_told_of_where_they_are_known() -> None:
    resident = text(b"vllm:num_requests_running 0\nprocess_resident_memory_bytes 2.147483648e+09\n")
    models_of_yesterday = page({"data": [{"id": "M", "owned_by": "vllm"}]}, Date="Tue, 01 Sep 2026 00:00:00 GMT")
    found = await ask({**VLLM, "/v1/models": models_of_yesterday, "/metrics": resident})
    assert (found.memory_bytes, found.memory_kind) == (2**31, "process")
    assert found.clock_seconds is not None
    assert found.clock_seconds < -3600
    usage = {"weight": 1.5, "kvcache": 0.5, "token_capacity": 9000}
    told = {"version": "0.5", "internal_states": [{"memory_usage": usage}], "max_total_num_tokens": 9000}
    found = await ask({**SGLANG, "/get_server_info": page(told)})
    assert (found.memory_bytes, found.memory_kind, found.clock_seconds) == (2**31, "device", None)
    stats = [{"gpuMemUsage": 2**31, "kvCacheStats": {"tokensPerBlock": 32, "maxNumBlocks": 10}}]
    found = await ask({"/v1/models": models("M", owned_by="tensorrt_llm"), "/metrics": page(stats)})
    assert (found.memory_bytes, found.kv_block, found.kv_tokens) == (2**31, 32, 320)


@pytest.mark.parametrize("value", ["NaN", "-1", "1e400", "x", ""])
async def test_memory_that_makes_no_sense_is_not_told(value: str) -> None:
    found = await ask({**VLLM, "/metrics": text(f"vllm:x 0\nprocess_resident_memory_bytes {value}\n".encode())})
    assert found.memory_bytes is None


async def test_a_head_that_was_set_at_run_time_is_told() -> None:
    def told(overrides: object) -> dict[str, bytes]:
        info = page({"vllm_config": {"model_config": {"hf_overrides": overrides}}})
        return {**VLLM, "/server_info?config_format=json": info}

    assert (await ask(told({"head_dtype": "float32"}))).lm_head == "fp32"
    for overrides in ({}, {"head_dtype": 4}, "x", None):
        assert (await ask(told(overrides))).lm_head is None
