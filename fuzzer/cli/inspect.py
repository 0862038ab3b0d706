"""``specfuzz inspect``: what a checkpoint says of its own lm_head."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

INCONCLUSIVE = 3


def inspect(
    checkpoint: Annotated[
        Path,
        typer.Option("--checkpoint", metavar="DIR|FILE", help="A model folder, a .safetensors or a .gguf file."),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Read the lm_head's precision from a checkpoint without loading it: only headers and configuration are read.

    For example: specfuzz inspect --checkpoint model/
    """
    from fuzzer.checkpoint import UNKNOWN
    from fuzzer.checkpoint import inspect as look

    head = look(checkpoint)
    if as_json:
        typer.echo(json.dumps({"checkpoint": str(checkpoint), "lm_head": asdict(head)}, indent=2))
    else:
        typer.echo(f"lm_head: {head.precision}{' (the input embeddings serve as the head)' if head.tied else ''}")
        for reason in head.reasons:
            typer.echo(f"  {reason}")
        if head.precision != UNKNOWN:
            typer.echo(f"Tell the gate: --lm-head NAME={head.precision}, NAME being the candidate's.")
    if head.precision == UNKNOWN:
        raise typer.Exit(INCONCLUSIVE)
