"""``specfuzz repro``, ``replay``, ``shrink`` and ``findings``: the bug, small."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fuzzer.errors import UsageError

if TYPE_CHECKING:
    from fuzzer.events import Listener
    from fuzzer.plan import Endpoint, Plan
    from fuzzer.repro.acceptance import Budget
    from fuzzer.repro.bundle import Bundle
    from fuzzer.repro.issue import Tracker
    from fuzzer.repro.presets import Preset
    from fuzzer.repro.sweep import Reproduction, Wanted

REPRO_EXITS = "Exit status: 0 not reproduced at the stated power, 1 reproduced, 2 usage, 3 too weak, 4 unavailable."
REPLAY_EXITS = "Exit status: 0 gone, 1 it fails, 2 usage, 3 too few replays to call it gone, 4 unavailable."
SHRINK_EXITS = "Exit status: 0 shrunk, 2 usage, 3 it does not fail any more, 4 unavailable, 130 interrupted."
INTERRUPTED, TOO_FEW = 130, 3
REPLAYS = 1500

BundlePath = Annotated[Path, typer.Argument(help="A bundle: its directory or .zip.", metavar="BUNDLE")]
Candidate = Annotated[
    str | None, typer.Option("--candidate", metavar="URL", help="Server to ask; default: where it was seen.")
]
KeyEnv = Annotated[str | None, typer.Option(metavar="VAR", help="Variable that holds the API key.")]
Headers = Annotated[list[str] | None, typer.Option(metavar="K=V", help="A header to send; repeatable.")]
Model = Annotated[str | None, typer.Option(metavar="ID", help="Model id; default: the one that is served.")]
TrackerName = Annotated[
    str | None, typer.Option("--tracker", metavar="vllm|sglang|llamacpp", help="The tracker that ISSUE.md is for.")
]
Launch = Annotated[
    str | None, typer.Option("--launch-command", metavar="TEXT", help="How the server was started, for ISSUE.md.")
]
Spend = Annotated[
    str | None, typer.Option("--budget", metavar="N|10m", help=f"Requests or time to spend; {REPLAYS} replays.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]


def findings(
    directories: Annotated[list[Path], typer.Argument(help="Run directories, one or more.", metavar="RUN...")],
    json: Json = False,
) -> None:
    """List what runs found, each kind once: when first and last, how often, and its smallest bundle."""
    from fuzzer.repro.known import known
    from fuzzer.repro.shown import groups

    rows = known(directories)
    if json:
        _json([row.model_dump(mode="json") for row in rows])
    else:
        _say(groups(rows))


def replay(
    path: BundlePath,
    candidate: Candidate = None,
    times: Annotated[
        int | None, typer.Option(metavar="K", help="Replays; default: enough to call it gone.", min=1, max=100_000)
    ] = None,
    model: Model = None,
    api_key_env: KeyEnv = None,
    header: Headers = None,
    json: Json = False,
) -> None:
    """Send a bundle's requests again, with their timing, and say whether the bug is still there."""
    import anyio

    from fuzzer.report.text import clean
    from fuzzer.repro.bundle import read_bundle
    from fuzzer.repro.replay import replay as again

    bundle = read_bundle(path)
    endpoint = _endpoint(bundle, candidate, model, api_key_env, header)
    with _stoppable("nothing is kept of a replay that did not end"):
        found = anyio.run(again, bundle, endpoint, times)
    if json:
        _json(found.model_dump(mode="json"))
    else:
        _say(clean(line, 400) for line in found.lines)
    raise typer.Exit(found.exit_status)


