"""What each engine calls things: the request body, the neutral sampling set, the counters.

Servers merge a request with the checkpoint's generation defaults, so every sampling parameter that an engine knows is
sent with its neutral value. A parameter that the engine refuses is dropped for the whole run (``Dialect.without``).
Which dialects were tried against the engines themselves, feature by feature, is told in ``features``. What a prompt
asks for by itself (tools, structured output) is never dropped: an engine that refuses it refuses the prompt.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from fuzzer.history.records import Message, Wants
from fuzzer.plan import Engine
from fuzzer.wire.overrides import override
from fuzzer.wire.params import Params

REQUIRED = frozenset({"model", "messages", "max_tokens", "stream", "temperature"})
"""Never dropped: without these a request is not the one that was planned."""


@dataclass(frozen=True, slots=True)
class CounterNames:
    """The Prometheus sample name of each counter and gauge, None where the engine has none."""

    drafts: str | None = None
    draft_tokens: str | None = None
    accepted_tokens: str | None = None
    generated_tokens: str | None = None
    running: str | None = None
    waiting: str | None = None
    preemptions: str | None = None
    pool_usage: str | None = None
    prefix_queries: str | None = None
    prefix_hits: str | None = None
    accepted_at: str | None = None
    started: str | None = None

    def mapping(self) -> dict[str, str]:
        """Sample name to field name of ``Counters``, for those that exist."""
        pairs = ((getattr(self, entry.name), entry.name) for entry in dataclasses.fields(self))
        return {sample: name for sample, name in pairs if sample is not None}


def _nothing(_: Params) -> dict[str, JsonValue]:
    return {}


def _always(_: Params) -> bool:
    return True


# The OpenAI form is vLLM's (JsonSchemaResponseFormat in vllm/entrypoints/openai/engine/protocol.py; unlike guided_json
# and structured_outputs it has the same name in every version), SGLang's (the same class in its openai/protocol.py) and
# llama.cpp's (tools/server/server-common.cpp; the form in its README is taken by new versions only).
def _json_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": dict(schema), "strict": True}}


# tensorrt_llm/serve/openai_protocol.py: "json" is in every version; "json_schema" came later, and took the schema bare.
def _bare_schema(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "json", "schema": dict(schema)}


@dataclass(frozen=True)
class Dialect:
    """How one engine is asked; ``dropped`` holds the parameters that this server refused.

    ``structured`` makes ``response_format`` from a JSON Schema; ``explains`` says whether such a request may ask for
    log-probabilities. ``metrics`` is the path of the Prometheus page, ``version`` a page that tells the version of the
    engine, with the field that holds it.
    """

    engine: Engine
    neutral: Mapping[str, JsonValue]
    extras: Callable[[Params], dict[str, JsonValue]] = _nothing
    structured: Callable[[Mapping[str, JsonValue]], dict[str, JsonValue]] = _json_schema
    explains: Callable[[Params], bool] = _always
    counters: CounterNames = field(default_factory=CounterNames)
    metrics: str = "/metrics"
    version: tuple[str, str] | None = None
    dropped: frozenset[str] = frozenset()

    def without(self, *names: str) -> Dialect:
        """The same dialect, never sending these parameters; required ones cannot be dropped."""
        refused = REQUIRED.intersection(names)
        if refused:
            raise ValueError(f"{', '.join(sorted(refused))} cannot be dropped")
        return dataclasses.replace(self, dropped=self.dropped.union(names))

    def body(self, model: str | None, messages: Sequence[Message], params: Params) -> dict[str, JsonValue]:
        """The JSON body for ``/v1/chat/completions``; without a model the server's only one is meant."""
        body: dict[str, JsonValue] = {} if model is None else {"model": model}
        body["messages"] = [_message(message) for message in messages]
        body["max_tokens"] = params.max_tokens
        body["stream"] = params.stream
        body |= self.neutral
        body["seed"] = params.seed
        body |= self._asked_for(params)
        body |= self._wanted(params.wants)
        body |= self.extras(params)
        override(body, params.overrides, self.engine)
        for name in self.dropped:
            body.pop(name, None)
        if "logprobs" not in body:
            body.pop("top_logprobs", None)  # engines refuse the one without the other
        return body

    def _asked_for(self, params: Params) -> dict[str, JsonValue]:
        asked: dict[str, JsonValue] = {}
        if params.stream:
            asked["stream_options"] = {"include_usage": True}
        if params.logprobs > 0 and self.explains(params):
            asked |= {"logprobs": True, "top_logprobs": params.logprobs}
        if params.thinking != "auto":
            asked["chat_template_kwargs"] = {"enable_thinking": params.thinking == "on"}
        return asked

    def _wanted(self, wants: Wants) -> dict[str, JsonValue]:
        wanted: dict[str, JsonValue] = {}
        if wants.tools:
            wanted["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in wants.tools]
            wanted["tool_choice"] = wants.tool_choice
        if wants.json_schema is not None:
            wanted["response_format"] = self.structured(wants.json_schema)
        return wanted


def _message(message: Message) -> dict[str, JsonValue]:
    said: dict[str, JsonValue] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        said["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        said["tool_call_id"] = message.tool_call_id
    return said


def _salted(params: Params) -> dict[str, JsonValue]:
    return {"return_token_ids": True, **_only_salted(params)}


def _only_salted(params: Params) -> dict[str, JsonValue]:
    if not params.salt:
        return {}
    # vLLM refuses salts of over 128 characters or with "@", "/", "\\" or NUL (measured on 0.32.0)
    return {"cache_salt": hashlib.blake2s(params.salt.encode(), digest_size=16).hexdigest()}


def _lmdeploy_extras(params: Params) -> dict[str, JsonValue]:
    extras: dict[str, JsonValue] = {"return_token_ids": True}
    if params.thinking != "auto":
        extras["enable_thinking"] = params.thinking == "on"
    return extras


# OpenAI API reference, Chat Completions: "none" thinks not at all, "medium" was every model's default before it.
def _openai_extras(params: Params) -> dict[str, JsonValue]:
    if params.thinking == "auto":
        return {}
    return {"reasoning_effort": "medium" if params.thinking == "on" else "none"}


def _llamacpp_extras(params: Params) -> dict[str, JsonValue]:
    extras: dict[str, JsonValue] = {"cache_prompt": params.cache == "warm"}
    if not params.stream:
        # Measured: ids come in __verbose.tokens, and only with both of these; a stream leaves them empty.
        extras |= {"return_tokens": True, "verbose": True}
    return extras


def _unless_calls_stream(params: Params) -> bool:
    # Measured: "logprobs is not supported with tools + stream" is an HTTP 400.
    return not (params.wants.tools and params.stream)


_OPENAI_NEUTRAL: dict[str, JsonValue] = {
    "temperature": 0,
    "top_p": 1,
    "n": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
}

OPENAI = Dialect(engine="openai", neutral=_OPENAI_NEUTRAL, extras=_openai_extras)

# Fields: vllm/entrypoints/openai/chat_completion/protocol.py. -1 is "off" in every version; 0 was refused by old ones.
VLLM = Dialect(
    engine="vllm",
    neutral=_OPENAI_NEUTRAL | {"top_k": -1, "min_p": 0, "repetition_penalty": 1},
    extras=_salted,
    counters=CounterNames(
        drafts="vllm:spec_decode_num_drafts_total",
        draft_tokens="vllm:spec_decode_num_draft_tokens_total",
        accepted_tokens="vllm:spec_decode_num_accepted_tokens_total",
        generated_tokens="vllm:generation_tokens_total",
        running="vllm:num_requests_running",
        waiting="vllm:num_requests_waiting",
        preemptions="vllm:num_preemptions_total",
        pool_usage="vllm:kv_cache_usage_perc",
        prefix_queries="vllm:prefix_cache_queries_total",
        prefix_hits="vllm:prefix_cache_hits_total",
        accepted_at="vllm:spec_decode_num_accepted_tokens_per_pos_total",
        started="process_start_time_seconds",  # prometheus_client's own; absent with several API servers
    ),
    version=("/version", "version"),  # vllm/entrypoints/openai/api_server.py
)

# Fields and what disables each: llama.cpp tools/server/README.md, "POST /completion"; a GGUF can carry defaults.
LLAMACPP = Dialect(
    engine="llamacpp",
    neutral=_OPENAI_NEUTRAL
    | {
        "top_k": 0,
        "min_p": 0,
        "typical_p": 1,
        "top_n_sigma": -1,
        "repeat_penalty": 1,
        "dry_multiplier": 0,
        "xtc_probability": 0,
        "mirostat": 0,
        "dynatemp_range": 0,
    },
    extras=_llamacpp_extras,
    explains=_unless_calls_stream,
    counters=CounterNames(
        drafts="llamacpp:spec_decode_num_drafts_total",
        draft_tokens="llamacpp:spec_decode_num_draft_tokens_total",
        accepted_tokens="llamacpp:spec_decode_num_accepted_tokens_total",
        generated_tokens="llamacpp:tokens_predicted_total",
        running="llamacpp:requests_processing",
        waiting="llamacpp:requests_deferred",
        accepted_at="llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
    ),
    version=("/props", "build_info"),
)

# Fields: sglang/srt/entrypoints/openai/protocol.py, ChatCompletionRequest (-1 is its own default for top_k); counters:
# sglang/srt/metrics/collector.py. Untested. Its acceptance is a gauge over the last batches, so there are no counts.
SGLANG = Dialect(
    engine="sglang",
    neutral=_OPENAI_NEUTRAL | {"top_k": -1, "min_p": 0, "repetition_penalty": 1},
    extras=_salted,
    counters=CounterNames(
        generated_tokens="sglang:generation_tokens_total",
        running="sglang:num_running_reqs",
        waiting="sglang:num_queue_reqs",
        preemptions="sglang:num_retracted_requests_total",
        pool_usage="sglang:token_usage",
        prefix_queries="sglang:prompt_tokens_total",
        prefix_hits="sglang:cached_tokens_total",
    ),
    version=("/get_server_info", "version"),  # sglang/srt/entrypoints/http_server.py
)

# Fields and their types: mlx_lm/server.py, APIHandler.do_POST and validate_model_parameters. 0 is its own default for
# the repetition penalty, and "off". Unknown fields are passed over. It has no metrics.
MLX = Dialect(engine="mlx", neutral=_OPENAI_NEUTRAL | {"top_k": 0, "min_p": 0, "repetition_penalty": 0})

# Fields: tensorrt_llm/serve/openai_protocol.py, ChatCompletionRequest (unknown ones are refused; 0 is its own default
# for top_k). Counters: tensorrt_llm/metrics/collector.py; /metrics itself is JSON there.
TRTLLM = Dialect(
    engine="trtllm",
    neutral=_OPENAI_NEUTRAL | {"top_k": 0, "min_p": 0, "repetition_penalty": 1},
    extras=_only_salted,
    structured=_bare_schema,
    counters=CounterNames(
        draft_tokens="trtllm_spec_decode_num_draft_tokens_total",
        accepted_tokens="trtllm_spec_decode_num_accepted_tokens_total",
        generated_tokens="trtllm_generation_tokens_total",
        running="trtllm_num_requests_running",
        waiting="trtllm_num_requests_waiting",
        pool_usage="trtllm_kv_cache_utilization",
        prefix_queries="trtllm_prompt_tokens_total",
        prefix_hits="trtllm_prompt_cached_tokens_total",
    ),
    metrics="/prometheus/metrics",
    version=("/version", "version"),  # tensorrt_llm/serve/openai_server.py
)

# Fields: lmdeploy/serve/openai/protocol.py, ChatCompletionRequest (top_k is 40 there unless given); what they may be:
# lmdeploy/messages.py, GenerationConfig (top_k is never negative). Counters: lmdeploy/metrics/loggers.py.
LMDEPLOY = Dialect(
    engine="lmdeploy",
    neutral=_OPENAI_NEUTRAL | {"top_k": 0, "min_p": 0, "repetition_penalty": 1},
    extras=_lmdeploy_extras,
    counters=CounterNames(
        generated_tokens="lmdeploy:generation_tokens_total",
        running="lmdeploy:num_requests_running",
        waiting="lmdeploy:num_requests_waiting",
        pool_usage="lmdeploy:gpu_cache_usage_perc",
    ),
)

_DIALECTS: dict[Engine, Dialect] = {
    "vllm": VLLM,
    "llamacpp": LLAMACPP,
    "sglang": SGLANG,
    "openai": OPENAI,
    "mlx": MLX,
    "trtllm": TRTLLM,
    "lmdeploy": LMDEPLOY,
}


def dialect_for(engine: Engine) -> Dialect:
    """The dialect of an engine; an engine that is not known yet ("auto") is asked in plain OpenAI terms."""
    return _DIALECTS.get(engine, OPENAI)
