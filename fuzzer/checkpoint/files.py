"""Files from strangers: bounded reads, and one clear line for whatever is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

from fuzzer.errors import UsageError

JSON_BYTES = 32 * 2**20  # the largest real index and header are a few megabytes


def damaged(path: Path, why: str) -> UsageError:
    """The error for a file that is not what its name says."""
    return UsageError(f"--checkpoint: {path.name} is damaged or no such file: {why}")


def open_file(path: Path) -> BinaryIO:
    """The file, open for reading; UsageError says why not."""
    try:
        if not path.is_file():
            raise UsageError(f"--checkpoint: {path} is not a file")
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"--checkpoint: cannot read {path}: {error.strerror}") from None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of at most 32 MiB."""
    with open_file(path) as file:
        data = file.read(JSON_BYTES + 1)
    if len(data) > JSON_BYTES:
        raise damaged(path, f"larger than {JSON_BYTES >> 20} MiB")
    return parse_json(data, path)


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in these bytes of a file."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"not JSON ({type(error).__name__})") from None
    if not isinstance(value, dict):
        raise damaged(path, "its JSON is not an object")
    return value