def shrink(
    path: BundlePath,
    candidate: Candidate = None,
    reference: Annotated[
        str | None, typer.Option("--reference", metavar="URL", help="Same model without speculation, for controls.")
    ] = None,
    budget: Spend = None,
    model: Model = None,
    api_key_env: KeyEnv = None,
    header: Headers = None,
    tracker: TrackerName = None,
    launch_command: Launch = None,
    json: Json = False,
) -> None:
    """Reduce a bundle to the fewest and simplest requests that still fail in the same way.

    It can be stopped at any time; the same command goes on. The smaller bundle is written beside the given one.
    """
    from functools import partial

    import anyio

    from fuzzer.report.words import plural
    from fuzzer.repro.bundle import read_bundle
    from fuzzer.repro.reduce import reduce
    from fuzzer.repro.secrets import secrets_of
    from fuzzer.repro.shown import shrunk
    from fuzzer.repro.writing import relaunched, write

    bundle = relaunched(read_bundle(path), launch_command)
    endpoint = _endpoint(bundle, candidate, model, api_key_env, header)
    control = _endpoint(bundle, reference, model, api_key_env, header, option="--reference") if reference else None
    whole = Path(os.path.abspath(path))  # "." has no name and no folder that it stands in
    whole = whole.parent if whole.name == "bundle.json" else whole
    name, folder = whole.name.removesuffix(".zip"), whole.parent
    state = folder / f".{name}.shrink.jsonl"
    work = partial(reduce, bundle, endpoint, control, _budget(budget), state=state, tell=_tell)
    chosen = _tracker(tracker)
    with _stoppable("stopped; the same command goes on from here"):
        reduced = anyio.run(work)
    if reduced.bundle is None:
        _tell(f"{reduced.why}; nothing is written")
        raise typer.Exit(TOO_FEW)
    if (smaller := _smaller(folder / f"{name}-shrunk", reduced.bundle.cohort.size)) is not None:
        _tell(
            f"{folder / f'{name}-shrunk'} is kept, which has {plural(smaller, 'request')}; this came to no fewer than "
            f"{reduced.bundle.cohort.size}"
        )
        raise typer.Exit(0)
    made = write(
        reduced.bundle,
        folder,
        secrets=secrets_of(endpoint, *([control] if control else [])),
        tracker=chosen,
        name=f"{name}-shrunk",
    )
    if json:
        _json({"bundle": str(made), "shrunk": reduced.bundle.shrunk and reduced.bundle.shrunk.model_dump(mode="json")})
    else:
        _say((*shrunk(reduced.bundle), f"bundle: {made}"))


def _smaller(path: Path, size: int) -> int | None:
    """How many requests the bundle at a path has, where it is there and has fewer than so many."""
    from contextlib import suppress

    from fuzzer.repro.bundle import BundleError, read_bundle

    with suppress(BundleError):
        known = read_bundle(path).cohort.size
        return known if known < size else None
    return None


