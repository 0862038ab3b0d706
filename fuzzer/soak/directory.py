"""The directory of a soak: how it is made, and what can be read of it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fuzzer.errors import HistoryError, UsageError
from fuzzer.inert import inert_json
from fuzzer.manifest import FINDINGS, HISTORY, read_manifest
from fuzzer.night import LEDGER, LEGS, NIGHT, Night
from fuzzer.plan import Plan
from fuzzer.report.files import SUMMARY, load_summary, redact_findings, summary_json, write_whole
from fuzzer.repro.bundle import BUNDLE, BundleError, read_bundle
from fuzzer.repro.collect import BUNDLES
from fuzzer.run import rejudge
from fuzzer.soak.ledger import DRAFT, Began, Settings, new_soak, read_ledger, write_soak
from fuzzer.soak.rotation import ANCHOR_REQUESTS
from fuzzer.summary import Summary
from fuzzer.trend.reading import read_night


def make(plan: Plan, settings: Settings, out: Path, night_id: str | None = None) -> Path:
    """Make the directory of a soak that begins now. UsageError if it exists, or cannot be made."""
    soak = new_soak(plan, settings, night_id)
    directory = out / soak.night_id
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if any(path.name not in (LEGS, DRAFT) for path in directory.iterdir()):  # a soak that died here had no more
            raise UsageError(f"--name: {directory} holds something else; choose another name")
        (directory / LEGS).mkdir(exist_ok=True)
        write_soak(directory, soak)
    except OSError as error:
        raise UsageError(f"--out: cannot make {directory}: {error.strerror}") from None
    return directory


def over(directory: Path) -> bool:
    """Whether a soak has come to its end and said so; one that died before its verdict stood is taken up again.

    Raises HistoryError for a ledger that cannot be read.
    """
    if not (directory / LEDGER).exists() or not read_ledger(directory).finished:
        return False
    try:
        return read_night(directory).verdict != "interrupted"
    except HistoryError:
        return False


def write_night(directory: Path, night: Night) -> None:
    """Write ``night.json`` whole or not at all; a full disk leaves the old one, and the ledger can make it anew."""
    with suppress(OSError):
        write_whole(directory / NIGHT, inert_json(night.model_dump_json(indent=1)) + "\n")


def write_leg(leg: Path, summary: Summary) -> None:
    """What a leg leaves beside its history: its summary, and its findings without texts where those are to stay out.

    Raises HistoryError where it cannot be written.
    """
    redact_leg(leg, summary)
    try:
        write_whole(leg / SUMMARY, summary_json(summary))
    except OSError as error:
        raise HistoryError(f"{leg}: cannot write what it showed: {error.strerror}") from error


def unsent(leg: Path) -> bool:
    """Whether a leg was killed before its history said anything. Raises HistoryError where it cannot be read."""
    history = leg / HISTORY
    try:
        with history.open("rb") as file:
            return not file.readline().endswith(b"\n")
    except FileNotFoundError:
        return True
    except OSError as error:
        raise HistoryError(f"{history}: cannot read the history: {error.strerror}") from error


def redact_leg(leg: Path, summary: Summary) -> None:
    """Take the texts out of a leg's findings, where they are to stay out. Raises HistoryError."""
    try:
        if summary.redacted and (leg / FINDINGS).exists():
            redact_findings(leg / FINDINGS)
    except OSError as error:
        raise HistoryError(f"{leg}: cannot take texts out of its findings: {error.strerror}") from error


def ended_summary(leg: Path) -> Summary:
    """A leg that had ended, judged again from its history; its summary where the history is gone."""
    try:
        return rejudge(leg)
    except HistoryError:
        return load_summary(leg / SUMMARY)


def leg_directories(directory: Path) -> dict[int, Path]:
    """The legs that have a directory, by number; the ledger may have lost the line that told of one.

    Raises HistoryError where there is no directory of legs, and none can be made.
    """
    try:
        (directory / LEGS).mkdir(exist_ok=True)
        paths = sorted((directory / LEGS).iterdir())
    except OSError as error:
        raise HistoryError(f"{directory / LEGS}: cannot read the soak's legs: {error.strerror}") from error
    numbers = {path: path.name.partition("-")[0] for path in paths}
    return {int(number): path for path, number in numbers.items() if number.isdecimal()}


def found(path: Path, number: int, base: Plan) -> Began:
    """What the ledger has lost of a leg, from the leg's own manifest. Raises HistoryError where that is damaged."""
    manifest = read_manifest(path)
    plan = manifest.plan
    anchor = plan.seed == base.seed
    return Began(
        purpose="anchor" if anchor else "sweep",
        why="anchor" if anchor else "rotation",
        schedule=plan.schedules[0],
        concurrency=max(plan.concurrency),
        families=plan.families,
        seed=plan.seed,
        requests=plan.policy.requests or ANCHOR_REQUESTS,
        number=number,
        run_id=path.name,
        boot=0,
        at=manifest.started,
        active=0.0,
        found=True,
    )


def bundles_of(directory: Path, run_id: str = "*") -> dict[str, str]:
    """The first bundle of each dedupe key, as a path in the soak's directory."""
    found: dict[str, str] = {}
    for path in sorted((directory / LEGS).glob(f"{run_id}/{BUNDLES}/*/{BUNDLE}")):
        with suppress(BundleError):
            found.setdefault(read_bundle(path).key, str(path.parent.relative_to(directory)))
    return found
