"""A simulated engine in a child process, which ends with its parent whatever happens to that."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from types import TracebackType

from fuzzer.errors import SpecfuzzError, UnavailableError
from fuzzer.sim.config import SimConfig

START_SECONDS = 60.0
_STOP_SECONDS = 5.0


class SimServer:
    """Async context manager around ``python -m fuzzer.sim``; ``url`` is the child's address.

    The configuration goes through the child's standard input, which stays open: the child ends when it closes, so that
    a killed parent leaves no orphan.
    """

    def __init__(self, config: SimConfig) -> None:
        self.config = config
        self.url = ""
        self._child: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while it lives."""
        return self._child.pid if self._child and self._child.returncode is None else None

    async def __aenter__(self) -> SimServer:
        self._child = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "fuzzer.sim", stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        assert self._child.stdin is not None  # noqa: S101  (pipes were asked for)
        assert self._child.stdout is not None  # noqa: S101
        try:
            self._child.stdin.write(self.config.to_json().encode() + b"\n")
            async with asyncio.timeout(START_SECONDS):
                self.url = json.loads(await self._child.stdout.readline())["url"]
        except (OSError, ValueError, TimeoutError) as error:
            await self.close()
            raise UnavailableError("the simulated engine did not start; see its message above") from error
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the child: close its input, and kill it if that is not enough."""
        child = self._child
        if child is None or child.returncode is not None:
            return
        if child.stdin:
            child.stdin.close()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await child.wait()
        except TimeoutError:
            child.kill()
            await child.wait()
        except asyncio.CancelledError:
            child.kill()
            raise


def run_child() -> None:
    """What the child does: read its configuration, serve, print the address, end with its standard input."""
    from fuzzer.sim.server import serve

    config = SimConfig.from_json(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        serve(config, lambda url: print(json.dumps({"url": url}), flush=True))
    except SpecfuzzError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)


def _end_with_input() -> None:
    while sys.stdin.read(4096):
        pass
    os._exit(0)
