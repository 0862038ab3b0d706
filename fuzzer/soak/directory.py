"""The directory of a soak: how it is made, and what can be read of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fuzzer.errors import HistoryError, UsageError
from fuzzer.inert import inert_json
from fuzzer.manifest import FINDINGS
from fuzzer.night import NIGHT, Night
from fuzzer.plan import Plan
from fuzzer.report.files import load_summary, redact_findings, summary_json, write_whole
from fuzzer.repro.bundle import BUNDLE, BundleError, read_bundle
from fuzzer.repro.collect import BUNDLES
from fuzzer.run import rejudge
from fuzzer.soak.ledger import LEGS, Settings, new_soak, write_soak
from fuzzer.summary import Summary

SUMMARY = "summary.json"


def make(plan: Plan, settings: Settings, out: Path, night_id: str | None = None) -> Path:
    """Make the directory of a soak that begins now. UsageError if it exists, or cannot be made."""
    soak = new_soak(plan, settings, night_id)
    directory = out / soak.night_id
    try:
        (directory / LEGS).mkdir(parents=True)
        write_soak(directory, soak)
    except FileExistsError:
        raise UsageError(f"--name: {directory} exists already; resume it, or choose another name") from None
    except OSError as error:
        raise UsageError(f"--out: cannot make {directory}: {error.strerror}") from None
    return directory


def read_night(directory: Path) -> Night:
    """Read ``night.json``. Raises HistoryError."""
    path = directory / NIGHT
    try:
        return Night.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise HistoryError(f"{path}: no verdict of a soak here; go on with: specfuzz resume DIR") from error


def write_night(directory: Path, night: Night) -> None:
    """Write ``night.json`` whole or not at all; a full disk leaves the old one, and the ledger can make it anew."""
    with suppress(OSError):
        write_whole(directory / NIGHT, inert_json(night.model_dump_json(indent=1)) + "\n")


def write_leg(leg: Path, summary: Summary) -> None:
    """What a leg leaves beside its history: its summary, and its findings without texts where those are to stay out.

    Raises HistoryError where it cannot be written.
    """
    try:
        if summary.redacted:
            redact_findings(leg / FINDINGS)
        write_whole(leg / SUMMARY, summary_json(summary))
    except OSError as error:
        raise HistoryError(f"{leg}: cannot write what it showed: {error.strerror}") from error


def ended_summary(leg: Path) -> Summary:
    """A leg that had ended, judged again from its history; its summary where the history is gone."""
    try:
        return rejudge(leg)
    except HistoryError:
        return load_summary(leg / SUMMARY)


def leg_numbers(directory: Path) -> Iterator[int]:
    """The numbers of the legs that have a directory; the ledger may have lost the line that told of one."""
    for path in (directory / LEGS).iterdir():
        number = path.name.partition("-")[0]
        if number.isdecimal():
            yield int(number)


def bundles_of(directory: Path, run_id: str = "*") -> dict[str, str]:
    """The first bundle of each dedupe key, as a path in the soak's directory."""
    found: dict[str, str] = {}
    for path in sorted((directory / LEGS).glob(f"{run_id}/{BUNDLES}/*/{BUNDLE}")):
        with suppress(BundleError):
            found.setdefault(read_bundle(path).key, str(path.parent.relative_to(directory)))
    return found
