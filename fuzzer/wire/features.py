"""What is known of each engine over HTTP, feature by feature, and how it is known.

``tested``: a test of this project asks the real engine. ``measured``: the engine was seen to do it, by hand; no test of
this project runs against it. ``constructed``: from the engine's documentation or source alone. ``absent``: the engine
does not offer it, as far as its documentation and source say, or it is not used.

``docs/dialects.md`` is made from this table: ``python -m fuzzer.wire.features > docs/dialects.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from fuzzer.plan import Engine

Standing = Literal["tested", "measured", "constructed", "absent"]
FeatureName = Literal[
    "detection",
    "token ids",
    "log-probabilities",
    "scoring",
    "metrics",
    "speculation proof",
    "lm_head precision",
    "cancellation",
    "thinking switch",
    "cache control",
    "rendered prompt",
    "request id",
    "version",
    "KV budget",
    "memory",
]


@dataclass(frozen=True, slots=True)
class Feature:
    """How an engine does one thing; ``source`` is the page or file that says so, or what was measured."""

    standing: Standing
    how: str
    source: str


_Row = Mapping[FeatureName, Feature]


def _tested(how: str, source: str) -> Feature:
    return Feature("tested", how, source)


def _measured(how: str, source: str) -> Feature:
    return Feature("measured", how, source)


def _constructed(how: str, source: str) -> Feature:
    return Feature("constructed", how, source)


def _absent(why: str, source: str) -> Feature:
    return Feature("absent", why, source)


_LLAMACPP_README = "tools/server/README.md of llama.cpp"
_LLAMACPP_TESTS = "tests/wire/test_real_llamacpp.py"
_VLLM_MEASURED = "vLLM 0.32, CPU build, asked by hand"
_VLLM_CHAT = "vllm/entrypoints/openai/chat_completion/protocol.py"
_VLLM_API = "vllm/entrypoints/openai/api_server.py"
_SGLANG_PROTOCOL = "python/sglang/srt/entrypoints/openai/protocol.py"
_SGLANG_IO = "python/sglang/srt/managers/io_struct.py"
_SGLANG_HTTP = "python/sglang/srt/entrypoints/http_server.py"
_SGLANG_SCHEDULER = "python/sglang/srt/managers/scheduler.py"
_SGLANG_METRICS = "python/sglang/srt/metrics/collector.py"
_MLX = "mlx_lm/server.py"
_MLX_MEASURED = "mlx-lm 0.32.2 on the CPU, tests/wire/test_opt_in.py"
_TRT = "tensorrt_llm/serve/openai_protocol.py"
_TRT_SERVER = "tensorrt_llm/serve/openai_server.py"
_TRT_METRICS = "tensorrt_llm/metrics/collector.py"
_LMDEPLOY = "lmdeploy/serve/openai/protocol.py"
_LMDEPLOY_SERVER = "lmdeploy/serve/openai/api_server.py"
_LMDEPLOY_METRICS = "lmdeploy/metrics/loggers.py"
_OPENAI = "OpenAI API reference, Chat Completions"

_TABLE: dict[Engine, _Row] = {
    "llamacpp": {
        "detection": _tested("owned_by, the Server header, /props", _LLAMACPP_TESTS),
        "token ids": _tested("__verbose.tokens, or with log-probabilities", _LLAMACPP_TESTS),
        "log-probabilities": _tested("none for accepted draft tokens; none for tools in a stream", _LLAMACPP_TESTS),
        "scoring": _tested("/completion, one place a request", "tests/wire/test_scoring_llamacpp.py"),
        "metrics": _tested("/metrics, or /slots", _LLAMACPP_TESTS),
        "speculation proof": _tested("/slots, and draft_n in timings", _LLAMACPP_TESTS),
        "lm_head precision": _absent("not told; inspect --checkpoint reads it from the GGUF", _LLAMACPP_README),
        "cancellation": _tested("closing the connection", _LLAMACPP_TESTS),
        "thinking switch": _constructed("chat_template_kwargs", _LLAMACPP_README),
        "cache control": _tested("cache_prompt", _LLAMACPP_TESTS),
        "rendered prompt": _tested("/apply-template", _LLAMACPP_TESTS),
        "request id": _absent("replies have ids of its own", "tests/wire/recorded"),
        "version": _tested("build_info of /props", _LLAMACPP_TESTS),
        "KV budget": _tested("slots times their context, from /props", _LLAMACPP_TESTS),
        "memory": _absent("not told", _LLAMACPP_README),
    },
    "vllm": {
        "detection": _measured("owned_by, or the names of its metrics", _VLLM_MEASURED),
        "token ids": _measured("return_token_ids", _VLLM_MEASURED),
        "log-probabilities": _measured("logprobs and top_logprobs, with speculation too", _VLLM_MEASURED),
        "scoring": _measured("/v1/completions with prompt_logprobs", _VLLM_MEASURED),
        "metrics": _measured("/metrics", _VLLM_MEASURED),
        "speculation proof": _measured("vllm:spec_decode_* exist only while it is on", _VLLM_MEASURED),
        "lm_head precision": _constructed(
            "head_dtype of hf_overrides in /server_info, with VLLM_SERVER_DEV_MODE=1 and where it was set", _VLLM_API
        ),
        "cancellation": _measured("closing the connection frees it within 0.5 s", _VLLM_MEASURED),
        "thinking switch": _constructed("chat_template_kwargs", _VLLM_CHAT),
        "cache control": _measured("cache_salt, hashed: some characters are refused", "reports/vllm"),
        "rendered prompt": _constructed("/tokenize with messages", "vllm/entrypoints/serve/tokenize/protocol.py"),
        "request id": _measured("X-Request-Id comes back in the body's id", _VLLM_MEASURED),
        "version": _measured("/version, and system_fingerprint of every reply", _VLLM_MEASURED),
        "KV budget": _measured("vllm:cache_config_info", _VLLM_MEASURED),
        "memory": _constructed("process_resident_memory_bytes, of the process that serves HTTP", _VLLM_API),
    },
    "sglang": {
        "detection": _constructed("owned_by, /get_server_info, or the names of its metrics", _SGLANG_HTTP),
        "token ids": _constructed("return_token_ids", _SGLANG_PROTOCOL),
        "log-probabilities": _constructed("logprobs and top_logprobs", _SGLANG_PROTOCOL),
        "scoring": _constructed("/generate with return_logprob and logprob_start_len", _SGLANG_IO),
        "metrics": _constructed("/metrics; acceptance is a gauge, not a count", _SGLANG_METRICS),
        "speculation proof": _constructed("speculative_algorithm in /get_server_info", _SGLANG_HTTP),
        "lm_head precision": _absent("not told", _SGLANG_HTTP),
        "cancellation": _constructed("closing the connection; /abort_request", _SGLANG_HTTP),
        "thinking switch": _constructed("chat_template_kwargs", _SGLANG_PROTOCOL),
        "cache control": _constructed("cache_salt", _SGLANG_PROTOCOL),
        "rendered prompt": _absent("not used", _SGLANG_HTTP),
        "request id": _absent("not used", _SGLANG_PROTOCOL),
        "version": _constructed("version in /get_server_info", _SGLANG_HTTP),
        "KV budget": _constructed("max_total_num_tokens and page_size in /get_server_info", _SGLANG_HTTP),
        "memory": _constructed("memory_usage of internal_states in /get_server_info", _SGLANG_SCHEDULER),
    },
    "trtllm": {
        "detection": _constructed("owned_by tensorrt_llm, or the names of its metrics", _TRT),
        "token ids": _absent("chat replies hold none", _TRT),
        "log-probabilities": _constructed("PyTorch backend; the other needs gather_generation_logits", _TRT),
        "scoring": _absent("no log-probabilities of a prompt over the chat interface", _TRT),
        "metrics": _constructed("/prometheus/metrics, where return_perf_metrics is set", _TRT_METRICS),
        "speculation proof": _constructed("trtllm_speculative_config_info, draft token counters", _TRT_METRICS),
        "lm_head precision": _absent("not told", _TRT_SERVER),
        "cancellation": _constructed("closing the connection", _TRT_SERVER),
        "thinking switch": _constructed("chat_template_kwargs", _TRT),
        "cache control": _constructed("cache_salt", _TRT),
        "rendered prompt": _absent("not used", _TRT_SERVER),
        "request id": _absent("replies have ids of their own", _TRT),
        "version": _constructed("/version", _TRT_SERVER),
        "KV budget": _constructed("kvCacheStats of the iterations in /metrics", "tensorrt_llm/llmapi/llm.py"),
        "memory": _constructed("gpuMemUsage of the iterations in /metrics", "tensorrt_llm/llmapi/llm.py"),
    },
    "mlx": {
        "detection": _measured("Python's HTTP server, models without owned_by, /health", _MLX_MEASURED),
        "token ids": _measured("with log-probabilities", _MLX_MEASURED),
        "log-probabilities": _measured("of whole replies; a stream has none", _MLX_MEASURED),
        "scoring": _absent("no log-probabilities of a prompt", _MLX),
        "metrics": _absent("none", _MLX),
        "speculation proof": _absent("not told; a draft model also turns batching off", _MLX),
        "lm_head precision": _absent("not told", _MLX),
        "cancellation": _constructed("closing the connection", _MLX),
        "thinking switch": _constructed("chat_template_kwargs", _MLX),
        "cache control": _absent("none", _MLX),
        "rendered prompt": _absent("none", _MLX),
        "request id": _absent("replies have ids of their own", _MLX),
        "version": _measured("system_fingerprint of every reply", _MLX_MEASURED),
        "KV budget": _absent("not told", _MLX),
        "memory": _absent("not told", _MLX),
    },
    "lmdeploy": {
        "detection": _constructed("owned_by lmdeploy, or the names of its metrics", _LMDEPLOY),
        "token ids": _constructed("return_token_ids; gen_tokens of the message", _LMDEPLOY),
        "log-probabilities": _constructed("logprobs and top_logprobs", _LMDEPLOY),
        "scoring": _absent("none used", _LMDEPLOY_SERVER),
        "metrics": _constructed("/metrics, where it is switched on; nothing of drafting", _LMDEPLOY_METRICS),
        "speculation proof": _absent("not told", _LMDEPLOY_METRICS),
        "lm_head precision": _absent("not told", _LMDEPLOY_SERVER),
        "cancellation": _constructed("closing the connection", _LMDEPLOY_SERVER),
        "thinking switch": _constructed("enable_thinking", _LMDEPLOY),
        "cache control": _absent("none", _LMDEPLOY),
        "rendered prompt": _absent("/v1/encode takes text, not messages", _LMDEPLOY),
        "request id": _absent("replies have ids of their own", _LMDEPLOY),
        "version": _absent("not told", _LMDEPLOY_SERVER),
        "KV budget": _absent("not told", _LMDEPLOY_METRICS),
        "memory": _absent("not told", _LMDEPLOY_METRICS),
    },
    "openai": {
        "detection": _constructed("/v1/models, and nothing that tells of another engine", _OPENAI),
        "token ids": _absent("none", _OPENAI),
        "log-probabilities": _constructed("logprobs and top_logprobs", _OPENAI),
        "scoring": _absent("no log-probabilities of a prompt", _OPENAI),
        "metrics": _absent("none", _OPENAI),
        "speculation proof": _absent("not told: --no-require-speculation", _OPENAI),
        "lm_head precision": _absent("not told", _OPENAI),
        "cancellation": _constructed("closing the connection, if the server heeds it", _OPENAI),
        "thinking switch": _constructed("reasoning_effort, and chat_template_kwargs", _OPENAI),
        "cache control": _absent("none", _OPENAI),
        "rendered prompt": _absent("none", _OPENAI),
        "request id": _absent("replies have ids of their own", _OPENAI),
        "version": _constructed("system_fingerprint of every reply", _OPENAI),
        "KV budget": _absent("not told", _OPENAI),
        "memory": _absent("not told", _OPENAI),
    },
}
FEATURES: Mapping[Engine, _Row] = MappingProxyType(_TABLE)

TITLES: dict[Engine, str] = {
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "mlx": "mlx-lm",
    "lmdeploy": "LMDeploy",
    "openai": "any other (OpenAI)",
}

_HEAD = """# Engines and what each of them tells

