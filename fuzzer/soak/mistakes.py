"""What ends a soak before its time, and is no bug of ours: told in a line."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from fuzzer.errors import HistoryError, SpecfuzzError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def mistake_of(error: BaseException, directory: Path) -> SpecfuzzError:
    """The mistake, or the fault of the disk, that task groups may have wrapped; a full one is met by all that write.

    Raises anything else, which is a bug.
    """
    while isinstance(error, BaseExceptionGroup):
        _, bugs = error.split((SpecfuzzError, OSError))
        if bugs is not None:
            raise bugs
        error = error.exceptions[0]
    if isinstance(error, OSError):
        return HistoryError(f"{error.filename or directory}: cannot go on: {error.strerror or error}")
    if isinstance(error, SpecfuzzError):
        return error
    raise error


def disk_full(error: SpecfuzzError) -> bool:
    """Whether a mistake is that there is no room left, or no more of it for this user, process or file."""
    return isinstance(error, HistoryError) and any(os.strerror(code) in str(error) for code in _FULL)
