"""Servers in a child process: configuration in, one JSON line with the address out, and no life beyond the parent's.

The configuration is one line of the child's standard input, so that no key is ever seen in a list of processes. The
child ends when that input closes. The kernel closes it when the parent goes, however that ends, so a killed parent
leaves no server behind.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import IO, Self

import anyio
from anyio.abc import Process

from fuzzer.errors import SpecfuzzError, UnavailableError

_TAIL_LINES = 8

Announce = Callable[[str], None]


class ChildServer:
    """An async context manager around ``python -m module``, which `serve_parent` makes a server.

    ``config`` is what the child is told, on one line. Booting takes at most ``boot_timeout`` seconds. The child writes
    its log to a file that no one sees unless the boot fails: then the last lines are part of the UnavailableError.
    """

    def __init__(self, module: str, config: str, *, boot_timeout: float) -> None:
        self.url = ""
        self._module = module
        self._told = config
        self._boot_timeout = boot_timeout
        self._process: Process | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while it lives."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def __aenter__(self) -> Self:
        with tempfile.TemporaryFile() as log:  # the child has a descriptor of its own
            try:
                self.url = await self._boot(log)
            except BaseException:
                await self.close()
                raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the child at once and wait until it is gone; nothing if it is already."""
        if self._process is None:
            return
        with anyio.CancelScope(shield=True):
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.aclose()

    async def _boot(self, log: IO[bytes]) -> str:
        command = [sys.executable, "-m", self._module]
        with anyio.CancelScope(shield=True):  # cancelled half-way, it would leave a child that nobody knows
            # A session of its own, so that Ctrl-C in the terminal reaches the parent alone
            process = await anyio.open_process(command, stderr=log, start_new_session=True)
            self._process = process
        try:
            with anyio.fail_after(self._boot_timeout):
                return await _address(process, self._told)
        except TimeoutError:
            what = f"was not up after {self._boot_timeout:g} s"
        except anyio.EndOfStream:
            what = f"ended with status {process.returncode}"
        except ValueError:
            what = "printed something else than its address"
        raise UnavailableError("\n  ".join([f"a server did not start: {self._module} {what}", *_last_lines(log)]))


async def _address(process: Process, told: str) -> str:
    """What the child answers when told its configuration; EndOfStream once it has ended instead."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the child was started without pipes")
    with suppress(OSError, anyio.BrokenResourceError):  # it ended before it read; its last words say why
        await process.stdin.send(told.encode() + b"\n")
    line = b""
    try:
        while not line.endswith(b"\n"):
            line += await process.stdout.receive()
    except anyio.EndOfStream:
        await process.wait()
        raise
    return str(json.loads(line)["url"])


def _last_lines(log: IO[bytes]) -> list[str]:
    log.seek(0)
    return log.read().decode(errors="replace").strip().splitlines()[-_TAIL_LINES:]


def serve_parent(serve: Callable[[str, Announce], None]) -> None:
    """What the child does: ``serve`` gets the configuration, and a function that tells the parent the address.

    An error that is meant for a person becomes one line of the log and the exit status.
    """
    channel = _claim_stdout()
    told = sys.stdin.readline()
    threading.Thread(target=_leave_on_eof, daemon=True).start()
    try:
        serve(told, lambda url: print(json.dumps({"url": url}), file=channel, flush=True))
    except SpecfuzzError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)


def _claim_stdout() -> IO[str]:
    """The real standard output, for the address alone; all else that is printed joins standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def _leave_on_eof() -> None:
    """Leave at once: a normal exit would wait for requests in flight, and a native server can hang there."""
    while os.read(0, 4096):
        pass
    os._exit(0)
