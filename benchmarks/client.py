"""What reading a stream costs the client, in CPU time a chunk, and how many chunks a second that leaves room for.

    python -m benchmarks.client [--streams 64] [--chunks 256]

Measured on two busy cores in November 2026: 14 us at 8 and 64 streams, 17 us at 512; room for 58,000 chunks a second.

A child process sends canned vLLM-like chunks, a token each, as fast as they are taken; so many streams are read at once
by one client. Wall time says little on a busy machine; the CPU time of the reading process is what is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import time
from multiprocessing.connection import Connection

import anyio

from fuzzer.history.records import Message
from fuzzer.plan import Endpoint
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import VLLM
from fuzzer.wire.params import Params

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def _events(chunks: int) -> list[bytes]:
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas = [
        {"index": 0, "delta": {"content": f" w{n}"}, "token_ids": [n], "finish_reason": None} for n in range(chunks)
    ]
    usage = {"prompt_tokens": 9, "completion_tokens": chunks, "total_tokens": chunks + 9}
    told: list[dict[str, object]] = [common | {"choices": [delta]} for delta in deltas]
    told.append(common | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    told.append(common | {"choices": [], "usage": usage})
    return [b"data: " + json.dumps(one).encode() + b"\n\n" for one in told] + [b"data: [DONE]\n\n"]


def serve(chunks: int, port: Connection) -> None:
    """The child: answers every connection with the same stream, an event a write."""
    events = _events(chunks)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(_HEAD)
        for event in events:
            writer.write(event)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def read(port: int, streams: int, chunks: int) -> float:
    """CPU seconds for reading so many streams at once."""
    endpoint = Endpoint(name="c", url=f"http://127.0.0.1:{port}", model="m")
    asked = (Message(role="user", content="hello"),)

    async with Client(endpoint, VLLM, timeout=600) as client:

        async def one() -> None:
            received = await client.ask(asked, Params(max_tokens=chunks))
            assert received.outcome == "ok", received.detail
            assert received.parts == chunks

        await one()
        begun = time.process_time()
        async with anyio.create_task_group() as tasks:
            for _ in range(streams):
                tasks.start_soon(one)
        return time.process_time() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--chunks", type=int, default=256)
    given = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("spawn").Process(target=serve, args=(given.chunks, theirs), daemon=True)
    child.start()
    try:
        seconds = anyio.run(read, ours.recv(), given.streams, given.chunks)
    finally:
        child.terminate()
    each = seconds / (given.streams * given.chunks)
    what = f"{given.streams} streams of {given.chunks} chunks"
    print(f"{what}: {1e6 * each:.0f} us of CPU a chunk, room for {1 / each:,.0f}/s")


if __name__ == "__main__":
    main()
