"""The door: typer commands that hand over to the rooms and turn errors into one line and an exit status."""

from __future__ import annotations

import sys
import traceback

from fuzzer.cli.app import app
from fuzzer.errors import SpecfuzzError

BUG = 70  # EX_SOFTWARE


def main() -> None:
    """Run the command line; a SpecfuzzError becomes one line on stderr and its exit status."""
    try:
        app()
    except SpecfuzzError as error:
        print(f"specfuzz: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_status)
    except Exception:  # noqa: BLE001 - exit status 1 would read as a failed gate
        traceback.print_exc()
        print("specfuzz: this is a bug in specfuzz, please report it; the history is kept", file=sys.stderr)
        sys.exit(BUG)
