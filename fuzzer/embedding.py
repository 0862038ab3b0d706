"""How a run is embedded in what calls it: on its own, or as one of several that a caller conducts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
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
        else:
            await on_signals(scope.cancel)


async def on_signals(act: Callable[[], None]) -> None:
    """Do this at every SIGINT and SIGTERM, until it is cancelled; in the main thread, where alone they are heard."""
    if threading.current_thread() is threading.main_thread():
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                act()


ON_ITS_OWN = Embedding()
