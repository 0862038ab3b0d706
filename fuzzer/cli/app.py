"""The commands of ``specfuzz``; what they need is imported when they run, so that ``--help`` is quick."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fuzzer.cli import corpus as corpus_command
from fuzzer.cli import demo as demo_command
from fuzzer.cli import init as init_command
from fuzzer.cli import inspect as inspect_command
from fuzzer.cli import plan as plan_command
from fuzzer.cli import power as power_command
from fuzzer.cli import repro as repro_command
from fuzzer.cli import servers, telling
from fuzzer.cli import soak as soak_command
from fuzzer.cli import trend as trend_command
from fuzzer.cli.ends import Candidates, Headers, LmHeads, References
from fuzzer.cli.listing import families, faults, oracles, schedules
from fuzzer.cli.telling import Directory, Json, Out, Quiet

app = typer.Typer(
    name="specfuzz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Does a server with speculative decoding still answer the question it was asked? "
    "Compares a candidate (speculation on) with a reference (the same model, speculation off) at equal concurrency.",
)

EXITS = "Exit status: 0 pass, 1 fail, 2 usage, 3 inconclusive, 4 unavailable, 130 interrupted."


def _version(value: bool) -> None:
    if value:
        import importlib.metadata

        typer.echo(f"specfuzz {importlib.metadata.version('specfuzz')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command(epilog=EXITS, short_help="Gate a rollout: pass, fail, or cannot tell.")
def gate(
    candidate: Candidates = None,
    reference: References = None,
    lm_head: LmHeads = None,
    concurrency: Annotated[str | None, typer.Option(metavar="N,N", help="Levels to run; default 1,8.")] = None,
    ladder: Annotated[bool | None, typer.Option("--ladder", help="Levels 1,2,3,4,5,6,8,12,16,32.")] = None,
    schedule: Annotated[
        list[str] | None, typer.Option(metavar="NAME,...", help="Traffic shapes, or all of them; two by default.")
    ] = None,
    requests: Annotated[
        int | None, typer.Option(metavar="N", help="Fixed judged answers a gated cell; default: a sequential test.")
    ] = None,
    max_wrong_rate: Annotated[str | None, typer.Option(metavar="1%", help="The failure rate to rule out.")] = None,
    confidence: Annotated[str | None, typer.Option(metavar="95%", help="One-sided confidence of the bound.")] = None,
    control_requests: Annotated[
        int | None, typer.Option(metavar="N", help="Judged answers of the control; 60.")
    ] = None,
    early_stop: Annotated[
        bool | None, typer.Option("--early-stop/--no-early-stop", help="Stop a cell as soon as it is decided.")
    ] = None,
    budget: Annotated[str | None, typer.Option(metavar="20m", help="Trim the plan to fit this time.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be sent; contact nobody.")] = False,
    corpus: Annotated[
        list[str] | None, typer.Option(metavar="NAME|PATH|hf:ID", help="A prompt set, or your own; repeatable.")
    ] = None,
    family: Annotated[list[str] | None, typer.Option(metavar="NAME,...", help="Only these families.")] = None,
    weave: Annotated[
        bool | None, typer.Option("--weave/--no-weave", help="Put canaries into corpus rows; on by default.")
    ] = None,
    pad: Annotated[int | None, typer.Option(metavar="TOKENS", help="Length of the needle family's filler.")] = None,
    fuzz: Annotated[
        int | None, typer.Option(metavar="N", help="Ask N prompts at the edges, drawn by Hypothesis.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Decides prompts and order; default 0.")] = None,
    max_tokens: Annotated[int | None, typer.Option(metavar="N", help="Output limit; 256, or 4096 thinking.")] = None,
    thinking: Annotated[str | None, typer.Option(metavar="auto|on|off", help="Thinking switch of the model.")] = None,
    stream: Annotated[bool | None, typer.Option("--stream/--no-stream", help="Event streams; on by default.")] = None,
    timeout: Annotated[float | None, typer.Option(metavar="S", help="Total seconds for one exchange; 120.")] = None,
    cache: Annotated[str | None, typer.Option(metavar="warm|cold", help="Prefix cache, alike on both sides.")] = None,
    model: Annotated[str | None, typer.Option(metavar="ID", help="Model id; default: the one that is served.")] = None,
    reference_model: Annotated[str | None, typer.Option(metavar="ID", help="Model id at the reference.")] = None,
    api_key_env: Annotated[str | None, typer.Option(metavar="VAR", help="Variable that holds the API key.")] = None,
    reference_api_key_env: Annotated[str | None, typer.Option(metavar="VAR", help="The same at the reference.")] = None,
    header: Headers = None,
    engine: Annotated[
        str | None, typer.Option(metavar="NAME", help="Do not detect the engine: vllm, llamacpp ...")
    ] = None,
    require_speculation: Annotated[
        bool | None,
        typer.Option("--require-speculation/--no-require-speculation", help="Inconclusive unless drafting is seen."),
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option("--ca-file", metavar="FILE", help="Certificates to trust besides the system's.")
    ] = None,
    wait_ready: Annotated[
        str | None, typer.Option("--wait-ready", metavar="5m", help="Wait so long for models to load.")
    ] = None,
    p50_concurrency: Annotated[
        int | None, typer.Option("--p50-concurrency", metavar="N", help="The level that you run at: marks its row.")
    ] = None,
    speed_temperature: Annotated[
        float | None,
        typer.Option("--speed-temperature", metavar="T", help="Measure speed at this temperature too; judge nothing."),
    ] = None,
    waivers: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Known findings, with reason and expiry.")
    ] = None,
    redact_content: Annotated[
        bool | None, typer.Option("--redact-content", help="Keep texts out of all files but history.jsonl.")
    ] = None,
    out: Out = Path("reports"),
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="These options from a TOML file.")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Gate a rollout: compare candidate and reference, and pass, fail or say that it cannot be told.

    For example: specfuzz gate --candidate http://127.0.0.1:8001 --reference http://127.0.0.1:8000
    """
    from fuzzer.cli.running import dry, gate_and_report
    from fuzzer.options import build_plan, read_config
    from fuzzer.report.listeners import Manner

    given: dict[str, object] = {
        "candidate": candidate,
        "reference": reference,
        "lm_head": lm_head,
        "concurrency": concurrency,
        "ladder": ladder,
        "schedule": schedule,
        "requests": requests,
        "max_wrong_rate": max_wrong_rate,
        "confidence": confidence,
        "control_requests": control_requests,
        "early_stop": early_stop,
        "budget": budget,
        "corpus": corpus,
        "family": family,
        "weave": weave,
        "pad": pad,
        "fuzz": fuzz,
        "seed": seed,
        "max_tokens": max_tokens,
        "thinking": thinking,
        "stream": stream,
        "timeout": timeout,
        "cache": cache,
        "model": model,
        "reference_model": reference_model,
        "api_key_env": api_key_env,
        "reference_api_key_env": reference_api_key_env,
        "header": header,
        "engine": engine,
        "require_speculation": require_speculation,
        "waivers": waivers,
        "ca_file": ca_file,
        "wait_ready": wait_ready,
        "p50_concurrency": p50_concurrency,
        "speed_temperature": speed_temperature,
        "redact_content": redact_content,
    }
    plan = build_plan(given, read_config(config) if config else None)
    if dry_run:
        dry(plan, as_json=json)
        return
    raise typer.Exit(gate_and_report(plan, out=out, manner=Manner(json, quiet)))


