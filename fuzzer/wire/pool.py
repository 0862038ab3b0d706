"""How large an engine's KV pool is, how it is cut into blocks, and what it holds in memory, as far as it tells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families
from pydantic import JsonValue

from fuzzer.figures import MemoryKind
from fuzzer.plan import Engine
from fuzzer.wire.bounds import BadReplyError, Limits
from fuzzer.wire.decode import decode
from fuzzer.wire.metrics import sample_lines
from fuzzer.wire.tokens import count

_VLLM_INFO = ("vllm:cache_config_info",)
_RESIDENT = ("process_resident_memory_bytes",)  # of prometheus-client's process collector, which vLLM leaves on
_SGLANG_SHARES = ("weight", "kvcache", "graph", "cuda_graph")
_GIB = 2**30


class KvPool(NamedTuple):
    """Tokens in a block, and in the whole pool; None where the engine does not tell."""

    block: int | None = None
    tokens: int | None = None


def kv_pool(
    engine: Engine, metrics: bytes | None, info: Mapping[str, JsonValue], slots: int | None, context: int | None
) -> KvPool:
    """The pool of an engine.

    vLLM's metrics tell it, SGLang's server information, TensorRT-LLM's iteration statistics (``kvCacheStats``, in
    tensorrt_llm/executor/result.py and its /metrics); llama.cpp's is that of its slots and context.
    """
    if engine == "vllm":
        return _vllm(metrics or b"")
    if engine == "trtllm":
        stats = _mapping(_iteration(metrics).get("kvCacheStats"))
        block, blocks = count(stats.get("tokensPerBlock")), count(stats.get("maxNumBlocks"))
        return KvPool(block, block * blocks if block and blocks else None)
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


class Memory(NamedTuple):
    """Bytes, and of what."""

    bytes: int | None = None
    kind: MemoryKind | None = None


def memory(engine: Engine, metrics: bytes | None, info: Mapping[str, JsonValue]) -> Memory:
    """What an engine holds in memory.

    SGLang tells of weights, KV cache and graphs on one device in GiB (``memory_usage`` of ``internal_states``, in
    sglang/srt/managers/scheduler.py), TensorRT-LLM of its device (``gpuMemUsage`` of the last iteration); others with a
    Prometheus client of Python's of the process that serves HTTP.
    """
    if engine == "sglang":
        states = info.get("internal_states")
        usage = _mapping(_mapping(states[0]).get("memory_usage")) if isinstance(states, list) and states else {}
        shares = [share for name in _SGLANG_SHARES if (share := _finite(usage.get(name))) is not None]
        return Memory(round(sum(shares) * _GIB), "device") if shares else Memory()
    if engine == "trtllm":
        used = count(_iteration(metrics).get("gpuMemUsage"))
        return Memory(used, "device") if used else Memory()
    for line in sample_lines(metrics or b"", _RESIDENT)[:1]:
        resident = _finite(line.rpartition(" ")[2])
        if resident:
            return Memory(round(resident), "process")
    return Memory()


def _iteration(page: bytes | None) -> Mapping[str, JsonValue]:
    """The last of TensorRT-LLM's iteration statistics: its /metrics is a list of them, in JSON."""
    try:
        told = decode(page or b"", Limits())
    except BadReplyError:
        return {}
    return _mapping(told[-1]) if isinstance(told, list) and told else {}


def _mapping(value: JsonValue) -> Mapping[str, JsonValue]:
    return value if isinstance(value, dict) else {}


def _finite(value: JsonValue) -> float | None:
    """A number of bytes or GiB that makes sense, from 0 to an exbibyte."""
    if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > 40:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 <= number < 2**60 else None
