"""How large an engine's KV pool is and how it is cut into blocks, as far as the engine tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from pydantic import JsonValue

from fuzzer.plan import Engine
from fuzzer.wire.metrics import sample_lines
from fuzzer.wire.tokens import count

_VLLM_INFO = ("vllm:cache_config_info",)


class KvPool(NamedTuple):
    """Tokens in a block, and in the whole pool; None where the engine does not tell."""

    block: int | None = None
    tokens: int | None = None


def kv_pool(
    engine: Engine, metrics: bytes | None, info: Mapping[str, JsonValue], slots: int | None, context: int | None
) -> KvPool:
    """The pool of an engine: from vLLM's metrics, SGLang's server information, or llama.cpp's slots and context."""
    if engine == "vllm":
        return _vllm(metrics or b"")
    if engine == "sglang":
        return KvPool(count(info.get("page_size")), count(info.get("max_total_num_tokens")))
    if engine == "llamacpp" and slots and context:
        return KvPool(None, slots * context)  # it divides what it was started with over its slots
    return KvPool()


def _vllm(page: bytes) -> KvPool:
    """Labels of an information metric; which there are depends on the version."""
    lines = sample_lines(page, _VLLM_INFO)
    try:
        families = list(text_string_to_metric_families("\n".join(lines[:1]) + "\n"))
        labels = families[0].samples[0].labels
    except (ValueError, IndexError, KeyError):
        return KvPool()
    block, blocks, tokens = (
        _number(labels.get(name)) for name in ("block_size", "num_gpu_blocks", "kv_cache_size_tokens")
    )
    if tokens is None and block is not None and blocks is not None:
        tokens = block * blocks
    return KvPool(block, tokens)


def _number(text: str | None) -> int | None:
    return count(int(text)) if text is not None and text.isdecimal() and len(text) < 16 else None
