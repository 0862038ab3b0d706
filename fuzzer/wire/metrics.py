"""An engine's own counters, read from its Prometheus page (or llama.cpp's slots) and put together over labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from prometheus_client.parser import text_string_to_metric_families

from fuzzer.history.records import Counters
from fuzzer.wire.bounds import BadReplyError, Limits
from fuzzer.wire.clock import now_ns
from fuzzer.wire.decode import decode


def sample_lines(page: bytes, prefixes: tuple[str, ...]) -> list[str]:
    """The samples whose name starts so; parsing only these keeps a page of thousands of lines cheap."""
    return [line for line in page.decode("utf-8", "replace").splitlines() if line.startswith(prefixes)]


def parse_counters(page: bytes, names: Mapping[str, str]) -> Counters:
    """Counters from a metrics page; ``names`` maps sample names to fields. None for what is absent or malformed.

    Several samples of a name are added up, but for shares (the largest counts) and for places in a draft.
    """
    lines: dict[str, list[str]] = {}
    for line in sample_lines(page, tuple(names)):
        lines.setdefault(line.partition("{")[0].partition(" ")[0], []).append(line)
    found = {field: _samples(lines[sample]) for sample, field in names.items() if sample in lines}
    places = _places(found.pop("accepted_at", ()))
    shares = {field: _largest(found.pop(field, ())) for field in _SHARES}
    totals = {field: _total(samples) for field, samples in found.items()}
    return Counters(at_ns=now_ns(), accepted_at=places, **shares, **totals)


_SHARES = ("pool_usage",)
_MOST_PLACES = 64  # in a draft; a label beyond that is rubbish
_Samples = Sequence[tuple[Mapping[str, str], float]]


def _samples(lines: list[str]) -> _Samples:
    """Labels and values; none at all where a line cannot be read or a value is no finite number."""
    try:
        read = list(_read(lines))
    except (ValueError, OverflowError, IndexError, KeyError):
        return ()
    return read if all(math.isfinite(value) for _, value in read) else ()


def _read(lines: list[str]) -> Iterator[tuple[Mapping[str, str], float]]:
    for family in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in family.samples:
            yield sample.labels, sample.value


def _total(samples: _Samples) -> float | None:
    total = math.fsum(value for _, value in samples) if samples else math.nan
    return total if math.isfinite(total) else None


def _largest(samples: _Samples) -> float | None:
    return max((value for _, value in samples), default=None)


def _places(samples: _Samples) -> tuple[float, ...] | None:
    """One count a place, from the label ``position``; None unless every place up to the last is told."""
    counts: dict[int, float] = {}
    for labels, value in samples:
        place = labels.get("position", "")
        if not (place.isascii() and place.isdecimal() and len(place) <= 3 and int(place) < _MOST_PLACES):
            return None
        counts[int(place)] = counts.get(int(place), 0.0) + value
    return tuple(counts[place] for place in sorted(counts)) if counts and max(counts) == len(counts) - 1 else None


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
