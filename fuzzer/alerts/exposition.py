"""Where a soak's metrics can be read: over HTTP, and in a file for node_exporter's textfile collector."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from socket import socket
from typing import Final

import anyio
import anyio.to_thread
import uvicorn
from prometheus_client import generate_latest, make_asgi_app

from fuzzer.alerts.metrics import NightMetrics
from fuzzer.errors import UsageError
from fuzzer.report.files import write_whole
from fuzzer.sim.listening import listen

EVERY: Final = 5.0  # seconds between two writings of the file
_CLIENTS: Final = 16  # connections at once: a scrape is short, and the soak needs its file descriptors


@asynccontextmanager
async def serving(metrics: NightMetrics, port: int, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Serve the metrics as long as the context lasts; yields their URL. Port 0 takes a free one.

    UsageError says that the port cannot be taken.
    """
    try:
        listener, url = listen(host, port)
    except UsageError as error:
        raise UsageError(f"--metrics-port: {error}") from error
    server = _Guest(_settings(metrics))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await server.ready.wait()
        yield f"{url}/metrics"
    finally:
        server.should_exit = server.force_exit = True
        with anyio.CancelScope(shield=True):
            await task
        listener.close()


class _Guest(uvicorn.Server):
    """Runs inside the soak's event loop, says when it accepts connections, and leaves the signals alone."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


def _settings(metrics: NightMetrics) -> uvicorn.Config:
    return uvicorn.Config(
        make_asgi_app(metrics.registry),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_CLIENTS,
        timeout_keep_alive=30,
    )


@asynccontextmanager
async def textfile(metrics: NightMetrics, path: Path, every: float = EVERY) -> AsyncIterator[None]:
    """Keep the metrics in a file: written at once, every so many seconds, and when the context ends.

    The file is replaced as a whole, so that no reader sees half of it. A disk that fills up later stops nothing; a path
    that cannot be written at the beginning, or that no collector would read, is a UsageError.
    """
    if path.suffix != ".prom":
        raise UsageError(f"--textfile: {path}: node_exporter reads files that end in .prom; for example specfuzz.prom")
    try:
        _write(metrics, path)
    except OSError as error:
        raise UsageError(f"--textfile: cannot write {path}: {error.strerror or error}") from error
    stop = asyncio.Event()
    task = asyncio.create_task(_keep(metrics, path, every, stop))
    try:
        yield
    finally:
        stop.set()
        with anyio.CancelScope(shield=True):
            await task


async def _keep(metrics: NightMetrics, path: Path, every: float, stop: asyncio.Event) -> None:
    """Write until told to stop, and once more then; in a thread, since a slow disk must not hold up the soak."""
    last = False
    while not last:
        with anyio.move_on_after(every):
            await stop.wait()
        last = stop.is_set()
        page = generate_latest(metrics.registry).decode()
        with suppress(OSError):
            await anyio.to_thread.run_sync(write_whole, path, page)


def _write(metrics: NightMetrics, path: Path) -> None:
    write_whole(path, generate_latest(metrics.registry).decode())
