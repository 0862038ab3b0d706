"""Servers that live in a child process: one JSON line with the address at boot, and no life beyond the parent's.

The child ends when its standard input closes. The kernel closes it when the parent goes, however that ends, so a killed
parent leaves no server behind.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Self

import anyio
from anyio.abc import Process

from fuzzer.errors import UnavailableError

_TAIL_LINES = 8
_GRACE = 5.0  # seconds that a child gets to end by itself


class ChildServer:
    """An async context manager that runs ``python -m module --config-json ...`` and knows its ``url``.

    Booting takes at most ``boot_timeout`` seconds. The child writes its log to a file that no one sees unless the boot
    fails: then the last lines are part of the error.
    """

    url: str

    def __init__(self, module: str, config: Mapping[str, object], *, boot_timeout: float) -> None:
        self._module = module
        self._config = json.dumps(config)
        self._boot_timeout = boot_timeout

    async def __aenter__(self) -> Self:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        command = [sys.executable, "-m", self._module, "--config-json", self._config]
        # A session of its own, so that Ctrl-C in the terminal reaches the parent alone
        self._process = await anyio.open_process(command, stderr=self._log, start_new_session=True)
        try:
            self.url = await self._address(self._process)
        except BaseException:
            await self._stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    async def _address(self, process: Process) -> str:
        line = b""
        with anyio.move_on_after(self._boot_timeout) as limit:
            while not line.endswith(b"\n"):
                try:
                    line += await _output(process).receive()
                except anyio.EndOfStream:
                    await process.wait()
                    raise self._failure(f"ended with status {process.returncode}") from None
        if limit.cancelled_caught:
            raise self._failure(f"was not up after {self._boot_timeout:g} s")
        return str(json.loads(line)["url"])

    def _failure(self, what: str) -> UnavailableError:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()[-_TAIL_LINES:]
        return UnavailableError("\n  ".join([f"the server {self._module} {what}; its last words:", *lines]))

    async def _stop(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            with anyio.move_on_after(_GRACE):
                await self._process.wait()
            if self._process.returncode is None:
                self._process.kill()
            await self._process.aclose()
        self._log.close()


def _output(process: Process) -> anyio.abc.ByteReceiveStream:
    if process.stdout is None:
        raise RuntimeError("the child was started without a pipe")
    return process.stdout


def end_with_parent() -> None:
    """In the child: leave at once when standard input closes.

    A normal exit would wait for requests in flight, and a native server can hang there.
    """
    threading.Thread(target=_leave_on_eof, daemon=True).start()


def _leave_on_eof() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


def claim_stdout() -> IO[str]:
    """In the child: the real standard output, for the address alone; all else that is printed joins standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def announce(channel: IO[str], url: str) -> None:
    """In the child: tell the parent the address."""
    print(json.dumps({"url": url}), file=channel, flush=True)
