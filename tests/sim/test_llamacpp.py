from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fuzzer.errors import UnavailableError, UsageError
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer

real_engine = pytest.mark.real_engine
PARENT = """
import sys
from pathlib import Path
import anyio
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer

async def main():
    async with LlamaServer(LlamaConfig(Path(sys.argv[1]))) as server:
        assert "xllamacpp" not in sys.modules
        print(server.pid, flush=True)
        await anyio.sleep_forever()

anyio.run(main)
"""


async def _ask(http: httpx.AsyncClient, question: str, **options: object) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": question}]
    payload = {"messages": messages, "temperature": 0, "max_tokens": 24, "seed": 1, **options}
    reply = await http.post("/v1/chat/completions", json=payload)
    return dict[str, Any](reply.raise_for_status().json())


async def _code_words(http: httpx.AsyncClient, words: list[str]) -> dict[str, str]:
    """The answers to these code-word questions, all asked at once."""
    answers: dict[str, str] = {}

    async def ask(word: str) -> None:
        reply = await _ask(http, f"The code word is {word}. What is the code word?")
        answers[word] = reply["choices"][0]["message"]["content"]

    async with anyio.create_task_group() as tasks:
        for word in words:
            tasks.start_soon(ask, word)
    return answers


async def _counters(http: httpx.AsyncClient) -> dict[str, float]:
    text = (await http.get("/metrics")).text
    return {sample.name: sample.value for family in text_string_to_metric_families(text) for sample in family.samples}


WORDS = ["AMBER-301", "CEDAR-302", "FALCON-303", "WILLOW-304", "COPPER-305", "MEADOW-306"]


@real_engine
@pytest.mark.anyio
async def test_the_candidate_drafts_on_short_answers_the_reference_does_not_and_they_agree(model: Path) -> None:
    answers: dict[str | None, dict[str, str]] = {}
    drafts: dict[str | None, float] = {}
    for speculation in ("ngram", None):
        async with (
            LlamaServer(LlamaConfig(model, speculation=speculation)) as server,
            httpx.AsyncClient(base_url=server.url, timeout=240) as http,
        ):
            answers[speculation] = await _code_words(http, WORDS)
            drafts[speculation] = (await _counters(http))["llamacpp:spec_decode_num_accepted_tokens_total"]
            if speculation is None:
                models = (await http.get("/v1/models")).json()
    assert answers["ngram"] == answers[None]
    assert sum(word in answer for word, answer in answers[None].items()) >= len(WORDS) - 2
    assert drafts["ngram"] > len(WORDS)
    assert drafts[None] == 0
    assert models["data"][0]["id"] == model.stem


@pytest.fixture
def torn(model: Path, tmp_path: Path) -> Path:
    with model.open("rb") as file:
        torn = tmp_path / "torn.gguf"
        torn.write_bytes(file.read(1000))
    return torn


@real_engine
@pytest.mark.anyio
async def test_a_failing_boot_shows_what_llama_cpp_said(torn: Path) -> None:
    with pytest.raises(UnavailableError, match=r"llamacpp ended with status 1(.|\n)*torn\.gguf"):
        await LlamaServer(LlamaConfig(torn)).__aenter__()


@real_engine
@pytest.mark.anyio
async def test_the_server_ends_at_once_with_requests_in_flight(model: Path) -> None:
    async with anyio.create_task_group() as tasks:
        async with LlamaServer(LlamaConfig(model)) as server, httpx.AsyncClient(base_url=server.url) as http:
            assert server.pid is not None
            watch = os.pidfd_open(server.pid)
            tasks.start_soon(_broken_off, server.url)
            while not (await _counters(http))["llamacpp:requests_processing"]:
                pass
        assert select.select([watch], [], [], 0)[0]
    os.close(watch)


async def _broken_off(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=240) as http:
        with pytest.raises(httpx.TransportError):
            await _ask(http, "Tell a long story.", max_tokens=900, ignore_eos=True)


@real_engine
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux to watch a process that is not one's own")
def test_a_killed_parent_leaves_no_server(model: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT, str(model)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        watch = os.pidfd_open(int(parent.stdout.readline()))
        parent.send_signal(signal.SIGKILL)
    assert select.select([watch], [], [], 120)[0]
    os.close(watch)


@pytest.mark.anyio
async def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(UnavailableError, match=r"pip install 'specfuzz\[llamacpp\]'"):
        await LlamaServer(LlamaConfig(Path("any.gguf"))).__aenter__()


@pytest.mark.parametrize("wrong", [{"slots": 0}, {"threads": 0}, {"ctx": 7}])
def test_a_server_needs_slots_threads_and_context(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="at least one"):
        LlamaConfig(Path("any.gguf"), **wrong)  # type: ignore[arg-type]  # the three are integers
