"""``specfuzz soak``: hours of rotating traffic, and one verdict in the morning."""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fuzzer.cli.ends import Candidates, Headers, LmHeads, References
from fuzzer.cli.telling import Out, Quiet

if TYPE_CHECKING:
    from fuzzer.night import Night
    from fuzzer.plan import Plan
    from fuzzer.soak.ledger import Settings
    from fuzzer.soak.options import Telling


def soak(
    candidate: Candidates = None,
    reference: References = None,
    lm_head: LmHeads = None,
    duration: Annotated[str | None, typer.Option(metavar="8h", help="How long; 8h if nothing is given.")] = None,
    requests: Annotated[int | None, typer.Option(metavar="N", help="End after so many judged answers.")] = None,
    concurrency: Annotated[str | None, typer.Option(metavar="N,N", help="Levels to run; default 1,8.")] = None,
    schedule: Annotated[
        list[str] | None, typer.Option(metavar="NAME,...", help="Traffic shapes; all of them by default.")
    ] = None,
    family: Annotated[list[str] | None, typer.Option(metavar="NAME,...", help="Only these families.")] = None,
    corpus: Annotated[
        list[str] | None, typer.Option(metavar="NAME|PATH|hf:ID", help="A prompt set, or your own; repeatable.")
    ] = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Decides prompts and order; default 0.")] = None,
    max_wrong_rate: Annotated[str | None, typer.Option(metavar="1%", help="The failure rate to rule out.")] = None,
    anchor_every: Annotated[
        str | None, typer.Option(metavar="15m", help="Ask the same prompts so often, to see drift.")
    ] = None,
    stop_on: Annotated[str | None, typer.Option(metavar="fail", help="End as soon as the night has failed.")] = None,
    max_disk: Annotated[
        str | None, typer.Option(metavar="20g", help="Drop the bulk of clean legs beyond this.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Serve Prometheus metrics there, on the loopback.")
    ] = None,
    textfile: Annotated[
        Path | None, typer.Option(metavar="FILE.prom", help="Keep the metrics in a file for node_exporter.")
    ] = None,
    on_finding: Annotated[
        str | None, typer.Option(metavar="COMMAND", help="Run for a new finding; it gets JSON on its input.")
    ] = None,
    webhook: Annotated[
        str | None, typer.Option(metavar="URL|env:VAR", help="Post alerts there, as Slack reads them.")
    ] = None,
    header: Headers = None,
    name: Annotated[
        str | None, typer.Option(metavar="NIGHT", help="Name of the directory; an interrupted one goes on.")
    ] = None,
    out: Out = Path("reports"),
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="These options from a TOML file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print night.json on stdout and nothing else.")] = False,
    quiet: Quiet = False,
) -> None:
    """Send rotating traffic for hours, and say in the morning what it showed.

    Takes gate's options from a specfuzz.toml, and its own from the table [soak] in it. For example:
    specfuzz soak --config specfuzz.toml --duration 8h
    """
    from fuzzer.options import build_plan, read_config
    from fuzzer.shapes import SHAPES
    from fuzzer.soak.options import build_settings

    read = read_config(config) if config else {}
    given: dict[str, object] = {
        "candidate": candidate,
        "reference": reference,
        "lm_head": lm_head,
        "concurrency": concurrency,
        "schedule": schedule,
        "family": family,
        "corpus": corpus,
        "seed": seed,
        "max_wrong_rate": max_wrong_rate,
        "header": header,
    }
    plan = build_plan(given, {"schedule": list(SHAPES), **{key: read[key] for key in read if key not in _LEGS_OWN}})
    own: dict[str, object] = {
        "duration": duration,
        "requests": requests,
        "anchor_every": anchor_every,
        "stop_on": stop_on,
        "max_disk": max_disk,
        "metrics_port": metrics_port,
        "textfile": textfile,
        "on_finding": on_finding,
        "webhook": webhook,
    }
    settings, telling = build_settings(own, read)
    making = partial(place, plan, settings, out, name)
    raise typer.Exit(_run(making, plan.seed, telling, header or [], as_json=json, quiet=quiet))


# what a gate's file says of a gate's size and end; a soak's legs have their own
_LEGS_OWN = ("requests", "control_requests", "early_stop", "budget", "speed_temperature")

_NAME_BYTES = 200  # file systems take 255, and files beside it have longer names


def place(plan: Plan, settings: Settings, out: Path, name: str | None) -> Path:
    """Where the soak goes on that was named, or a new one's. Raises UsageError for a name that is of no use."""
    from fuzzer.errors import UsageError
    from fuzzer.soak.directory import make, over
    from fuzzer.soak.ledger import is_soak, read_soak

    if name is not None and not _usable(name):
        raise UsageError(f"--name: {name!r} is no name of a directory; write for example --name 2027-01-31")
    if name is not None and is_soak(out / name):
        directory = out / name
        if over(directory):
            raise UsageError(f"--name: {directory} is over; choose another name for a new night")
        if read_soak(directory).plan.digest != plan.digest:
            raise UsageError(f"--name: {directory} was begun with another plan; choose another name for a new night")
        return directory
    return make(plan, settings, out, name)


def _usable(name: str) -> bool:
    """Whether a night's name may be that of a directory on any file system."""
    plain = name.isprintable() and name.strip() and not name.startswith(".")
    return bool(plain) and not any(sign in name for sign in "/\\") and len(name.encode()) <= _NAME_BYTES


def run_soak(
    directory: Path, telling: Telling, headers: list[str], *, as_json: bool = False, quiet: bool = False
) -> int:
    """Go on with a soak, write its report, print; returns the exit status."""
    from fuzzer.soak.ledger import read_soak

    seed = read_soak(directory).plan.seed
    return _run(lambda: directory, seed, telling, headers, as_json=as_json, quiet=quiet)


def _run(
    making: Callable[[], Path], seed: int, telling: Telling, headers: list[str], *, as_json: bool, quiet: bool
) -> int:
    """``making`` makes the directory, once nothing that was asked for is of no use."""
    import anyio

    from fuzzer.options import header_table
    from fuzzer.soak.conduct import soak as conduct
    from fuzzer.soak.telling import show_night
    from fuzzer.soak.watching import watching
    from fuzzer.traffic.pauses import shorten_pauses

    table = header_table(headers)

    async def run() -> tuple[Path, Night]:
        async with watching(telling, seed, quiet=quiet, painted=not as_json) as watchers:
            directory = making()
            night = await conduct(directory, listeners=[watchers.listen], tell=watchers.tell, headers=table)
            for sign in (signal.SIGINT, signal.SIGTERM):  # what follows is short, and its exit status counts
                signal.signal(sign, signal.SIG_IGN)
            return directory, night

    shorten_pauses()
    return show_night(*anyio.run(run), as_json=as_json, quiet=quiet)
