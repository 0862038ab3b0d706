"""Servers in a child process: configuration in, one JSON line with the address out, and no life beyond the parent's.

The configuration is one line of the child's standard input, so that no key is ever seen in a list of processes. A child
that can be launched anew takes further lines. It ends when that input closes. The kernel closes it when the parent
goes, however that ends, so a killed parent leaves no server behind.
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

    async def tell(self, told: str) -> None:
        """Give the running child another configuration; it says when that holds. UnavailableError if it cannot."""
        if self._process is None:
            raise RuntimeError("the child is not running")
        try:
            with anyio.fail_after(self._boot_timeout):
                self.url = await _address(self._process, told)
        except (TimeoutError, anyio.EndOfStream, ValueError) as error:
            raise UnavailableError(f"a server did not take its new configuration: {self._module}") from error
        self._told = told

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


def serve_parent(serve: Callable[[str, Announce], None], relaunch: Callable[[str], str] | None = None) -> None:
    """What the child does: ``serve`` gets the configuration, and a function that tells the parent the address.

    ``relaunch`` gets every further configuration, in a thread of its own, and returns the address once that holds. An
    error that is meant for a person becomes one line of the log and the exit status.
    """
    channel = _claim_stdout()
    told = sys.stdin.readline()

    def announce(url: str) -> None:
        print(json.dumps({"url": url}), file=channel, flush=True)

    threading.Thread(target=_listen, args=(relaunch, announce), daemon=True).start()
    try:
        serve(told, announce)
    except SpecfuzzError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)


def _claim_stdout() -> IO[str]:
    """The real standard output, for the address alone; all else that is printed joins standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def _listen(relaunch: Callable[[str], str] | None, announce: Announce) -> None:
    """Take further configurations until the input ends, or one cannot be served.

    Then leave at once: a normal exit would wait for requests in flight, and a native server can hang there.
    """
    heard = b""
    try:
        while piece := os.read(0, 65536):
            *lines, heard = (heard + piece).split(b"\n")
            if relaunch is not None:
                for line in lines:
                    announce(relaunch(line.decode()))
    finally:
        os._exit(0)