Made from `fuzzer/wire/features.py` by `python -m fuzzer.wire.features > docs/dialects.md`; change it there.

**tested**: a test of this project asks the real engine. **measured**: the engine was seen to do it, by hand; no test
here runs against it. **constructed**: from the engine's documentation or source alone; no engine was asked. **-**: the
engine does not offer it, or it is not used. What an engine silently ignores is probed before every run: see
`specfuzz inspect URL`.
"""


def page() -> str:
    """The documentation page."""
    engines = list(FEATURES)
    lines = [_HEAD, "| | " + " | ".join(TITLES[engine] for engine in engines) + " |", "|---" * (len(engines) + 1) + "|"]
    for name in get_args(FeatureName):
        cells = (_cell(FEATURES[engine][name]) for engine in engines)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    for engine in engines:
        lines += [
            "",
            f"## {TITLES[engine]}",
            "",
            f"`--engine {engine}`",
            "",
            "| feature | how | known from |",
            "|---|---|---|",
        ]
        lines += [
            f"| {name} | {_cell(feature)}: {feature.how} | {feature.source} |"
            for name, feature in FEATURES[engine].items()
        ]
    return "\n".join(lines) + "\n"


def _cell(feature: Feature) -> str:
    return "-" if feature.standing == "absent" else feature.standing


if __name__ == "__main__":
    sys.stdout.write(page())
