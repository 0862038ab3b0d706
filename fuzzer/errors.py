"""The errors a caller may catch.

Findings are values, never exceptions; an error means that the run itself could not be done as asked::

    SpecfuzzError
    ├── UsageError          the plan or an argument is wrong          exit 2
    ├── UnavailableError    an endpoint cannot be reached or used     exit 4
    └── HistoryError        a run directory is missing or unreadable  exit 2
"""

from __future__ import annotations


class SpecfuzzError(Exception):
    """One clear line for a person: what, where, what to do."""

    exit_status = 2


class UsageError(SpecfuzzError):
    """A bad argument or plan; the message names the field and gives an example."""


class HistoryError(SpecfuzzError):
    """A run directory that cannot be read or resumed."""


class UnavailableError(SpecfuzzError):
    """An endpoint that cannot be reached, or refuses every request."""

    exit_status = 4
