"""A soak that dies: a process of its own that kills itself, as kill -9 would, while it writes a line."""

from __future__ import annotations

import multiprocessing
import os
import signal
from pathlib import Path

import anyio

from fuzzer.history.appending import Appending
from fuzzer.soak.conduct import soak

_FORKS = multiprocessing.get_context("forkserver")


def die(directory: Path, after: int, *, torn: bool) -> int | None:
    """Go on with the soak until its ``after``-th line, of which only half is written if ``torn``; the exit code."""
    process = _FORKS.Process(target=_run, args=(directory, after, torn))
    process.start()
    process.join()
    return process.exitcode


def _run(directory: Path, after: int, torn: bool) -> None:
    left = after
    append = Appending.append

    def mortal(self: Appending, line: bytes) -> None:
        nonlocal left
        left -= 1
        if left <= 0:
            if torn:
                os.write(self._file, line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        append(self, line)

    Appending.append = mortal  # type: ignore[method-assign]  # the point: to die in the middle of it
    anyio.run(run, directory)


async def run(directory: Path) -> None:
    """Go on with the soak, and tell nobody."""
    await soak(directory, listeners=[], tell=lambda _: None)
