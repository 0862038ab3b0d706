"""A simulated engine in a child process, which ends with its parent whatever happens to that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzzer.sim.child import Announce, ChildServer, serve_parent
from fuzzer.sim.config import SimConfig

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_BOOT_TIMEOUT = 60.0


class SimServer(ChildServer):
    """A simulated engine in a child process; an async context manager with the address in ``url``."""

    def __init__(self, config: SimConfig) -> None:
        super().__init__("fuzzer.sim", config.to_json(), boot_timeout=_BOOT_TIMEOUT)
        self.config = config

    async def relaunch(self, config: SimConfig) -> None:
        """A fresh engine with another configuration in the same process, at the same address: cheaper than a boot.

        Host and port stay as they are. Requests in flight end with the engine that they were sent to.
        """
        await self.tell(config.to_json())
        self.config = config


class Launch:
    """The application of the engine that was launched last."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None
        self._url = ""

    def serve(self, told: str, announce: Announce) -> None:
        """Serve until the process ends."""
        from fuzzer.sim.server import build_app, serve  # the parent needs none of it

        config = SimConfig.from_json(told)
        self._app = build_app(config)

        def up(url: str) -> None:
            self._url = url
            announce(url)

        serve(config, up, self)

    def again(self, told: str) -> str:
        """Let a fresh engine take over; the address."""
        from fuzzer.sim.server import build_app

        self._app = build_app(SimConfig.from_json(told))
        return self._url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the engine."""
        if self._app is None:
            raise RuntimeError("no engine was launched")
        await self._app(scope, receive, send)


def main() -> None:
    """Run a simulated engine for a parent process."""
    launch = Launch()
    serve_parent(launch.serve, launch.again)
