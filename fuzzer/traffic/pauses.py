"""Python's garbage collector stops the loop that sends; what was imported need not be looked through each time."""

from __future__ import annotations

import gc

_ALLOCATIONS = 10_000  # containers more than were freed; a page of log-probabilities alone has hundreds


def shorten_pauses() -> None:
    """Collect less often, and never what exists now: call it when all is imported."""
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS)
