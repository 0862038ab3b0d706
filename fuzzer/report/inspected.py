"""What ``specfuzz inspect`` found, for a terminal and for machines: one column an endpoint, the verdict first."""

from __future__ import annotations

from pydantic import JsonValue
from rich import box
from rich.console import Console as Screen
from rich.table import Table
from rich.text import Text

from fuzzer.inspecting import Inspected, Inspection
from fuzzer.report.text import clean
from fuzzer.summary import Probed
from fuzzer.wire.identify import Identity

SAME_CLOCK = 3.0  # seconds: a server tells whole ones, and a reply takes its time
_UNTOLD = "not told"


def verdict(found: Inspection) -> str:
    """The inspection in a line."""
    warnings = len(found.preflight.warnings)
    noted = f", with {warnings} warning{'s' * (warnings != 1)}" if warnings else ""
    if len(found.ends) == 1:
        return "NOT FIT for a gate" if found.blocking else f"FIT for a gate{noted}"
    return "NOT COMPARABLE" if found.blocking else f"COMPARABLE{noted}"


def show(found: Inspection, screen: Screen) -> None:
    """Print it."""
    style = "bold red" if found.blocking else "bold yellow" if found.preflight.warnings else "bold green"
    screen.print(Text(verdict(found), style))
    for label, lines in (("not comparable", found.preflight.problems), ("warning", found.preflight.warnings)):
        for line in lines:
            screen.print(Text(f"  - {label}: {clean(line, 400)}"), soft_wrap=True)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("")
    for end in found.ends:
        table.add_column(clean(end.title, 60), overflow="fold")
    for name, cells in rows(found):
        table.add_row(name, *(Text(clean(cell, 200)) for cell in cells))
    screen.print(table)


def rows(found: Inspection) -> list[tuple[str, list[str]]]:
    """The table, row by row: what each end says of itself, what it gives, and what the probes showed."""
    facts = [_facts(end) for end in found.ends]
    probes = [_probes(found, end) for end in found.ends]
    table = [(name, [row[name] for row in facts]) for name in facts[0]]
    names = list(dict.fromkeys(name for probed in probes for name in probed))
    return table + [(f"probe: {name}", [probed.get(name, "not asked") for probed in probes]) for name in names]


def _facts(end: Inspected) -> dict[str, str]:
    identity = end.identity
    defaults = ", ".join(f"{name} {_short(value)}" for name, value in identity.default_generation.items())
    told = {
        "address": identity.url,
        "engine": identity.engine,
        "version": identity.fingerprint,
        "model": identity.model,
        "context": None if identity.context_length is None else f"{identity.context_length} tokens",
        "slots": identity.slots,
        "KV pool": None if identity.kv_tokens is None else f"{identity.kv_tokens} tokens",
        "memory": _memory(identity),
        "clock": _clock(end.clock_seconds),
        "speculation": None if identity.speculation is None else "on" if identity.speculation else "off",
        "lm_head": identity.lm_head,
        "own defaults": defaults or None,
        "refused": ", ".join(end.dropped) or "nothing",
    }
    return {name: _UNTOLD if value is None else str(value) for name, value in told.items()} | dict(end.features)


def _memory(identity: Identity) -> str | None:
    if identity.memory_bytes is None:
        return None
    where = "on a device" if identity.memory_kind == "device" else "in the process that serves HTTP"
    return f"{identity.memory_bytes / 2**30:.2f} GiB {where}"


def _clock(ahead: float | None) -> str | None:
    if ahead is None:
        return None
    return "as ours" if abs(ahead) < SAME_CLOCK else f"{abs(ahead):.0f} s {'ahead of' if ahead > 0 else 'behind'} ours"


def _short(value: JsonValue) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _probes(found: Inspection, end: Inspected) -> dict[str, str]:
    own = [probed for probed in found.preflight.probes if probed.end == end.title]
    return {probed.probe: _said(probed) for probed in own}


def _said(probed: Probed) -> str:
    return f"{probed.result}: {probed.detail}" if probed.detail else probed.result


def told(found: Inspection) -> dict[str, JsonValue]:
    """All of it as JSON."""
    return {
        "comparable": not found.blocking,
        "verdict": verdict(found),
        "endpoints": [
            {
                "role": end.arm,
                "name": end.identity.name,
                **end.identity.model_dump(mode="json", exclude={"name"}),
                "refused": list(end.dropped),
                "features": dict(end.features),
            }
            for end in found.ends
        ],
        "preflight": found.preflight.model_dump(mode="json"),
    }
