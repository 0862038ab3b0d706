"""The door: typer commands that hand over to the rooms and turn errors into one line and an exit status."""

from __future__ import annotations

import sys

from fuzzer.cli.app import app
from fuzzer.errors import SpecfuzzError


def main() -> None:
    """Run the command line; a SpecfuzzError becomes one line on stderr and its exit status."""
    try:
        app()
    except SpecfuzzError as error:
        print(f"specfuzz: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_status)
