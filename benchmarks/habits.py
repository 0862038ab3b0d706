"""What a small real model says to every family and level: replies to grade by hand, and to test the checkers with.

    python -m benchmarks.habits [--each 5] [--seed 0] [--family NAME ...] [--model FILE.gguf] [--out habits.jsonl]

SmolLM2-135M-Instruct on an embedded llama.cpp, one request at a time, greedy, 200 tokens at most. Each line of the
output holds the prompt, the reply, how it ended and the grade that the family's check gives it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import anyio

from fuzzer.history.records import Prompt, Received
from fuzzer.plan import Endpoint
from fuzzer.prompts import FAMILIES, check
from fuzzer.prompts.strategies import KINDS, make
from fuzzer.sim.gguf_model import ensure_model
from fuzzer.sim.llamacpp import LlamaConfig, LlamaServer
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params

LIMIT = 200  # tokens of an answer
CONTEXT = 8192  # tokens
TIMEOUT = 600.0  # seconds an answer


async def replies(model: Path, prompts: list[Prompt]) -> AsyncIterator[tuple[Prompt, Received]]:
    """Each prompt with what the model said to it, one after the other."""
    async with LlamaServer(LlamaConfig(model=model, slots=1, ctx=CONTEXT)) as server:
        endpoint = Endpoint(name="candidate", url=server.url)
        async with Client(endpoint, dialect_for("llamacpp"), timeout=TIMEOUT) as client:
            for prompt in prompts:
                yield prompt, await client.ask(prompt.messages, Params(max_tokens=LIMIT, wants=prompt.wants))


async def collect(model: Path, prompts: list[Prompt], out: Path) -> None:
    """Write all replies with their grades, and print the counts."""
    grades: Counter[tuple[str, str, str]] = Counter()
    with out.open("w", encoding="utf-8") as file:
        async for prompt, received in replies(model, prompts):
            reply, reason = received.text, received.finish_reason
            grade = check(prompt, reply, finish_reason=reason, calls=received.tool_calls)
            line = {
                "prompt": prompt.model_dump(mode="json", exclude_defaults=True),
                "reply": reply,
                "calls": [call.model_dump(mode="json") for call in received.tool_calls],
                "finish_reason": reason,
                "outcome": received.outcome,
                "grade": grade.sub_kind or grade.value,
                "note": grade.note,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            file.flush()
            grades[prompt.family, prompt.level, grade.sub_kind or grade.value] += 1
    for (family, level, grade_name), count in sorted(grades.items()):
        print(f"{family}/{level}: {count} {grade_name}")


def main() -> None:
    """Parse the arguments and collect."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append", choices=tuple(FAMILIES), default=[])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--out", type=Path, default=Path("habits.jsonl"))
    arguments = parser.parse_args()
    kinds = [kind for kind in KINDS if not arguments.family or kind[0] in arguments.family]
    prompts = [make(*kind, f"{arguments.seed}/{turn}") for kind in kinds for turn in range(arguments.each)]
    anyio.run(partial(collect, ensure_model(arguments.model, print), prompts, arguments.out))


if __name__ == "__main__":
    main()