@app.command(epilog=EXITS, short_help="Go on with an interrupted run.")
def resume(directory: Directory, header: Headers = None, json: Json = False, quiet: Quiet = False) -> None:
    """Go on with an interrupted run or soak; nothing recorded is lost or sent again."""
    from fuzzer.cli.running import resume_and_report
    from fuzzer.cli.soak import run_soak
    from fuzzer.report.listeners import Manner
    from fuzzer.soak.ledger import is_soak
    from fuzzer.soak.options import Telling

    if is_soak(directory):
        raise typer.Exit(run_soak(directory, Telling(), header or [], as_json=json, quiet=quiet))
    raise typer.Exit(resume_and_report(directory, header or [], Manner(json, quiet)))


app.command("soak", epilog=EXITS, short_help="Hours of rotating traffic, and one verdict.")(soak_command.soak)
app.command("judge", epilog=EXITS, short_help="Judge a recorded run again.")(telling.judge)
app.command("merge", epilog=EXITS, short_help="Put several runs into one table.")(telling.merge)
app.command(
    "compare",
    epilog="Exit status: 0 not worse, 1 worse, 2 usage, 3 cannot tell.",
    short_help="Compare two runs of one plan.",
)(telling.compare)
app.command("report", short_help="Show a run's verdict, or that of several as one.")(telling.report)
app.command("export", short_help="A run as CSV or Parquet tables.")(telling.export)
app.command("findings", short_help="What runs found, each kind once.")(repro_command.findings)
app.command("trend", epilog=trend_command.TREND_EXITS, short_help="Is the last night worse than those before?")(
    trend_command.trend
)
app.command("prune", epilog=trend_command.PRUNE_EXITS, short_help="Remove old runs; the trend keeps the numbers.")(
    trend_command.prune
)
app.command("replay", epilog=repro_command.REPLAY_EXITS, short_help="Is a bundle's bug still there?")(
    repro_command.replay
)
app.command("shrink", epilog=repro_command.SHRINK_EXITS, short_help="Make a bundle as small as it gets.")(
    repro_command.shrink
)
app.command("repro", epilog=repro_command.REPRO_EXITS, short_help="Reproduce, shrink and bundle a known bug.")(
    repro_command.repro
)
app.command("demo", epilog=EXITS, short_help="Gate an embedded pair of servers.")(demo_command.demo)
app.command("plan", short_help="Sample sizes and time, before anything runs.")(plan_command.plan)
app.command(
    "inspect",
    epilog=inspect_command.EXITS,
    short_help="What endpoints are and whether they compare; a checkpoint's head.",
)(inspect_command.inspect)
app.command("init", short_help="Write a commented specfuzz.toml.")(init_command.init)
app.command("serve-sim", short_help="Serve the simulated engine.")(servers.serve_sim)
app.command("gateway", short_help="Plant a fault before a real engine.")(servers.gateway)
app.add_typer(corpus_command.app, name="corpus", short_help="List, show, check and add prompt sets.")
app.command("power", short_help="Measure detection power and false alarms.")(power_command.power)
app.command("families", short_help="List the prompt families.")(families)
app.command("oracles", short_help="List the oracles.")(oracles)
app.command("schedules", short_help="List the traffic shapes.")(schedules)
app.command("faults", short_help="List the faults that can be planted.")(faults)
