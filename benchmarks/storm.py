"""Every schedule against a server that fails in all the ways of a network, for ten minutes.

    python -m benchmarks.storm [--minutes 10] [--seed 0]

A candidate behind a TCP relay that refuses connections, resets them in the middle of a reply, stalls, and whose server
is started anew half-way; a reference without any of it. The run must come to its end: no crash, no request that nobody
waits for, every exchange accounted for, and a verdict that is no pass and says the true reasons. The result goes to
reports/storm/README.md.
"""

from __future__ import annotations

import argparse
import random
import socket
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import anyio
import httpx
from anyio.abc import SocketAttribute, SocketStream

from fuzzer.history.journal import exchanges, read_history
from fuzzer.manifest import HISTORY
from fuzzer.plan import Endpoint, Plan, Policy, Sampling
from fuzzer.run import Run, gate
from fuzzer.shapes import SHAPES
from fuzzer.sim.config import SimConfig
from fuzzer.sim.process import SimServer

HERE = Path("reports/storm")
REFUSED, RESET, STALLED = 0.01, 0.02, 0.02  # shares of the connections
STALL_SECONDS = 3.0
LEVELS = (1, 8)
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of zero: closing sends a reset


class Storm:
    """A TCP relay to ``port`` that breaks some connections; ``did`` counts what it did."""

    def __init__(self, port: int, seed: int) -> None:
        self._port = port
        self._rng = random.Random(seed)
        self.did: Counter[str] = Counter()

    @asynccontextmanager
    async def blowing(self) -> AsyncIterator[str]:
        """Serve as long as the context lasts; yields the address."""
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, self._connected)
            yield f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}"  # noqa: S610 - anyio, not Django
            tasks.cancel_scope.cancel()

    async def _connected(self, client: SocketStream) -> None:
        fate = self._fate()
        self.did[fate] += 1
        async with client:
            if fate == "refused":
                _reset(client)
                return
            try:
                server = await anyio.connect_tcp("127.0.0.1", self._port)
            except OSError:
                self.did["server away"] += 1
                _reset(client)
                return
            async with server, anyio.create_task_group() as tasks:
                tasks.start_soon(_copy, client, server, tasks.cancel_scope)
                await self._back(server, client, fate)
                tasks.cancel_scope.cancel()

    async def _back(self, server: SocketStream, client: SocketStream, fate: str) -> None:
        parts = 0
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for part in server:
                parts += 1
                if parts == 2 and fate == "reset":
                    await client.send(part[: len(part) // 2])
                    _reset(client)
                    return
                if parts == 2 and fate == "stalled":
                    await anyio.sleep(STALL_SECONDS)
                await client.send(part)

    def _fate(self) -> str:
        draw = self._rng.random()
        for share, name in ((REFUSED, "refused"), (RESET, "reset"), (STALLED, "stalled")):
            if draw < share:
                return name
            draw -= share
        return "passed"


async def _copy(source: SocketStream, target: SocketStream, scope: anyio.CancelScope) -> None:
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for part in source:
            await target.send(part)
    scope.cancel()


def _reset(stream: SocketStream) -> None:
    """Let the connection end in a reset when it is closed."""
    with suppress(OSError):
        raw = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - anyio, not Django
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)


async def run(minutes: float, seed: int, out: Path) -> tuple[Run, Storm, dict[str, float]]:
    """The gate in the storm; with it what the servers say is still running afterwards."""
    config = SimConfig(speculative=True, seed=seed)
    async with SimServer(config) as candidate, SimServer(SimConfig(seed=seed)) as reference:
        storm = Storm(urlsplit(candidate.url).port or 0, seed)
        async with storm.blowing() as url, anyio.create_task_group() as tasks:
            tasks.start_soon(_restart, candidate, config, minutes * 30)
            plan = Plan(
                candidates=(Endpoint(name="candidate", url=url, lm_head="bf16"),),
                references=(Endpoint(name="reference", url=reference.url, lm_head="bf16"),),
                concurrency=LEVELS,
                schedules=tuple(SHAPES),
                seed=seed,
                sampling=Sampling(timeout=20),
                policy=Policy(requests=round(24 * minutes), control_requests=24),
                budget_seconds=minutes * 60,
            )
            made = await gate(plan, out=out)
            tasks.cancel_scope.cancel()
        left = {}
        for name, server in (("candidate", candidate), ("reference", reference)):
            async with httpx.AsyncClient(base_url=server.url, trust_env=False) as http:
                page = (await http.get("/metrics")).text
            left[name] = float(
                next(line for line in page.splitlines() if line.startswith("vllm:num_requests_running")).split()[-1]
            )
    return made, storm, left


async def _restart(server: SimServer, config: SimConfig, after: float) -> None:
    await anyio.sleep(after)
    await server.relaunch(config)


def told(made: Run, storm: Storm, left: dict[str, float], seconds: float) -> tuple[list[str], list[str]]:
    """What happened, and what is wrong with it."""
    summary = made.summary
    each = list(exchanges(read_history(made.directory / HISTORY)))
    outcomes = Counter(one.received.outcome if one.received else "lost" for one in each)
    schedules = sorted({cell.schedule for cell in summary.cells if cell.blocks})
    codes = Counter(reason.code for reason in summary.reasons)
    lines = [
        f"- {seconds:.0f} s; {len(each):,} exchanges under {len(schedules)} schedules: {', '.join(schedules)}",
        f"- the relay: {', '.join(f'{name} {n:,}' for name, n in storm.did.most_common())}; the server restarted once",
        f"- outcomes: {', '.join(f'{name} {n:,}' for name, n in outcomes.most_common())}",
        f"- verdict **{summary.verdict}**: {', '.join(f'`{code}` {n}' for code, n in codes.most_common())}",
        *(f"    - {reason.code}: {reason.cell}: {reason.message}" for reason in summary.reasons[:12]),
        f"- still running at the servers afterwards: {left}",
    ]
    wrong = []
    if len({one.key for one in each}) != len(each) or len(each) != summary.exchanges:
        wrong.append("exchanges are not accounted for")
    if outcomes["lost"]:
        wrong.append(f"{outcomes['lost']} exchanges have no end")
    if any(left.values()):
        wrong.append(f"requests that nobody waits for: {left}")
    if summary.verdict not in ("fail", "inconclusive"):
        wrong.append(f"verdict {summary.verdict}")
    kinds = {group.kind for group in summary.findings if group.breaks_gate}
    if kinds:
        wrong.append(f"called faulty for what the network did: {kinds}")
    return lines, wrong


def main() -> None:
    """Run it, write what came of it; exit status 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        made, storm, left = anyio.run(run, arguments.minutes, arguments.seed, Path(folder))
        lines, wrong = told(made, storm, left, time.monotonic() - started)
    end = "Wrong: " + "; ".join(wrong) if wrong else "Nothing was lost, nobody was left waiting, and nothing passed."
    title = f"# In a storm\n\n`python -m benchmarks.storm --minutes {arguments.minutes:g} --seed {arguments.seed}`\n\n"
    text = title + "\n".join([*lines, "", end]) + "\n"
    HERE.mkdir(parents=True, exist_ok=True)
    (HERE / "README.md").write_text(text, encoding="utf-8")
    print(text)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
