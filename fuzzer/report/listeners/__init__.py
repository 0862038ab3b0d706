"""Who listens to a run: every module in this package, each with a function ``open_listener``.

A module dropped in here is heard; nothing else needs to know of it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass

from fuzzer.events import Listener


@dataclass(frozen=True, slots=True)
class Manner:
    """How the caller wants to be told: ``json`` keeps standard output for the summary, ``quiet`` leaves the verdict."""

    json: bool = False
    quiet: bool = False


Opener = Callable[[Manner], AbstractContextManager[Listener]]


@contextmanager
def listening(manner: Manner) -> Iterator[list[Listener]]:
    """All listeners, open until the run is over.

    The files come first: whatever happens to the terminal, the reports are written.
    """
    with ExitStack() as stack:
        yield [stack.enter_context(opener(manner)) for opener in openers()]


def openers() -> list[Opener]:
    """``open_listener`` of every module here, the console's last."""
    names = sorted(
        (module.name for module in pkgutil.iter_modules(__path__)), key=lambda name: (name == "console", name)
    )
    return [importlib.import_module(f"{__name__}.{name}").open_listener for name in names]
