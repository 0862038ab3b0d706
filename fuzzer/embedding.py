"""How a run is embedded in what calls it: on its own, or as one of several that a caller conducts."""

from __future__ import annotations

import signal
import threading
from dataclasses import dataclass

import anyio


@dataclass(frozen=True, slots=True)
class Embedding:
    """What breaks a run off, and what it shares with others.

    ``stop`` does it in place of SIGINT and SIGTERM, which the caller then watches. Without ``recall`` no calibration
    answer is remembered for other runs, or taken from them.
    """

    stop: anyio.Event | None = None
    recall: bool = True

    async def watch(self, scope: anyio.CancelScope) -> None:
        """Cancel ``scope`` when the run is to be broken off."""
        if self.stop is not None:
            await self.stop.wait()
            scope.cancel()
        elif threading.current_thread() is threading.main_thread():
            await _signalled()
            scope.cancel()


async def _signalled() -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            return


ON_ITS_OWN = Embedding()
