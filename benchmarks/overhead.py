"""What the driver, the journal and the judge add to the bare client, in CPU time an exchange.

    python -m benchmarks.overhead [--requests 600] [--concurrency 8]

Both sides send the same prompts to the same simulated server, in alternation, and the ratio is printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import anyio

from fuzzer.history.journal import Journal
from fuzzer.history.records import AnyRecord, Block, Prompt
from fuzzer.judge import Judge
from fuzzer.plan import Endpoint, Plan, Sampling
from fuzzer.prompts import PromptPool
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.traffic.driver import Driver, Line, Prompts, StageSpec
from fuzzer.traffic.loops import closed_loop
from fuzzer.traffic.memo import Memo
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params

BLOCK = 48
ROUNDS = 3


async def bare(client: Client, prompts: list[Prompt], concurrency: int) -> None:
    """The client alone: so many in flight, nothing recorded."""
    waiting = iter(prompts)

    async def work() -> None:
        for prompt in waiting:
            await client.ask(prompt.messages, Params(max_tokens=256))

    async with anyio.create_task_group() as tasks:
        for _ in range(concurrency):
            tasks.start_soon(work)


async def whole(client: Client, plan: Plan, pool: PromptPool, ids: list[str], concurrency: int, path: Path) -> int:
    """The same prompts through driver, journal and judge; returns how many exchanges that took (filler too)."""
    cell = next(cell for cell in plan.cells() if cell.concurrency == concurrency)
    judge, memo = Judge(plan), Memo()
    sent: Counter[str] = Counter()
    with Journal(path) as journal:

        def record(item: AnyRecord) -> None:
            journal.append(item)
            judge.feed(item)
            sent[item.type] += 1

        prompts = Prompts(lambda key: pool.prompt(int(key[1:])), pool.filler, memo)
        driver = Driver(record=record, emit=lambda _: None, memo=memo, prompts=prompts, sampling=Sampling())
        line = Line("candidate", client)
        for block, start in enumerate(range(0, len(ids), BLOCK)):
            batch = ids[start : start + BLOCK]
            shape = (closed_loop(concurrency, batch),)
            await driver.drive(StageSpec(cell.key, "candidate", "measure", block, concurrency, shape), line)
            record(Block(cell=cell.key, block=block, judged_prompts=tuple(batch)))
    return sent["done"]


async def compare(requests: int, concurrency: int) -> None:
    """Measure both in alternation and print the ratio."""
    pool = PromptPool(0)
    ids = [f"p{index:06d}" for index in range(requests)]
    prompts = [pool.prompt(index) for index in range(requests)]
    times: dict[str, list[float]] = {"client alone": [], "driver, journal and judge": []}
    async with SimServer(SimConfig(speculative=True)) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        plan = Plan(candidates=(endpoint,), concurrency=(1, concurrency), schedules=("closed-loop",))
        async with Client(endpoint, dialect_for("vllm"), timeout=60) as client:
            for _ in range(ROUNDS):
                before = time.process_time()
                await bare(client, prompts, concurrency)
                times["client alone"].append((time.process_time() - before) / requests)
                with tempfile.TemporaryDirectory() as folder:
                    before = time.process_time()
                    count = await whole(client, plan, pool, ids, concurrency, Path(folder) / "history.jsonl")
                    times["driver, journal and judge"].append((time.process_time() - before) / count)
    best = {name: min(values) for name, values in times.items()}
    for name, value in best.items():
        print(f"{name}: {value * 1000:.2f} ms of CPU an exchange")
    print(f"ratio: {best['driver, journal and judge'] / best['client alone']:.2f}")


def main() -> None:
    """Parse the arguments and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--concurrency", type=int, default=8)
    arguments = parser.parse_args()
    anyio.run(partial(compare, arguments.requests, arguments.concurrency))


if __name__ == "__main__":
    main()
