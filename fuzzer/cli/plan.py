"""``specfuzz plan``: sample sizes and time, before anything runs."""

from __future__ import annotations

from typing import Annotated

import typer


def plan(
    max_wrong_rate: Annotated[str, typer.Option(metavar="1%", help="The failure rate to rule out.")] = "1%",
    confidence: Annotated[str, typer.Option(metavar="95%", help="One-sided confidence of the bound.")] = "95%",
    cells: Annotated[int, typer.Option(metavar="N", help="Gated cells: levels times schedules times candidates.")] = 2,
    rate: Annotated[
        float | None, typer.Option(metavar="R", help="Answers per second, both arms together; gives the time.")
    ] = None,
    true_rate: Annotated[str, typer.Option(metavar="5%", help="A failure rate that should be detected.")] = "5%",
    reference: Annotated[
        bool, typer.Option("--reference/--no-reference", help="Whether every answer is asked of a reference, too.")
    ] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Say how many answers it takes to rule out a failure rate, how long that is, and what would be detected.

    For example: specfuzz plan --max-wrong-rate 0.3% --cells 2 --rate 12
    """
    from fuzzer.sizing import Question, describe, share, size

    sizes = size(
        Question(
            max_wrong_rate=share("--max-wrong-rate", max_wrong_rate),
            confidence=share("--confidence", confidence),
            cells=cells,
            arms=2 if reference else 1,
            speed=rate,
            true_rate=share("--true-rate", true_rate),
        )
    )
    if as_json:
        import json
        from dataclasses import asdict

        typer.echo(json.dumps(asdict(sizes), indent=2))
        return
    for line in describe(sizes):
        typer.echo(line)
