"""``specfuzz inspect``: what a checkpoint says of its own lm_head, and what endpoints are and whether they compare."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fuzzer.errors import UsageError

INCONCLUSIVE = 3
EXITS = "Exit status: 0 comparable (with or without warnings), 2 usage, 3 not comparable or unknown, 4 unavailable."


def inspect(
    urls: Annotated[
        list[str] | None, typer.Argument(metavar="[CANDIDATE [REFERENCE]]", help="One address, or a pair of them.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="DIR|FILE", help="A model folder, a .safetensors or a .gguf file."),
    ] = None,
    concurrency: Annotated[int, typer.Option(metavar="N", help="Warm up with so many at once.", min=1, max=1024)] = 8,
    model: Annotated[str | None, typer.Option(metavar="ID", help="Model id; default: the one that is served.")] = None,
    reference_model: Annotated[str | None, typer.Option(metavar="ID", help="Model id at the reference.")] = None,
    api_key_env: Annotated[str | None, typer.Option(metavar="VAR", help="Variable that holds the API key.")] = None,
    reference_api_key_env: Annotated[str | None, typer.Option(metavar="VAR", help="The same at the reference.")] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="K=V", help="A header to send; repeatable.")] = None,
    engine: Annotated[str | None, typer.Option(metavar="NAME", help="Do not detect the engine.")] = None,
    stream: Annotated[bool | None, typer.Option("--stream/--no-stream", help="Event streams; on by default.")] = None,
    thinking: Annotated[str | None, typer.Option(metavar="auto|on|off", help="Thinking switch of the model.")] = None,
    timeout: Annotated[float | None, typer.Option(metavar="S", help="Total seconds for one exchange; 120.")] = None,
    ca_file: Annotated[
        Path | None, typer.Option("--ca-file", metavar="FILE", help="Certificates to trust besides the system's.")
    ] = None,
    wait_ready: Annotated[
        str | None, typer.Option("--wait-ready", metavar="5m", help="Wait so long for models to load.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")] = False,
) -> None:
    """Ask one endpoint, or a pair, all that a gate asks before it runs; or read the lm_head of a checkpoint.

    For example: specfuzz inspect http://127.0.0.1:8001 http://127.0.0.1:8000
    """
    if bool(urls) == (checkpoint is not None):
        raise UsageError("inspect takes one or two addresses, or --checkpoint: specfuzz inspect http://127.0.0.1:8000")
    if checkpoint is not None:
        _checkpoint(checkpoint, as_json=as_json)
        return
    options: dict[str, object] = {
        "concurrency": str(concurrency),
        "model": model,
        "reference_model": reference_model,
        "api_key_env": api_key_env,
        "reference_api_key_env": reference_api_key_env,
        "header": header,
        "engine": engine,
        "stream": stream,
        "thinking": thinking,
        "timeout": timeout,
        "ca_file": ca_file,
        "wait_ready": wait_ready,
    }
    _endpoints(urls or [], options, as_json=as_json)


def _endpoints(urls: list[str], options: dict[str, object], *, as_json: bool) -> None:
    import anyio

    from fuzzer.inspecting import inspect as look
    from fuzzer.options import build_plan
    from fuzzer.report.console import open_screen
    from fuzzer.report.inspected import show, told

    if len(urls) > 2:  # a pair
        raise UsageError("inspect compares two addresses at most: the candidate's, then the reference's")
    alone = len(urls) == 1
    options |= {"candidate": urls[:1], "reference": urls[1:], "require_speculation": False if alone else None}
    found = anyio.run(look, build_plan(options))
    if as_json:
        typer.echo(json.dumps(told(found), indent=2))
    else:
        show(found, open_screen())
    if found.blocking:
        raise typer.Exit(INCONCLUSIVE)


def _checkpoint(path: Path, *, as_json: bool) -> None:
    from fuzzer.checkpoint import UNKNOWN
    from fuzzer.checkpoint import inspect as look

    head = look(path)
    if as_json:
        typer.echo(json.dumps({"checkpoint": str(path), "lm_head": asdict(head)}, indent=2))
    else:
        typer.echo(f"lm_head: {head.precision}{' (the input embeddings serve as the head)' if head.tied else ''}")
        for reason in head.reasons:
            typer.echo(f"  {reason}")
        if head.precision != UNKNOWN:
            typer.echo(f"Tell the gate: --lm-head NAME={head.precision}, NAME being the candidate's.")
    if head.precision == UNKNOWN:
        raise typer.Exit(INCONCLUSIVE)
