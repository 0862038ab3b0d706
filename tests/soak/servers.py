"""A simulated engine that can be killed, stopped and booted again at its own address; booting it is a fork."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
from collections.abc import Mapping
from multiprocessing.connection import Connection
from urllib.parse import urlsplit

from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serve

_FORKS = multiprocessing.get_context("forkserver")
_BOOT_SECONDS = 60


class Server:
    """A simulated engine in a process of its own; a context manager with the address in ``url``."""

    def __init__(self, config: SimConfig) -> None:
        self._config = config
        self.url = ""
        self.boot()

    def boot(self, faults: Mapping[str, float] | None = None) -> None:
        """Start the process, again at the same address, with other faults if they are given."""
        if faults is not None:
            self._config = dataclasses.replace(self._config, faults=faults)
        ours, theirs = _FORKS.Pipe()
        self._process = _FORKS.Process(target=_serve, args=(self._config, theirs), daemon=True)
        self._process.start()
        theirs.close()
        assert ours.poll(_BOOT_SECONDS)
        self.url = ours.recv()
        self._config = dataclasses.replace(self._config, port=urlsplit(self.url).port or 0)

    def kill(self) -> None:
        """End the process as kill -9 does."""
        self._process.kill()
        self._process.join()

    def stop(self) -> None:
        """Let the process stand still."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it run again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def _serve(config: SimConfig, channel: Connection) -> None:
    serve(config, channel.send)
