"""What a model can do, by family and form: the pass rate of the control, asked alone, greedily.

    python -m benchmarks.families [--url URL] [--model FILE.gguf] [--prompts 20] [--family NAME,...] [--markdown FILE]

Without ``--url`` a llama.cpp server is booted with SmolLM2-135M-Instruct. A form counts as reliable as calibration has
it (``fuzzer.judge.ability``): such a family can be judged without starving a gate.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from fuzzer.history.records import Level, Prompt
from fuzzer.judge.ability import RELIABLE
from fuzzer.plan import Endpoint, Sampling
from fuzzer.prompts import FAMILIES, check
from fuzzer.prompts.draws import Draws
from fuzzer.sim.gguf_model import ensure_model
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer
from fuzzer.stats import wilson
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.identify import identify
from fuzzer.wire.params import Params

SLOTS = 2
CONTEXT = 16384
GIVE_UP = 6  # prompts of a form without one right answer


@dataclass(frozen=True, slots=True)
class Row:
    """One form of a family: ``right`` of ``asked`` were right, ``verbose`` of those amid other words."""

    family: str
    level: Level
    asked: int
    right: int
    verbose: int

    @property
    def rate(self) -> float:
        """The share that was right, from 0 to 1."""
        return self.right / self.asked

    def cells(self) -> tuple[str, ...]:
        """The row for a table."""
        low, high = wilson(self.right, self.asked)
        share = f"{self.rate:.0%} ({low:.0%} to {high:.0%})"
        return self.family, self.level, f"{self.right}/{self.asked}", share, str(self.verbose)


def forms(families: list[str], count: int) -> Iterator[tuple[str, Level, list[Prompt]]]:
    """The prompts of each form; the same every time."""
    index = 0
    for name in families or list(FAMILIES):
        for level in FAMILIES[name].levels:
            yield (
                name,
                level,
                [
                    FAMILIES[name].generate(Draws(7, "p", index + place), f"p{index + place:06d}", level)
                    for place in range(count)
                ],
            )
            index += count


async def ask(client: Client, prompt: Prompt, sampling: Sampling) -> str:
    """One prompt alone, and its grade: right, verbose, wrong, none, or the outcome of a failed exchange."""
    wants = prompt.wants
    params = Params(
        max_tokens=wants.max_tokens or sampling.tokens, stream=False, thinking=wants.thinking or "auto", wants=wants
    )
    received = await client.ask(prompt.messages, params)
    if received.outcome != "ok":
        return received.outcome
    return check(prompt, received.text, finish_reason=received.finish_reason, calls=received.tool_calls).value


async def measure(url: str, families: list[str], count: int) -> list[Row]:
    """All forms, one request at a time."""
    endpoint = Endpoint(name="reference", url=url)
    identity = await identify(endpoint, role="reference")
    sampling = Sampling(timeout=600)
    rows = []
    async with Client(identity.pin(endpoint), dialect_for(identity.engine), timeout=sampling.timeout) as client:
        for name, level, prompts in forms(families, count):
            grades: list[str] = []
            for prompt in prompts:
                grades.append(await ask(client, prompt, sampling))
                if len(grades) == GIVE_UP and not {"right", "verbose"} & set(grades):
                    break  # calibration gives such a form up after three
            verbose = grades.count("verbose")
            row = Row(name, level, len(grades), grades.count("right") + verbose, verbose)
            others = sorted(set(grades) - {"right", "verbose"})
            print("  ".join(row.cells()), *others, file=sys.stderr, flush=True)
            rows.append(row)
    return rows


def table(rows: list[Row]) -> str:
    """The rows in Markdown, and how many families have a reliable form."""
    lines = ["| family | form | right | share (95 % Wilson) | of them verbose |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows]
    reliable = sorted({row.family for row in rows if row.rate >= RELIABLE})
    lines += ["", f"Families with a form at {RELIABLE:.0%} or better: {len(reliable)} ({', '.join(reliable)})."]
    return "\n".join(lines) + "\n"


async def run(url: str | None, model: Path | None, families: list[str], count: int) -> list[Row]:
    """Boot what has to be booted, and measure."""
    async with AsyncExitStack() as stack:
        if url is None:
            gguf = ensure_model(model, lambda text: print(text, file=sys.stderr))
            server = LlamaServer(LlamaConfig(model=gguf, slots=SLOTS, ctx=CONTEXT))
            url = (await stack.enter_async_context(server)).url
        return await measure(url, families, count)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a server that is up; default: llama.cpp is booted")
    parser.add_argument("--model", type=Path, help="a GGUF file in place of SmolLM2")
    parser.add_argument("--prompts", type=int, default=20, help="prompts a form")
    parser.add_argument("--family", default="", help="only these, separated by commas")
    parser.add_argument("--markdown", type=Path, help="write the table there too")
    given = parser.parse_args()
    names = [name for name in given.family.split(",") if name]
    text = table(anyio.run(partial(run, given.url, given.model, names, given.prompts)))
    print(text)
    if given.markdown is not None:
        given.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
