"""What ``specfuzz inspect`` says of live servers: makes docs/inspect.md.

    python -m benchmarks.inspected [--vllm CANDIDATE REFERENCE] > docs/inspect.md

Boots a llama.cpp pair (the extra ``llamacpp``) and simulated pairs on the loopback, and pastes what the command prints;
with ``--vllm`` a vLLM pair that is up is asked as well. About a minute on two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import AsyncExitStack

from fuzzer.demo import llama_model
from fuzzer.sim.config import SimConfig
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer, Speculation
from fuzzer.sim.process import SimServer

_WIDTH = 110
_ROLES: tuple[Speculation | None, ...] = ("ngram", None)

_HEAD = """# What `specfuzz inspect` shows

Made by `python -m benchmarks.inspected > docs/inspect.md`: what stands below was printed by the command, asked about
servers that were up at that moment. `specfuzz gate` does the same first, and ends with status 3 where the two ends
cannot be compared.

```
specfuzz inspect CANDIDATE [REFERENCE]
```

It asks each end who it is, sends it about two dozen short requests (no more of them at once than `--concurrency`), and
says what speaks against comparing the two: first what makes it impossible, then what one should know. Each objection
says what to change. Facts that an engine does not tell are shown as *not told*; what it could silently ignore
(temperature, max_tokens, stop strings, streaming, the neutral sampling values) is probed, not believed. With `--json`
the same comes as JSON. How each fact is known of each engine stands in [the table of engines](dialects.md); how to
reach servers behind TLS, proxies, paths and sockets in [connections](connections.md).

| exit status | |
|---|---|
| 0 | comparable, with or without warnings |
| 2 | a mistake in what was asked for |
| 3 | not comparable, or (one address) not fit for a gate |
| 4 | an end cannot be reached |
"""

_VLLM = """
## vLLM

vLLM is tried by hand, not by the tests: it takes a minute to start, and 4 GiB a server. Start a pair, for example (on a
machine without a GPU, `benchmarks/vllm_cpu.py` says how), the candidate with a drafter:

```
vllm serve MODEL --port 8000 --max-num-seqs 8
vllm serve MODEL --port 8001 --max-num-seqs 8 --speculative-config '{"method": "ngram", "num_speculative_tokens": 4,
  "prompt_lookup_max": 4, "prompt_lookup_min": 2}'
specfuzz inspect http://127.0.0.1:8001 http://127.0.0.1:8000
SPECFUZZ_VLLM_URL=http://127.0.0.1:8001 pytest -n 0 tests/wire/test_opt_in.py
```

With `VLLM_SERVER_DEV_MODE=1` in its environment it also tells of its generation defaults and of a head precision that
was set at run time.
"""

_MLX = """
## mlx-lm

```
mlx_lm.server --model DIR --port 8001
specfuzz inspect --engine mlx http://127.0.0.1:8001
SPECFUZZ_MLX_URL=http://127.0.0.1:8001 pytest -n 0 tests/wire/test_opt_in.py
```
"""


async def _inspect(title: str, said: str, *urls: str) -> str:
    """A section with what the command printed, and how it ended."""
    command = [sys.executable, "-m", "fuzzer", "inspect", *urls]
    environment = os.environ | {"COLUMNS": str(_WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environment)
    out, _ = await process.communicate()
    text = "\n".join(line.rstrip() for line in out.decode().splitlines())
    shown = f"$ specfuzz inspect {' '.join(urls)}\n{text}\n$ echo $?\n{process.returncode}"
    return f"\n## {title}\n\n{said}\n\n```\n{shown}\n```\n"


async def _main(vllm: list[str]) -> None:
    print(_HEAD, end="")
    async with AsyncExitStack() as stack:
        model = llama_model(None)
        ours, theirs = [
            await stack.enter_async_context(LlamaServer(LlamaConfig(model=model, speculation=speculation)))
            for speculation in _ROLES
        ]
        words = "A real pair: llama.cpp with SmolLM2-135M, eight slots each, the candidate drafting by n-grams."
        print(await _inspect("llama.cpp", words, ours.url, theirs.url), end="")
    async with AsyncExitStack() as stack:
        drafting, plain, hot = [
            await stack.enter_async_context(SimServer(config))
            for config in (
                SimConfig(speculative=True),
                SimConfig(),
                SimConfig(speculative=True, ignores=("temperature",), template="You are kind.", max_model_len=2000),
            )
        ]
        words = "The simulated engine, which speaks vLLM's dialect (`specfuzz serve-sim`)."
        print(await _inspect("The simulated engine", words, drafting.url, plain.url), end="")
        words = "The same reference against a server that ignores the temperature and has another template and limit."
        print(await _inspect("A pair that cannot be compared", words, hot.url, plain.url), end="")
        words = "Two addresses in the wrong order."
        print(await _inspect("A swapped pair", words, plain.url, drafting.url), end="")
        words = "One address: is it fit to be a candidate?"
        print(await _inspect("One end alone", words, drafting.url), end="")
    print(_VLLM, end="")
    if vllm:
        print(await _inspect("A vLLM pair", "As it was printed.", *vllm), end="")
    print(_MLX, end="")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vllm", nargs=2, metavar=("CANDIDATE", "REFERENCE"), default=[])
    asyncio.run(_main(parser.parse_args().vllm))
