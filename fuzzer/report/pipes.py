"""Standard output that may go away."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def forgiving() -> Iterator[None]:
    """Write to a pipe whose reader may have left: from then on, what is printed goes nowhere."""
    try:
        yield
        sys.stdout.flush()
    except (OSError, SystemExit):  # rich leaves the process when its pipe breaks
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
