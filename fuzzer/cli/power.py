"""``specfuzz power``: detection power and false alarms, measured on the simulated engine."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fuzzer.power.jobs import Job, Row

RESULTS = Path("reports/power.jsonl")
INTERRUPTED = 130


def power(
    faults: Annotated[str, typer.Option(metavar="all|none|NAME,...", help="Faults to plant.")] = "all",
    seeds: Annotated[int, typer.Option(metavar="N", help="Runs of each fault.", min=0)] = 59,
    start: Annotated[int, typer.Option(metavar="S", help="The first seed.", min=0)] = 0,
    schedules: Annotated[
        str | None, typer.Option(metavar="all|NAME,...", help="Traffic for every fault, in place of each one's own.")
    ] = None,
    clean: Annotated[int, typer.Option(metavar="N", help="Default gates without a fault.", min=0)] = 0,
    clean_each: Annotated[int, typer.Option(metavar="N", help="Runs of each schedule without a fault.", min=0)] = 0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Runs at the same time.", min=1, max=64)] = 1,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Results, a JSON line a run; none of them is run again.")
    ] = RESULTS,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables there.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON on stdout and nothing else.")] = False,
) -> None:
    """Measure how surely each fault of the zoo is found, and how often a gate fails without one.

    A fault that needs a schedule is also asked for in a plain closed loop, with the first 20 of the seeds: it must not
    be found there. Meant for hours: the whole table is specfuzz power --seeds 59 --clean 100 --clean-each 20 --jobs 2.
    It can be stopped and started again at any time.

    Exit status: 0 nothing falls short, 1 something does, 2 usage, 4 a process that was measuring died, 130 stopped.
    What falls short, and is named at the end of the tables: a fault that a run did not find; one with no finding of a
    kind that it is declared to show in more than 2 runs, or in all; a wrong donor as often; a fault that needs a
    schedule and was found in a plain closed loop; a clean pair that failed, or more than 2 left undecided.
    """
    from fuzzer.power.jobs import chosen, clean_jobs, fault_jobs, missing, named_schedules
    from fuzzer.power.results import check_markdown, load
    from fuzzer.power.table import shortfalls

    wanted = [
        *fault_jobs(chosen(faults), range(start, start + seeds), named_schedules(schedules)),
        *clean_jobs(clean, clean_each, start),
    ]
    kept = load(out)
    if markdown is not None:
        check_markdown(markdown, out)
    if kept.unreadable:
        typer.echo(kept.told(out), err=True)
    todo = missing(wanted, kept.rows)
    typer.echo(f"{len(wanted) - len(todo)} of {len(wanted)} runs are there already, {len(todo)} are to do", err=True)
    try:
        if todo:
            _measure(wanted, jobs, out)
    except KeyboardInterrupt:
        typer.echo("stopped; the same command goes on from here", err=True)
        raise typer.Exit(INTERRUPTED) from None
    asked = set(wanted)
    rows = [row for row in load(out).rows if row.job in asked]
    options = {
        "--faults": "" if faults == "all" else faults,
        "--seeds": seeds,
        "--start": start or "",
        "--schedules": schedules or "",
        "--clean": clean or "",
        "--clean-each": clean_each or "",
    }
    command = shlex.join(
        ["specfuzz", "power", *(str(part) for pair in options.items() if pair[1] != "" for part in pair)]
    )
    _tell(rows, command, markdown, as_json=json)
    if left := missing(wanted, rows):
        typer.echo(f"{len(left)} runs have no result; the same command goes on from here", err=True)
        raise typer.Exit(INTERRUPTED)
    if shortfalls(rows):
        raise typer.Exit(1)


def _measure(wanted: Sequence[Job], jobs: int, out: Path) -> None:
    """Run what is missing, keeping each row as it comes; no other process may write the file meanwhile."""
    from fuzzer.power.jobs import missing
    from fuzzer.power.results import append, load, writing
    from fuzzer.power.workers import measured

    with writing(out) as file:
        todo = missing(wanted, load(out).rows)  # now that nobody else adds to them
        with closing(measured(todo, jobs)) as rows:
            for done, row in enumerate(rows, 1):
                append(file, row)
                typer.echo(f"{done}/{len(todo)} {_line(row)}", err=True)


def _line(row: Row) -> str:
    told = {
        "find": "found" if row.found and row.kind_ok else "MISSED",
        "plain": "FOUND without its schedule" if row.shown else "not found, as it must be",
        "clean": "clean" if row.found else f"exit {row.exit}",
    }[row.purpose]
    level = "" if row.purpose == "clean" else f" at {row.concurrency}"
    return f"{row.fault}, {row.schedule}{level}, seed {row.seed}: {told} ({row.cpu:.1f} CPU s, {row.seconds:.0f} s)"


def _tell(rows: Sequence[Row], command: str, path: Path | None, *, as_json: bool) -> None:
    import json

    from fuzzer.power.results import unwritable
    from fuzzer.power.table import markdown, summary

    text = markdown(rows, command)
    typer.echo(json.dumps(summary(rows), indent=2) if as_json else text)  # first: a disk may have filled up by now
    if path is not None:
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise unwritable("--markdown", path, error) from error
