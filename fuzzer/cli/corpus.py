"""The commands about corpora: list, show, check, add."""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fuzzer.prompts.corpora.known import Known

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Prompt sets: shipped ones, and files of your own (JSON lines, JSON, CSV, Parquet, a folder, hf:OWNER/NAME).",
)

Corpus = Annotated[str, typer.Argument(metavar="NAME|PATH|hf:ID", help="A name, a file, a folder, or a hub data set.")]
Seed = Annotated[int, typer.Option(metavar="S", help="Draws the rows, as a run's seed does.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


@app.command("list", short_help="List the corpora that go by name.")
def list_(json: Json = False) -> None:
    """List the corpora that go by name: shipped ones, and those added to ./corpora."""
    from fuzzer.cli.listing import table
    from fuzzer.prompts.corpora.known import as_json, known

    rows = known()
    if json:
        typer.echo(jsonlib.dumps([as_json(row) for row in rows], indent=2))
        return
    table(("corpus", "from", "rows", "checkable", "format", "families", "checked by"), [_row(each) for each in rows])
    for each in rows:
        if each.problem:
            typer.echo(each.problem)


def _row(each: Known) -> tuple[str, ...]:
    if each.problem:
        return each.name, each.origin, "-", "-", "cannot be used, see below", "", ""
    sizes = f"{each.rows:,}", f"{each.checkable:,}"
    return each.name, each.origin, *sizes, _counts(each.formats), _counts(each.families), _counts(each.checks)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


@app.command(short_help="Print rows as they would be sent.")
def show(
    corpus: Corpus,
    rows: Annotated[int, typer.Option(min=1, metavar="N", help="How many rows; drawn by seed.")] = 3,
    seed: Seed = 0,
    weave: Annotated[bool, typer.Option("--weave/--no-weave", help="With canaries, or as they are.")] = True,
) -> None:
    """Print rows as they would be sent, with what is known of their answers."""
    from fuzzer.prompts.corpora.showing import shown

    for line in shown(corpus, rows, seed, weave=weave):
        typer.echo(line)


@app.command(epilog="Exit status: 0 clean, 1 problems found, 2 usage.", short_help="Find everything wrong in a corpus.")
def check(corpus: Corpus, seed: Seed = 0, json: Json = False) -> None:
    """Find everything that is wrong in a corpus, by file, line and field; and what stands twice or nearly so."""
    from fuzzer.prompts.corpora.inspecting import as_json, inspect, report

    found = inspect(corpus, seed)
    if json:
        typer.echo(jsonlib.dumps(as_json(found), indent=2))
    else:
        for line in report(found):
            typer.echo(line)
    raise typer.Exit(1 if found.problem_count else 0)


@app.command(short_help="Keep a corpus under a name.")
def add(
    corpus: Corpus,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What --corpus will call it.")],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="So many rows, drawn by seed; 5000.")] = None,
    seed: Seed = 0,
    licence: Annotated[str, typer.Option(metavar="TEXT", help="The licence of the data, for the card.")] = "",
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that cannot be asked.")] = False,
) -> None:
    """Write a corpus to ./corpora/NAME.jsonl, with a card NAME.md; it then goes by --corpus NAME.

    For example: specfuzz corpus add talks.json --name talks --limit 500 --skip-bad
    """
    from fuzzer.prompts.corpora.adding import add as write
    from fuzzer.prompts.corpora.loading import LIMIT

    added = write(corpus, name, limit=limit or LIMIT, seed=seed, licence=licence, skip_bad=skip_bad)
    without = f"; {added.left_out:,} that cannot be asked left out" if added.left_out else ""
    typer.echo(f"{added.path}: {len(added.corpus.rows):,} of {added.corpus.total:,} rows{without}; card {added.card}")
