"""``specfuzz demo``: the whole tool on an embedded pair of servers, simulated or real."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fuzzer.cli.telling import Out, Quiet

if TYPE_CHECKING:
    from fuzzer.plan import Plan

SIM, LLAMACPP = "sim", "llamacpp"
SHOWN_FAULT = "last-message-swap"


def demo(
    engine: Annotated[str, typer.Option(metavar="sim|llamacpp", help="Simulated, or real llama.cpp.")] = SIM,
    fault: Annotated[
        str | None, typer.Option(metavar="NAME|none", help="Gate one pair, with this fault or none.")
    ] = None,
    model: Annotated[Path | None, typer.Option(metavar="PATH", help="A GGUF of your own, for llamacpp.")] = None,
    requests: Annotated[int | None, typer.Option(metavar="N", help="Judged answers a gated cell.", min=1)] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Decides prompts, order and faults.", min=0)] = 0,
    out: Out = Path("reports"),
    quiet: Quiet = False,
) -> None:
    """Boot an embedded pair of servers and gate it.

    Plain: a clean pair, which must pass, and a faulty one, which must fail; exit 0 when both came out so. With --fault
    it gates one pair and exits as gate does.
    """
    import anyio

    from fuzzer.errors import UsageError

    if engine == SIM:
        typer.echo("This engine is SIMULATED: no model is run; its faults are planted.", err=True)
        raise typer.Exit(anyio.run(_demo_sim, fault, requests, seed, out, quiet))
    if engine == LLAMACPP:
        typer.echo("This engine is REAL: llama.cpp on the CPU; candidate with n-gram speculation.", err=True)
        raise typer.Exit(anyio.run(_demo_llama, model, fault, requests, seed, out, quiet))
    raise UsageError(f"--engine: {engine!r} is not known; choose from {SIM}, {LLAMACPP}")


async def _demo_sim(fault: str | None, requests: int | None, seed: int, out: Path, quiet: bool) -> int:
    from contextlib import AsyncExitStack

    from fuzzer.demo import boot_sim, sim_pair

    async def gate_pair(name: str) -> int:
        async with AsyncExitStack() as stack:
            plan = await boot_sim(stack, sim_pair(name), seed=seed, requests=requests)
            return await _gate(plan, out, quiet)

    if fault is not None:
        return await gate_pair(fault)
    return await _both(gate_pair)


async def _demo_llama(
    model: Path | None, fault: str | None, requests: int | None, seed: int, out: Path, quiet: bool
) -> int:
    from contextlib import AsyncExitStack

    from fuzzer.demo import boot_llama, check_llama_fault, llama_model

    check_llama_fault(fault or "none")
    path = llama_model(model)

    async def gate_pair(name: str) -> int:
        async with AsyncExitStack() as stack:
            plan = await boot_llama(stack, path, name, seed=seed, requests=requests)
            return await _gate(plan, out, quiet)

    return await gate_pair(fault or "none")


async def _gate(plan: Plan, out: Path, quiet: bool) -> int:
    from fuzzer.report.listeners import Manner, listening
    from fuzzer.repro.collect import BundleFiles
    from fuzzer.run import gate

    with listening(Manner(quiet=quiet)) as listeners:
        run = await gate(plan, out=out, listeners=[BundleFiles(), *listeners])
    return run.summary.exit_status


async def _both(gate_pair: Callable[[str], Awaitable[int]]) -> int:
    """A clean pair and a faulty one; 0 when both came out as they should."""
    typer.echo("\n== A clean pair: this must pass. ==")
    clean = await gate_pair("none")
    if clean == 130:
        return clean
    typer.echo(f"\n== A pair whose candidate has the fault {SHOWN_FAULT}: this must fail. ==")
    faulty = await gate_pair(SHOWN_FAULT)
    if faulty == 130:
        return faulty
    typer.echo(f"\nclean pair: exit status {clean} (0 expected); faulty pair: exit status {faulty} (1 expected)")
    return 0 if (clean, faulty) == (0, 1) else 1
