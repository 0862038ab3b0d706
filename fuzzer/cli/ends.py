"""Options that several commands share: who stands at each end, and what goes with every request."""

from __future__ import annotations

from typing import Annotated

import typer

Candidates = Annotated[
    list[str] | None, typer.Option("--candidate", metavar="[NAME=]URL", help="Server with speculation; repeatable.")
]
References = Annotated[
    list[str] | None,
    typer.Option("--reference", metavar="[NAME=]URL", help="Same model without it; paired by NAME, or serves all."),
]
LmHeads = Annotated[
    list[str] | None,
    typer.Option("--lm-head", metavar="NAME=PRECISION", help="Precision of the output head; repeatable."),
]
Headers = Annotated[list[str] | None, typer.Option("--header", metavar="K=V", help="A header to send; repeatable.")]
