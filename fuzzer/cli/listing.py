"""The commands that list what there is: families, oracles, schedules, faults."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from rich.console import Console as Screen

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


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


def faults(json: Json = False) -> None:
    """List the faults that can be planted: in the simulated engine, and by the gateway before a real one.

    Says what each does, what users saw, its rate and trigger, the traffic and concurrency that find it, and the public
    report that it is modelled on. Where the output is no terminal, each fault is one line.

    For example: specfuzz faults | grep XREQ
    """
    from fuzzer.report.pipes import forgiving
    from fuzzer.report.render import open_screen

    with forgiving():
        if json:
            typer.echo(jsonlib.dumps(list(_facts()), indent=2))
        else:
            show_faults(open_screen())


class _Shown(NamedTuple):
    """A fault in words: what it does, and the facts by their names."""

    name: str
    what: str
    facts: dict[str, str]
    report: str = ""


def _shown() -> Iterator[_Shown]:
    from fuzzer.sim.faults import FAULTS, SYMPTOMS
    from fuzzer.sim.gateway_faults import GATEWAY_FAULTS

    for name, fault in FAULTS.items():
        facts = {
            "symptom": f"{fault.symptom} ({SYMPTOMS[fault.symptom]})",
            "rate": fault.rate,
            "trigger": fault.condition,
            "found by": fault.traffic,
        }
        yield _Shown(f"{name} (serve-sim)", fault.summary, facts, fault.report)
    for name, planted in GATEWAY_FAULTS.items():
        yield _Shown(f"{name} (gateway)", planted.summary, {"rate": f"{planted.rate:.0%} of requests"})


def _facts() -> Iterator[dict[str, object]]:
    """The faults for machines; null stands for what nobody says of a fault."""
    from fuzzer.sim.faults import FAULTS
    from fuzzer.sim.gateway_faults import GATEWAY_FAULTS

    for name, fault in FAULTS.items():
        yield {
            "name": name,
            "where": "serve-sim",
            "summary": fault.summary,
            "symptom": fault.symptom,
            "rate": fault.default_rate,
            "rate_of": fault.rate_of,
            "trigger": fault.trigger or None,
            "minimum": fault.minimum,
            "schedule": fault.schedule or None,
            "concurrency": fault.concurrency,
            "lm_head": fault.lm_head,
            "kv_blocks": fault.kv_blocks,
            "families": fault.families,
            "report": fault.report,
        }
    unsaid = ("symptom", "trigger", "minimum", "schedule", "concurrency", "lm_head", "kv_blocks", "families", "report")
    for name, planted in GATEWAY_FAULTS.items():
        known = {"name": name, "where": "gateway", "summary": planted.summary}
        yield {**known, "rate": planted.rate, "rate_of": "requests", **dict.fromkeys(unsaid)}


def show_faults(screen: Screen) -> None:
    """Print all faults: a paragraph each on a terminal, where so much fits no table, and elsewhere a line each."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if not screen.file.isatty():
        for row in _shown():
            facts = (f"{name}: {said}" for name, said in row.facts.items())
            parts = (f"{row.name}: {row.what}", *facts, row.report)
            screen.print(" | ".join(filter(None, parts)), soft_wrap=True)
        return
    for row in _shown():
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        for name, said in row.facts.items():
            grid.add_row(Text(name), Text(said))
        screen.print(Text(row.name, style="bold"))
        screen.print(Padding.indent(Text(row.what, overflow="fold"), 2))
        screen.print(Padding.indent(grid, 2))
        if row.report:  # alone on its line, where a terminal can open it
            screen.print(Padding.indent(Text(row.report, overflow="fold"), 2))
        screen.print()


def table(head: Sequence[str], rows: Iterable[Sequence[str]], screen: Screen | None = None) -> None:
    """Print a table: folded to the width of a terminal, elsewhere a whole line for each row. Nothing is cut."""
    from fuzzer.report.pipes import forgiving
    from fuzzer.report.render import open_screen

    screen = screen or open_screen()
    with forgiving():
        (_folded if screen.file.isatty() else _whole)(screen, head, rows)


def _whole(screen: Screen, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Plain lines, each with a whole row, so that they can be searched."""
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        screen.print("  ".join(cells).rstrip(), soft_wrap=True)


def _folded(screen: Screen, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = list(rows)
    longest = max((len(line[0]) for line in lines), default=0)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(head):
        # a name stays whole, so that it can be copied, unless it would take half of the screen
        shown.add_column(name, overflow="fold", no_wrap=place == 0 and 2 * longest < screen.width)
    for line in lines:
        shown.add_row(*map(Text, line))
    screen.print(shown)
