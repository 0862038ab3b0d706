"""How long a soak lasts, what it may use and whom it tells: from options and the ``[soak]`` table of the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from fuzzer.errors import UsageError
from fuzzer.options import SOAK, Options, duration, explain, integer
from fuzzer.soak.ledger import Settings

KEYS = (
    "duration",
    "requests",
    "stop_on",
    "max_disk",
    "anchor_every",
    "metrics_port",
    "textfile",
    "on_finding",
    "webhook",
)
NIGHT_SECONDS = 8 * 3600.0
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LEAST_DISK = 1 << 20


@dataclass(frozen=True, slots=True)
class Telling:
    """Whom a soak tells of itself while it runs."""

    metrics_port: int | None = None
    textfile: Path | None = None
    on_finding: str | None = None
    webhook: str | None = None


def build_settings(given: Options, config: Options | None = None) -> tuple[Settings, Telling]:
    """What is given on the command line (not None) wins over the table. Raises UsageError."""
    options = {**_table(config or {}), **{key: value for key, value in given.items() if value is not None}}
    seconds, requests = duration(options, "duration"), options.get("requests")
    if seconds is None and requests is None:
        seconds = NIGHT_SECONDS
    try:
        settings = Settings(
            seconds=seconds,
            requests=None if requests is None else integer(options, "requests", 5000),
            anchor_seconds=duration(options, "anchor_every") or Settings.model_fields["anchor_seconds"].default,
            max_disk=_size(options, "max_disk"),
            stop_on_fail=_stop_on(options),
        )
    except ValidationError as error:
        raise UsageError(explain(error)) from None
    port = options.get("metrics_port")
    textfile = options.get("textfile")
    return settings, Telling(
        metrics_port=None if port is None else _port(integer(options, "metrics_port", 9464)),
        textfile=None if textfile is None else Path(str(textfile)),
        on_finding=_text(options, "on_finding"),
        webhook=_text(options, "webhook"),
    )


def _table(config: Options) -> dict[str, object]:
    table = config.get(SOAK, {})
    if not isinstance(table, Mapping):
        raise UsageError('--config: soak: write a table: [soak] with duration = "8h" below it')
    options = {str(key).replace("-", "_"): value for key, value in table.items()}
    for key in options:
        if key not in KEYS:
            raise UsageError(f"--config: soak: unknown key {key!r}; known are {', '.join(KEYS)}")
    return options


def _size(options: Options, key: str) -> int | None:
    value = options.get(key)
    if value is None:
        return None
    match = _SIZE.fullmatch(str(value).strip())
    size = float(match[1]) * 1024 ** _POWERS[match[2].lower()] if match else 0.0
    if size < _LEAST_DISK:
        raise UsageError(f"--max-disk: {value!r} is no size of 1m or more; write for example --max-disk 20g")
    return int(size)


def _stop_on(options: Options) -> bool:
    value = options.get("stop_on")
    if value not in (None, "fail"):
        raise UsageError(f"--stop-on: {value!r} is not known; write --stop-on fail, or leave it out")
    return value == "fail"


def _port(port: int) -> int:
    if not 0 <= port <= 65535:
        raise UsageError(f"--metrics-port: {port} is no port; write for example --metrics-port 9464")
    return port


def _text(options: Options, key: str) -> str | None:
    value = options.get(key)
    return None if value is None else str(value)