def repro(
    candidate: Annotated[list[str] | None, typer.Option(metavar="URL", help="Server with speculation.")] = None,
    reference: Annotated[list[str] | None, typer.Option(metavar="URL", help="Same model without it.")] = None,
    preset: Annotated[str, typer.Option(metavar="NAME", help="Which traffic; see below.")] = "c8-wrong-answer",
    requests: Annotated[int | None, typer.Option(metavar="N", help="Judged answers a part.", min=1)] = None,
    budget: Spend = None,
    family: Annotated[list[str] | None, typer.Option(metavar="NAME,...", help="Prompts, if not the preset's.")] = None,
    lm_head: Annotated[list[str] | None, typer.Option(metavar="NAME=PRECISION", help="Precision of its head.")] = None,
    model: Model = None,
    engine: Annotated[str | None, typer.Option(metavar="NAME", help="Do not detect the engine.")] = None,
    api_key_env: KeyEnv = None,
    header: Headers = None,
    seed: Annotated[int | None, typer.Option(metavar="S", help="Decides prompts and their order.", min=0)] = None,
    max_tokens: Annotated[int | None, typer.Option(metavar="N", help="Output limit of each answer.", min=1)] = None,
    thinking: Annotated[str | None, typer.Option(metavar="auto|on|off", help="Thinking switch of the model.")] = None,
    timeout: Annotated[float | None, typer.Option(metavar="S", help="Total seconds for one exchange; 120.")] = None,
    require_speculation: Annotated[
        bool | None, typer.Option("--require-speculation/--no-require-speculation", help="Inconclusive if not seen.")
    ] = None,
    tracker: TrackerName = None,
    launch_command: Launch = None,
    out: Annotated[Path, typer.Option("--out", help="Where run directories are made.")] = Path("reports"),
) -> None:
    """Reproduce a known kind of bug: sweep a preset's traffic, confirm what fails, shrink it, bundle it.

    For example: specfuzz repro --candidate http://127.0.0.1:8001 --reference http://127.0.0.1:8000

    Presets: c8-wrong-answer, wrong-context, burst-then-solo, cancel-retry, hot-neighbours, acceptance-collapse,
    greedy-parity.
    """
    from fuzzer.options import build_plan
    from fuzzer.repro.presets import preset as chosen
    from fuzzer.repro.shown import reproduction
    from fuzzer.repro.sweep import Wanted

    wanted = chosen(preset)
    given: dict[str, object] = {
        "candidate": candidate,
        "reference": reference,
        "family": family,
        "lm_head": lm_head,
        "model": model,
        "engine": engine,
        "api_key_env": api_key_env,
        "header": header,
        "seed": seed,
        "max_tokens": max_tokens,
        "thinking": thinking,
        "timeout": timeout,
        "require_speculation": require_speculation,
    }
    asked = Wanted(out, _budget(budget), requests, _tracker(tracker), launch_command or "")
    with _stoppable("stopped; what was recorded is kept"):
        found = _reproduce(build_plan(given), wanted, asked)
    _say(reproduction(found, wanted))
    raise typer.Exit(found.exit_status)


def _reproduce(plan: Plan, preset: Preset, wanted: Wanted) -> Reproduction:
    from contextlib import ExitStack
    from functools import partial

    import anyio

    from fuzzer.report.listeners import Manner, listening
    from fuzzer.repro.sweep import reproduce

    with ExitStack() as stack:

        def listeners() -> Sequence[Listener]:
            return stack.enter_context(listening(Manner(quiet=True)))

        return anyio.run(partial(reproduce, plan, preset, wanted, listeners, _tell))


def _endpoint(
    bundle: Bundle,
    url: str | None,
    model: str | None,
    api_key_env: str | None,
    headers: list[str] | None,
    option: str = "--candidate",
) -> Endpoint:
    """Whom to ask, by the option that names it; keys and headers come from the command line, never from a bundle."""
    from pydantic import ValidationError

    from fuzzer.options import explain, header_table
    from fuzzer.plan import Endpoint

    where = url or bundle.url
    try:
        return Endpoint(
            name=bundle.finding.endpoint,
            url=where,
            model=model,
            api_key_env=api_key_env,
            headers=header_table(headers or []),
        )
    except ValidationError as error:
        raise UsageError(explain(error).replace("--url", option)) from None


def _tracker(name: str | None) -> Tracker | None:
    from fuzzer.repro.issue import TRACKERS

    if name is None:
        return None
    for tracker in TRACKERS:
        if tracker == name:
            return tracker
    raise UsageError(f"--tracker: {name!r} is not known; choose from {', '.join(TRACKERS)}")


def _budget(text: str | None) -> Budget:
    import re

    from fuzzer.repro.acceptance import Budget

    if text is None:
        return Budget(replays=REPLAYS)
    found = re.fullmatch(r"(\d{1,9})([smh]?)", text.strip())
    if not found or int(found[1]) == 0:
        raise UsageError(f"--budget: {text!r} is not understood; write requests or a time, for example 5000 or 10m")
    if not found[2]:
        return Budget(requests=int(found[1]))
    return Budget(seconds=int(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]])


def _tell(text: str) -> None:
    typer.echo(text, err=True)


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)


def _json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2))


@contextmanager
def _stoppable(words: str) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        _tell(words)
        raise typer.Exit(INTERRUPTED) from None
