"""The commands that serve: the simulated engine, and the fault gateway before a real one."""

from __future__ import annotations

from typing import Annotated

import typer

Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)]
Seed = Annotated[int, typer.Option(help="Decides which requests a fault hits.")]


def serve_sim(
    port: Port = 8000,
    host: Host = "127.0.0.1",
    speculative: Annotated[bool, typer.Option("--speculative", help="Serve with speculative decoding.")] = False,
    fault: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Plant a fault; repeatable.")] = None,
    rate: Annotated[float | None, typer.Option(metavar="R", help="Share of requests it hits, 0 to 1.")] = None,
    lm_head: Annotated[str, typer.Option(metavar="PRECISION", help="fp32, bf16, w4a16, fp8 or nvfp4.")] = "bf16",
    seed: Seed = 0,
    slots: Annotated[int, typer.Option(metavar="N", help="Requests that run together; the others wait.", min=1)] = 64,
    kv_blocks: Annotated[int, typer.Option(metavar="N", help="Pages of the KV pool.", min=4)] = 4096,
    block_size: Annotated[int, typer.Option(metavar="N", help="Tokens of a page.", min=1)] = 16,
    model: Annotated[str, typer.Option(metavar="ID", help="The model id that is served.")] = "sim-model",
    api_key: Annotated[str | None, typer.Option(metavar="KEY", help="Ask for this key.")] = None,
) -> None:
    """Serve the simulated engine (no model is run), with faults if asked; see specfuzz faults."""
    from fuzzer.errors import UsageError
    from fuzzer.sim.config import SimConfig
    from fuzzer.sim.faults import FAULTS
    from fuzzer.sim.server import serve

    if rate is not None and not fault:
        raise UsageError("--rate says how often a fault strikes; name one with --fault (see specfuzz faults)")
    for name in fault or []:
        if name not in FAULTS:
            raise UsageError(f"--fault: unknown fault {name!r}; known are {', '.join(FAULTS)}")
    rates = {name: FAULTS[name].default_rate if rate is None else rate for name in fault or []}
    config = SimConfig(
        speculative=speculative,
        lm_head=lm_head,
        seed=seed,
        max_num_seqs=slots,
        kv_blocks=kv_blocks,
        block_size=block_size,
        model=model,
        faults=rates,
        host=host,
        port=port,
        api_key=api_key,
    )
    serve(config, lambda url: typer.echo(f"simulated engine at {url}", err=True))


def gateway(
    upstream: Annotated[str, typer.Option(metavar="URL", help="The real engine.")],
    fault: Annotated[str, typer.Option(metavar="NAME", help="The fault to plant.")],
    port: Port = 8080,
    host: Host = "127.0.0.1",
    rate: Annotated[float | None, typer.Option(metavar="R", help="Share of requests it hits, 0 to 1.")] = None,
    min_in_flight: Annotated[
        int | None, typer.Option(metavar="N", help="Only when at least so many are in flight.", min=1)
    ] = None,
    seed: Seed = 0,
) -> None:
    """Serve a gateway that plants a fault before a real engine, to see whether the gate finds it."""
    from fuzzer.errors import UsageError
    from fuzzer.sim.gateway import GatewayConfig, serve
    from fuzzer.sim.gateway_faults import GATEWAY_FAULTS

    if fault not in GATEWAY_FAULTS:
        raise UsageError(f"--fault: unknown fault {fault!r}; known are {', '.join(GATEWAY_FAULTS)}")
    config = GatewayConfig(
        upstream=upstream,
        fault=fault,
        rate=GATEWAY_FAULTS[fault].rate if rate is None else rate,
        seed=seed,
        host=host,
        port=port,
        **({} if min_in_flight is None else {"min_in_flight": min_in_flight}),
    )
    serve(config, lambda url: typer.echo(f"gateway with {fault} at {url}", err=True))
