"""A run's exchanges, prompts and findings as tables, for notebooks and databases; written as they are read.

Parquet holds every text as it came (half surrogates, which UTF-8 cannot hold, become ``?``). In CSV a text that a
spreadsheet would run as a formula is given a leading apostrophe. Texts of a redacted run are left empty.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fuzzer.errors import HistoryError
from fuzzer.finding import Finding, read_findings
from fuzzer.history.journal import exchanges, read_history
from fuzzer.history.records import Exchange, Prompt
from fuzzer.manifest import FINDINGS, HISTORY, read_manifest
from fuzzer.report.redact import redacted_finding

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS: Final = ("csv", "parquet")
ROWS: Final = 1_000  # in a batch, at most
CHARACTERS: Final = 4_000_000  # of text in a batch, at most, but for the last row's

Row = dict[str, Any]

_EXCHANGES: Final = {
    "key": "text", "arm": "text", "endpoint": "text", "cell": "text", "phase": "text", "block": "int",
    "pass_index": "int", "index": "int", "round": "int", "prompt": "text", "concurrency": "int", "exposure": "int",
    "cache": "text", "stream": "bool", "max_tokens": "int", "sent_ns": "int", "first_ns": "int", "end_ns": "int",
    "in_flight": "int", "min_in_flight": "int", "max_in_flight": "int", "outcome": "text", "http_status": "int",
    "finish_reason": "text", "prompt_tokens": "int", "completion_tokens": "int", "cached_tokens": "int",
    "drafted": "int", "accepted": "int", "parts": "int", "detail": "text", "text": "text", "reasoning": "text",
    "tool_arguments": "text",
}  # fmt: skip
_PROMPTS: Final = {
    "id": "text", "family": "text", "level": "text", "checkable": "bool", "attributable": "bool", "messages": "text",
    "answer": "text",
}  # fmt: skip
_FINDINGS: Final = {
    "key": "text", "kind": "text", "sub_kind": "text", "certainty": "text", "arm": "text", "endpoint": "text",
    "cell": "text", "phase": "text", "exchange": "text", "prompt": "text", "donor_prompt": "text",
    "donor_exchange": "text", "donor_channel": "text", "donor_when": "text", "donor_span": "text", "also": "text",
    "spared": "text", "summary": "text",
}  # fmt: skip
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def export_run(directory: Path, formats: Sequence[str], out: Path) -> Iterator[tuple[Path, int]]:
    """Write three tables in each of these formats into ``out``; yields each path and how many rows it holds.

    Raises HistoryError where the run cannot be read or a table cannot be written.
    """
    redacted = read_manifest(directory).plan.redact_content
    for kind in formats:
        tables: tuple[tuple[str, dict[str, str], Iterator[Row]], ...] = (
            (
                "exchanges",
                _EXCHANGES,
                (_exchange(one, redacted) for one in exchanges(read_history(directory / HISTORY))),
            ),
            ("prompts", _PROMPTS, _prompts(directory / HISTORY, redacted)),
            ("findings", _FINDINGS, _findings(directory / FINDINGS, redacted)),
        )
        for name, columns, found in tables:
            path = out / f"{name}.{kind}"
            try:
                out.mkdir(parents=True, exist_ok=True)
                yield path, _write(path, kind, columns, found)
            except OSError as error:
                raise HistoryError(f"cannot write {path}: {error.strerror or error}") from error


def _write(path: Path, kind: str, columns: dict[str, str], found: Iterator[Row]) -> int:
    """Write the rows through another file in the same directory, a batch at a time; how many there were."""
    import pyarrow as pa

    types: dict[str, pa.DataType] = {"text": pa.string(), "int": pa.int64(), "bool": pa.bool_()}
    schema = pa.schema([(name, types[column]) for name, column in columns.items()])
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    total = 0
    try:
        with _writer(draft, kind, schema) as writer:
            for batch in batches(found):
                fit = [{name: _fit(value, kind) for name, value in row.items()} for row in batch]
                writer.write_batch(pa.RecordBatch.from_pylist(fit, schema=schema))
                total += len(batch)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return total


def _writer(path: Path, kind: str, schema: pa.Schema) -> AbstractContextManager[Any]:
    if kind == "csv":
        from pyarrow.csv import CSVWriter

        writer: AbstractContextManager[Any] = CSVWriter(str(path), schema)
        return writer
    from pyarrow.parquet import ParquetWriter

    columnar: AbstractContextManager[Any] = ParquetWriter(str(path), schema, compression="zstd")
    return columnar


def batches(found: Iterable[Row]) -> Iterator[list[Row]]:
    """The rows in lists that are bounded by number and by how much text they hold."""
    batch: list[Row] = []
    size = 0
    for row in found:
        batch.append(row)
        size += sum(len(value) for value in row.values() if isinstance(value, str))
        if len(batch) >= ROWS or size >= CHARACTERS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _fit(value: object, kind: str) -> object:
    if not isinstance(value, str):
        return value
    text = value.encode("utf-8", "replace").decode("utf-8")
    return f"'{text}" if kind == "csv" and text.startswith(_FORMULA) else text


def _exchanges(history: Path, redacted: bool) -> Iterator[Row]:
    for exchange in exchanges(read_history(history)):
        yield _exchange(exchange, redacted)


def _exchange(exchange: Exchange, redacted: bool) -> Row:
    sent, done, received = exchange.sent, exchange.done, exchange.received
    row: Row = {name: getattr(sent, name) for name in _EXCHANGES if hasattr(sent, name)}
    if done is None or received is None:
        return row | {"outcome": "lost"}
    row |= {name: getattr(received, name) for name in _EXCHANGES if hasattr(received, name)}
    row |= {"min_in_flight": done.min_in_flight, "max_in_flight": done.max_in_flight}
    if received.usage is not None:
        row |= {name: getattr(received.usage, name) for name in ("prompt_tokens", "completion_tokens", "cached_tokens")}
    if received.draft is not None:
        row |= {"drafted": received.draft.drafted, "accepted": received.draft.accepted}
    return row | dict.fromkeys(("detail", "text", "reasoning", "tool_arguments")) if redacted else row


def _prompts(history: Path, redacted: bool) -> Iterator[Row]:
    for record in read_history(history):
        if isinstance(record, Prompt):
            row: Row = {name: getattr(record, name) for name in _PROMPTS if name != "messages"}
            messages = json.dumps([message.model_dump(mode="json") for message in record.messages], ensure_ascii=False)
            yield row | ({"answer": None} if redacted else {"messages": messages})


def _findings(path: Path, redacted: bool) -> Iterator[Row]:
    for found in read_findings(path) if path.exists() else ():
        yield _finding(redacted_finding(found) if redacted else found)


def _finding(found: Finding) -> Row:
    row: Row = {name: getattr(found, name) for name in _FINDINGS if hasattr(found, name)}
    if found.donor is not None:
        row |= {f"donor_{name}": value for name, value in found.donor.model_dump().items()}
    return row | {"also": ", ".join(found.also), "spared": ", ".join(found.spared)}
