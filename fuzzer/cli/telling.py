"""``specfuzz judge``, ``report``, ``merge``, ``compare`` and ``export``: what finished runs say; nothing is sent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

COMPARED = "Exit status: 0 not worse, 1 worse, 2 usage, 3 cannot tell."

Out = Annotated[Path, typer.Option("--out", help="Where run directories are made.")]
Json = Annotated[bool, typer.Option("--json", help="Print summary.json on stdout and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress; print the verdict's line.")]
Directory = Annotated[Path, typer.Argument(help="A run directory, reports/RUN-ID.")]


def judge(directory: Directory, json: Json = False, quiet: Quiet = False) -> None:
    """Judge a recorded run again with today's oracles, and write its reports anew; sends nothing."""
    from fuzzer.cli.running import judge_and_report

    raise typer.Exit(judge_and_report(directory, as_json=json, quiet=quiet))


def report(
    directories: Annotated[list[Path], typer.Argument(help="One run directory, or several.", metavar="RUN...")],
    out: Out = Path("reports"),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a run's verdict and write its reports anew from its summary.json.

    Several runs (for instance one a head precision) become one report in a directory of its own, as merge makes it.
    """
    from fuzzer.cli.running import merge_and_report, show
    from fuzzer.soak.ledger import is_soak
    from fuzzer.soak.telling import show_night

    if len(directories) == 1 and is_soak(directories[0]):
        show_night(directories[0], as_json=json, quiet=quiet)
    elif len(directories) == 1:
        show(directories[0], as_json=json, quiet=quiet)
    else:
        merge_and_report(directories, out, as_json=json, quiet=quiet, command="report")


def merge(
    directories: Annotated[list[Path], typer.Argument(help="Run directories, two or more.", metavar="RUN...")],
    out: Out = Path("reports"),
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Put runs of different days or heads into one table, with paired tests between their candidates.

    Refused, with the reason, where they did not ask the same prompts in the same way of the same reference.
    """
    from fuzzer.cli.running import merge_and_report

    raise typer.Exit(merge_and_report(directories, out, as_json=json, quiet=quiet))


def compare(
    old: Annotated[Path, typer.Argument(help="The run before, reports/RUN-ID.")],
    new: Annotated[Path, typer.Argument(help="The run after.")],
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with a plot, too.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON and nothing else.")] = False,
) -> None:
    """Compare two runs of one plan, on two days or two builds: what got worse or better, on the same prompts.

    Worse is a significant rise of failures (exact McNemar, Holm over cells, p < 0.01) or a new certain finding. Runs
    that asked other prompts, or another model, are refused.
    """
    from fuzzer.cli.running import compare_and_report

    raise typer.Exit(compare_and_report(old, new, page, as_json=json))


def export(
    directory: Directory,
    csv: Annotated[bool, typer.Option("--csv", help="Write exchanges.csv, prompts.csv, findings.csv.")] = False,
    parquet: Annotated[bool, typer.Option("--parquet", help="The same as Parquet, exact to the character.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where to; default: the run directory.")
    ] = None,
) -> None:
    """Write a run's exchanges, prompts and findings as tables, a row each, for a notebook or a database.

    For example: specfuzz export reports/RUN-ID --parquet
    """
    from fuzzer.errors import UsageError
    from fuzzer.report.export import FORMATS, export_run

    chosen = [name for name, wanted in zip(FORMATS, (csv, parquet), strict=True) if wanted]
    if not chosen:
        raise UsageError("export: say which: --csv, --parquet or both, for example: specfuzz export RUN --parquet")
    for path, rows in export_run(directory, chosen, out or directory):
        typer.echo(f"{path}: {rows:,} rows")
