"""A simulated engine in a child process, which ends with its parent whatever happens to that."""

from __future__ import annotations

from fuzzer.sim.child import Announce, ChildServer, serve_parent
from fuzzer.sim.config import SimConfig

_BOOT_TIMEOUT = 60.0


class SimServer(ChildServer):
    """A simulated engine in a child process; an async context manager with the address in ``url``."""

    def __init__(self, config: SimConfig) -> None:
        super().__init__("fuzzer.sim", config.to_json(), boot_timeout=_BOOT_TIMEOUT)
        self.config = config


def main() -> None:
    """Run a simulated engine for a parent process."""
    serve_parent(_serve)


def _serve(told: str, announce: Announce) -> None:
    from fuzzer.sim.server import serve  # the parent needs none of it

    serve(SimConfig.from_json(told), announce)
