"""Matched concurrency as the simulated server itself sees it: how long exactly N requests are in flight at it.

    python -m benchmarks.concurrency [--levels 8,32,256] [--rounds 3]

A closed loop on one simulated server in another process. The measured time runs from the barrier to the end of the last
measured request; in flight at the server is what it has the head of and has not sent the end of. Between the end of one
request and the head of the next there is a gap (the client reads, records, and opens a connection), so the share
of the time depends on how long a request takes: for about N x gap / duration of it one is missing. The pace of the
server is chosen so that requests take long where many are in flight, as with real engines. The share of the engine's
steps that find exactly N in flight does not depend on that: a batch is made up when a step begins.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from functools import partial
from statistics import median
from typing import Any

import anyio
import httpx

from fuzzer.history.records import AnyRecord, Done, Message, Prompt, Sent, Stage
from fuzzer.plan import Endpoint, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer
from fuzzer.traffic.driver import Driver, Line, Prompts, StageSpec
from fuzzer.traffic.loops import closed_loop
from fuzzer.traffic.memo import Memo
from fuzzer.wire.client import Client
from fuzzer.wire.clock import now_ns
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params

SECONDS = {8: 4.0, 32: 5.0, 256: 5.0}  # that a request takes alone, by level; with others it waits for their prefills


def prompt(prompt_id: str) -> Prompt:
    """A question whose answer takes some steps: ten numbers."""
    number = int(prompt_id[1:]) % 1000
    text = f"Count on from {number} in steps of 1: write the next ten numbers, separated by commas."
    message = Message(role="user", content=text)
    return Prompt(id=prompt_id, family="count-on", level="hard", messages=(message,), answer=str(number))


async def measure(level: int, rounds: int, seconds: float) -> dict[str, object]:
    """One closed loop of ``level`` x ``rounds`` requests; what the server saw of it."""
    records: list[AnyRecord] = []
    memo = Memo()
    steps = await _steps()
    config = SimConfig(step_seconds=seconds / steps, max_num_seqs=level)
    async with SimServer(config) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        async with Client(endpoint, dialect_for("vllm"), timeout=3600) as client:
            driver = Driver(
                record=records.append,
                emit=lambda _: None,
                memo=memo,
                prompts=Prompts(prompt, lambda index: prompt(f"f{index:06d}"), memo),
                sampling=Sampling(max_tokens=256, timeout=3600),
            )
            ids = [f"p{index:06d}" for index in range(level * rounds)]
            spec = StageSpec("bench", "candidate", "measure", 0, level, (closed_loop(level, ids),))
            before = time.process_time()
            await driver.drive(spec, Line("candidate", client))
            cpu = time.process_time() - before
            async with httpx.AsyncClient(trust_env=False) as http:
                seen = (await http.get(f"{server.url}/sim/traffic")).json()
    return {"level": level, "cpu_seconds": cpu} | _table(level, records, seen)


async def _steps() -> float:
    """Engine steps that one of these requests takes: measured, with a known pace."""
    pace = 0.01
    async with SimServer(SimConfig(step_seconds=pace)) as server:
        endpoint = Endpoint(name="candidate", url=server.url, model="sim-model")
        async with Client(endpoint, dialect_for("vllm"), timeout=60) as client:
            times = []
            for index in range(3):
                started = time.monotonic()
                await client.ask(prompt(f"p{index:06d}").messages, Params(max_tokens=256))
                times.append(time.monotonic() - started)
    return median(times) / pace


def _table(level: int, records: list[AnyRecord], seen: dict[str, Any]) -> dict[str, object]:
    requests = seen["requests"]
    offset = now_ns() - time.monotonic_ns()
    sent = [record for record in records if isinstance(record, Sent)]
    ended = {record.key: record.received.end_ns for record in records if isinstance(record, Done)}
    measured = {record.key for record in sent if record.phase == "measure"}
    start = min(record.sent_ns for record in sent) - offset
    end = max(ended[key] for key in measured) - offset
    moves = [(int(str(row[1])), 1) for row in requests] + [(int(str(row[2])), -1) for row in requests]
    table: Counter[int] = Counter()
    count, since = 0, start
    for at, step in sorted(moves):
        until = min(max(at, start), end)
        table[count] += until - since
        count, since = count + step, until
    client = next(record for record in records if isinstance(record, Stage))
    lives = [int(str(row[2])) - int(str(row[1])) for row in requests if str(row[0]) in measured]
    heads = sorted(int(str(row[1])) for row in requests)[:level]
    return {
        "requests": len(requests),
        "seconds": (end - start) / 1e9,
        "request_seconds": median(lives) / 1e9,
        "server_share": table[level] / sum(table.values()),
        "server_most": seen["most"],
        "steps": _steps_at(level, [count for at, count in seen["steps"] if start <= at <= end]),
        "client_share": client.share_at_n,
        "spread_ms": (heads[-1] - heads[0]) / 1e6,
        "gap_ms": _gap(level, table, requests),
    }


def _steps_at(level: int, found: list[int]) -> float:
    return found.count(level) / len(found)


def _gap(level: int, table: Counter[int], requests: list[list[object]]) -> float:
    """Milliseconds that a slot stands empty at the server between two requests."""
    missing = sum((level - count) * ns for count, ns in table.items() if count < level)
    return missing / max(len(requests) - level, 1) / 1e6


async def run(levels: list[int], rounds: int) -> None:
    """Measure every level and print the table."""
    print("| N | requests | s each | at N: server time | server steps | client | most | barrier, ms | gap, ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for level in levels:
        row = await measure(level, rounds, SECONDS.get(level, 5.0))
        shares = " | ".join(f"{row[name]:.2%}" for name in ("server_share", "steps", "client_share"))
        print(
            f"| {level} | {row['requests']} | {row['request_seconds']:.1f} | {shares} | {row['server_most']} "
            f"| {row['spread_ms']:.1f} | {row['gap_ms']:.2f} |",
            flush=True,
        )


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", default="8,32,256")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    anyio.run(partial(run, [int(level) for level in arguments.levels.split(",")], arguments.rounds))


if __name__ == "__main__":
    main()
