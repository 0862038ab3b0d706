"""A real llama.cpp server in a child process, from the extra ``llamacpp``: the embedded engine of demo and tests.

The parent never loads the native library::

    async with LlamaServer(LlamaConfig(model=ensure_model(None, print), speculation="ngram")) as server:
        ...  # talk to server.url
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from fuzzer.errors import UnavailableError, UsageError
from fuzzer.sim.child import Announce, ChildServer, serve_parent

if TYPE_CHECKING:
    from xllamacpp import CommonParams, Server

Speculation = Literal["ngram", "ngram-cache", "draft"]

_BOOT_TIMEOUT = 120.0
_NGRAM = (2, 6)  # look-up and draft length in tokens; llama.cpp's own 12 and 48 never draft on short answers
_ERRORS_ONLY = 1
_SPARE_HTTP_THREADS = 64  # a kept connection holds one, and a full pool would look like a hang
_PROMPT_CACHE_MIB = 1024  # holds some 150 short prompts; llama.cpp's own 8192 would grow all night


@dataclass(frozen=True, slots=True)
class LlamaConfig:
    """How to boot one llama.cpp server.

    ``ctx`` is the context in tokens, split evenly over the ``slots`` (parallel sequences). More than one thread a
    server collapses on a busy machine. ``speculation`` None is a reference; "ngram" drafts from the prompt and answer
    so far; "ngram-cache" does too, with a cache that outlives requests (ggml-org/llama.cpp#27852); "draft" lets the
    model at ``drafter`` draft (None: the served one itself). ``seed`` is for requests that sample and give none.
    """

    model: Path
    slots: int = 8
    ctx: int = 8192
    threads: int = 1
    speculation: Speculation | None = None
    drafter: Path | None = None
    seed: int = 1234

    def __post_init__(self) -> None:
        if min(self.slots, self.threads, self.ctx // max(self.slots, 1)) < 1:
            raise UsageError("a llama.cpp server needs at least one slot, one thread and one token of context a slot")


class LlamaServer(ChildServer):
    """llama.cpp in a child process; an async context manager with the address in ``url``."""

    def __init__(self, config: LlamaConfig) -> None:
        paths = {"model": str(config.model), "drafter": str(config.drafter or config.model)}
        told = json.dumps(asdict(config) | paths)
        super().__init__("fuzzer.sim.llamacpp", told, boot_timeout=_BOOT_TIMEOUT)

    async def __aenter__(self) -> Self:
        if importlib.util.find_spec("xllamacpp") is None:
            raise UnavailableError("the llama.cpp engine is not installed; run: pip install 'specfuzz[llamacpp]'")
        return await super().__aenter__()


def _parameters(config: LlamaConfig) -> CommonParams:
    from xllamacpp import CommonParams, common_speculative_type

    params = CommonParams()
    params.model.path, params.model_alias = str(config.model), {Path(config.model).stem}
    params.n_parallel, params.n_ctx = config.slots, config.ctx
    params.cont_batching, params.kv_unified, params.n_gpu_layers = True, False, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = config.threads
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    params.endpoint_metrics = params.endpoint_slots = params.endpoint_props = True
    params.n_threads_http = config.slots + _SPARE_HTTP_THREADS
    params.cache_ram_mib, params.verbosity, params.sampling.seed = _PROMPT_CACHE_MIB, _ERRORS_ONLY, config.seed
    if config.speculation == "ngram":
        params.speculative.types = [common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_SIMPLE]
        params.speculative.ngram_simple.size_n, params.speculative.ngram_simple.size_m = _NGRAM
    elif config.speculation == "ngram-cache":
        params.speculative.types = [common_speculative_type.COMMON_SPECULATIVE_TYPE_NGRAM_CACHE]
    elif config.speculation == "draft":
        params.speculative.types = [common_speculative_type.COMMON_SPECULATIVE_TYPE_DRAFT_SIMPLE]
        params.speculative.draft.mparams.path = str(config.drafter)
        params.speculative.draft.n_gpu_layers = 0
        threads = params.speculative.draft.cpuparams, params.speculative.draft.cpuparams_batch
        for each in threads:
            each.n_threads = config.threads
    return params


def _boot(config: LlamaConfig) -> Server:
    from xllamacpp import Server

    try:
        return Server(_parameters(config))
    except RuntimeError as error:
        raise SystemExit(f"llama.cpp: {error}") from error


def _serve(told: str, announce: Announce) -> None:
    server = _boot(LlamaConfig(**json.loads(told)))
    try:
        announce(server.listening_address)
        threading.Event().wait()
    finally:
        os._exit(1)  # a normal exit can hang while requests are in flight


def main() -> None:
    """Run a llama.cpp server for a parent process."""
    serve_parent(_serve)


if __name__ == "__main__":
    main()
