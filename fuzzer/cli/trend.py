"""``specfuzz trend`` and ``specfuzz prune``: the nights in a folder of reports; nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fuzzer.errors import UsageError

if TYPE_CHECKING:
    from fuzzer.trend.prune import Pruned

TREND_EXITS = (
    "Exit status: 0 the last night is not flagged, 1 it is, 2 usage, 3 too little to tell: it has no cell with two "
    "earlier nights of its kind and 300 earlier answers."
)
PRUNE_EXITS = "Exit status: 0 done, 1 something could not be removed, 2 usage."

Reports = Annotated[Path, typer.Argument(help="The folder that holds the run directories.", metavar="REPORTS")]


def trend(
    reports: Reports = Path("reports"),
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with plots, too.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the trend as JSON and nothing else.")] = False,
    candidate: Annotated[str | None, typer.Option(metavar="NAME", help="Only this candidate's cells.")] = None,
    last: Annotated[int, typer.Option(metavar="N", help="Show so many nights; all are compared with.")] = 30,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make the index anew: pruned nights leave the trend.")
    ] = False,
) -> None:
    """Show failure rates over nights: is the last soak or gate worse than those before it?

    Flags at most 0.1 % of the nights in which nothing changed, if nights differ by chance alone. Tells findings that
    are new, known or gone, and keeps an index in REPORTS/index.sqlite.

    For example: specfuzz trend reports --html trend.html
    """
    import sys

    from fuzzer.report.pipes import forgiving
    from fuzzer.report.render import open_screen
    from fuzzer.trend import trend as look
    from fuzzer.trend.console import show
    from fuzzer.trend.page import write_trend

    if last < 1:
        raise UsageError(f"--last: {last} nights cannot be shown; write for example --last 30")
    found = look(reports, candidate=candidate, last=last, rebuild=rebuild)
    if candidate is not None and not found.nights:
        raise UsageError(f"--candidate: no night below {reports} has a candidate called {candidate!r}")
    if html is not None:
        write_trend(html, found)
    with forgiving():
        if json:
            from fuzzer.inert import inert_json

            sys.stdout.write(inert_json(found.model_dump_json(indent=2)) + "\n")
        else:
            show(found, open_screen())
    raise typer.Exit(found.exit_status)


def prune(
    reports: Reports = Path("reports"),
    keep: Annotated[str | None, typer.Option("--keep", metavar="30d", help="Keep what is younger: h, d or w.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be removed; touch nothing.")] = False,
) -> None:
    """Remove old run and soak directories; the trend keeps their numbers.

    Kept whatever their age: runs that are being written, and of failing ones the bundles with the files that explain
    them. An interrupted run is kept twice as long, since it can be resumed.

    For example: specfuzz prune reports --keep 30d --dry-run
    """
    from fuzzer.report.pipes import forgiving
    from fuzzer.trend.prune import duration, prune

    done = prune(reports, duration(keep), dry_run=dry_run)
    with forgiving():
        for line in _lines(done, dry_run=dry_run):
            typer.echo(line)
    raise typer.Exit(1 if done.failed else 0)


def _lines(done: Pruned, *, dry_run: bool) -> list[str]:
    from fuzzer.report.text import clean
    from fuzzer.report.words import plural
    from fuzzer.trend.words import freed

    verb = "would remove" if dry_run else "removed"
    lines = [
        f"{verb} {clean(one.directory, 200)} ({one.why}, {freed(one.freed)})"
        + ("; kept: its bundles and what explains them" if one.thinned else "")
        for one in done.removed
    ]
    lines += [f"kept {clean(one.directory, 200)}: {clean(one.why, 300)}" for one in done.kept]
    lines += [f"could not remove {clean(one.directory, 200)}: {clean(one.why, 300)}" for one in done.failed]
    frees = "would free" if dry_run else "freed"
    return [*lines, f"{verb} {plural(len(done.removed), 'run')}, {frees} {freed(done.freed)}"]
