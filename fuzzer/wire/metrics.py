"""An engine's own counters, read from its Prometheus page (or llama.cpp's slots) and summed over labels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from fuzzer.history.records import Counters
from fuzzer.wire.bounds import BadReplyError, Limits
from fuzzer.wire.clock import now_ns
from fuzzer.wire.decode import decode


def sample_lines(page: bytes, prefixes: tuple[str, ...]) -> list[str]:
    """The samples whose name starts so; parsing only these keeps a page of thousands of lines cheap."""
    return [line for line in page.decode("utf-8", "replace").splitlines() if line.startswith(prefixes)]


def parse_counters(page: bytes, names: Mapping[str, str]) -> Counters:
    """Counters from a metrics page; ``names`` maps sample names to fields. None for what is absent or malformed."""
    lines: dict[str, list[str]] = {}
    for line in sample_lines(page, tuple(names)):
        lines.setdefault(line.partition("{")[0].partition(" ")[0], []).append(line)
    values = {field: _total(lines[sample]) for sample, field in names.items() if sample in lines}
    return Counters(at_ns=now_ns(), **values)


def _total(lines: list[str]) -> float | None:
    try:
        families = list(text_string_to_metric_families("\n".join(lines) + "\n"))
        total = math.fsum(sample.value for family in families for sample in family.samples)
    except (ValueError, OverflowError, IndexError, KeyError):
        return None
    return total if math.isfinite(total) else None


def busy_slots(page: bytes, limits: Limits) -> Counters | None:
    """llama.cpp's ``/slots``: how many are processing."""
    try:
        slots = decode(page, limits)
    except BadReplyError:
        return None
    if not isinstance(slots, list):
        return None
    busy = sum(1 for slot in slots if isinstance(slot, dict) and slot.get("is_processing") is True)
    return Counters(at_ns=now_ns(), running=float(busy))
