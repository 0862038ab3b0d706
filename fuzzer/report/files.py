"""The files that a run leaves: ``summary.json``, ``report.html``, ``report.md``, ``junit.xml``; each whole or not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from fuzzer.errors import HistoryError
from fuzzer.events import Event, RunFinished, RunStarted
from fuzzer.finding import read_findings
from fuzzer.inert import inert_json
from fuzzer.manifest import FINDINGS
from fuzzer.report.junit import junit
from fuzzer.report.markdown import markdown
from fuzzer.report.page import html
from fuzzer.report.redact import redact, redacted_finding, shareable
from fuzzer.report.text import clean
from fuzzer.summary import SCHEMA_VERSION, Summary

__all__ = ["ReportFiles", "load_summary", "redact", "summary_json", "write_reports"]

SUMMARY = "summary.json"
_JSON: TypeAdapter[JsonValue] = TypeAdapter(JsonValue)


class ReportFiles:
    """Listens to a run and writes its reports before anybody prints them: a broken pipe then costs no file."""

    def __init__(self) -> None:
        self._directory: Path | None = None

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, RunStarted):
            self._directory = Path(event.directory)
        elif isinstance(event, RunFinished) and self._directory is not None:
            write_reports(self._directory, event.summary)


def write_reports(directory: Path, summary: Summary, sources: Sequence[Path] = ()) -> list[Path]:
    """Write the reports into a run directory and return their paths; redacted if the summary asks for that.

    ``sources`` are the directories whose histories the page shows, where it is not this one's own.
    """
    texts = {
        SUMMARY: summary_json(summary),
        "report.md": markdown(summary),
        "junit.xml": junit(summary),
        "report.html": html(summary, directory, sources),
    }
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if summary.redacted and (directory / FINDINGS).exists():
            redact_findings(directory / FINDINGS)
        return [write_whole(directory / name, text) for name, text in texts.items()]
    except OSError as error:
        raise HistoryError(f"cannot write reports into {directory}: {error.strerror or error}") from error


def summary_json(summary: Summary) -> str:
    """The summary as JSON, ending in a newline; half surrogates, which JSON text cannot hold, become ``?``."""
    shown = shareable(summary)
    try:
        return inert_json(shown.model_dump_json(indent=2)) + "\n"
    except PydanticSerializationError:
        return inert_json(_JSON.dump_json(_whole(shown.model_dump()), indent=2).decode()) + "\n"


def load_summary(path: Path) -> Summary:
    """Read a run's summary from its directory or from the file itself."""
    file = path / SUMMARY if path.is_dir() else path
    try:
        text = file.read_bytes()
    except OSError as error:
        raise HistoryError(
            f"cannot read {file}: {error.strerror or error}; judge a run that did not end: specfuzz judge DIR"
        ) from error
    try:
        return Summary.model_validate_json(text)
    except ValidationError as error:
        raise HistoryError(f"{file} is no summary of specfuzz: {_fault(text, error)}") from error


def redact_findings(path: Path) -> None:
    findings = map(redacted_finding, read_findings(path))
    write_whole(path, "".join(inert_json(finding.model_dump_json()) + "\n" for finding in findings))


def write_whole(path: Path, text: str) -> Path:
    """Write through another file in the same directory, so that no reader ever sees half a report."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def _whole(value: object) -> JsonValue:
    """Plain JSON data with every string fit for UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {str(_whole(key)): _whole(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(inner) for inner in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    raise TypeError(f"{type(value).__name__} is no JSON")


def _fault(text: bytes, error: ValidationError) -> str:
    """What is wrong with a summary, in a line: the version if that is it, else the first bad field."""
    with contextlib.suppress(ValidationError):
        found = _JSON.validate_json(text)
        version = found.get("schema_version") if isinstance(found, dict) else None
        if isinstance(version, int) and version > SCHEMA_VERSION:
            return f"schema version {version} is newer than {SCHEMA_VERSION}; it takes a newer specfuzz"
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return clean(f"{where}: {first['msg']}" if where else first["msg"], 200)
