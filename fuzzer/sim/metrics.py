"""The engine's counters as Prometheus text, under vLLM's names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from fuzzer.sim.config import SimConfig
from fuzzer.sim.engine import Engine

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_CPU = "process_cpu_seconds_total"
_START = "process_start_time_seconds"
_Samples = Iterable[tuple[str, float]]


def exposition(engine: Engine) -> str:
    """All metrics at this moment. Those of speculation exist only while it is on."""
    own = (("counter", _CPU, time.process_time()), ("gauge", _START, engine.started))
    return "".join(_lines(engine)) + "".join(f"# TYPE {name} {kind}\n{name} {value}\n" for kind, name, value in own)


def _lines(engine: Engine) -> Iterator[str]:
    label = f'engine="0",model_name="{_escaped(engine.config.model)}"'
    for name, kind, samples in _families(engine):
        full_name = f"vllm:{name}_total" if kind == "counter" else f"vllm:{name}"
        yield f"# TYPE {full_name} {kind}\n"
        for extra, value in samples:
            yield f"{full_name}{{{label}{extra}}} {float(value)}\n"


def _families(engine: Engine) -> Iterator[tuple[str, str, _Samples]]:
    scheduler, asked, steps = engine.scheduler, engine.counters, engine.scheduler.counters
    yield "num_requests_running", "gauge", [("", scheduler.busy)]
    yield "num_requests_waiting", "gauge", [("", len(scheduler.waiting))]
    yield "kv_cache_usage_perc", "gauge", [("", scheduler.pool.used / scheduler.pool.blocks)]
    yield "num_preemptions", "counter", [("", steps.preemptions)]
    yield "cache_config_info", "gauge", [(_cache(engine.config), 1)]
    yield "prompt_tokens", "counter", [("", asked.prompt_tokens)]
    yield "generation_tokens", "counter", [("", steps.generated)]
    yield "prefix_cache_queries", "counter", [("", asked.prompt_tokens)]
    yield "prefix_cache_hits", "counter", [("", asked.cached_tokens)]
    yield "request_success", "counter", [(f',finished_reason="{why}"', n) for why, n in asked.finished.items()]
    if engine.speculating:
        yield "spec_decode_num_drafts", "counter", [("", steps.drafts)]
        yield "spec_decode_num_draft_tokens", "counter", [("", steps.draft_tokens)]
        yield "spec_decode_num_accepted_tokens", "counter", [("", steps.accepted)]
        at = [(f',position="{place}"', count) for place, count in enumerate(steps.accepted_at)]
        yield "spec_decode_num_accepted_tokens_per_pos", "counter", at


def _cache(config: SimConfig) -> str:
    facts = {
        "block_size": config.block_size,
        "num_gpu_blocks": config.kv_blocks,
        "kv_cache_size_tokens": config.kv_blocks * config.block_size,
        "enable_prefix_caching": True,
    }
    return "".join(f',{name}="{value}"' for name, value in facts.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
