"""The commands that list what there is: families, oracles, schedules, faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def families() -> None:
    """List the prompt families: their levels, what they ask, what failure they are good at exposing."""
    from fuzzer.prompts import describe

    rows = [(row.name, "/".join(row.levels), row.summary, row.exposes) for row in describe()]
    table(("family", "levels", "asks", "exposes"), rows)


def oracles() -> None:
    """List the oracles: what each one flags."""
    from fuzzer.oracles import ORACLES

    table(("oracle", "flags"), [(oracle.name, oracle.summary) for oracle in ORACLES.values()])


def schedules() -> None:
    """List the traffic shapes."""
    from fuzzer.traffic.schedules import SCHEDULES

    table(("schedule", "traffic"), [(schedule.name, schedule.summary) for schedule in SCHEDULES.values()])


def faults() -> None:
    """List the faults that can be planted: in the simulated engine, and by the gateway before a real one.

    Says what each does, which report it is modelled on, and under what traffic it can be found.
    """
    from fuzzer.sim.faults import FAULTS
    from fuzzer.sim.gateway_faults import GATEWAY_FAULTS

    rows = [
        ("serve-sim", name, f"{fault.default_rate:.0%}", f"{fault.summary}\n{fault.report}", fault.traffic)
        for name, fault in FAULTS.items()
    ]
    rows += [("gateway", name, f"{fault.rate:.0%}", fault.summary, "any") for name, fault in GATEWAY_FAULTS.items()]
    table(("where", "fault", "rate", "what it does", "found under"), rows)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = Table(*head, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        shown.add_row(*(Text(cell) for cell in row))
    Console().print(shown)
