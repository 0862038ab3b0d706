"""CSV, Parquet and hub data sets, streamed through ``datasets`` a batch of rows at a time."""

from __future__ import annotations

import csv
import glob
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzer.errors import UsageError
from fuzzer.prompts.corpora.jsontext import Entry
from fuzzer.prompts.corpora.rows import SourceError, Where

SCAN = 1_000_000  # rows of a hub data set that are looked at: all of them come over the network
_ROWS = 1_000  # a batch
_SPLITS = ("test", "validation", "train")  # the first that there is, where none is asked for
_HUB = re.compile(r"hf:([\w.-]+(?:/[\w.-]+)?)(?::([\w.+-]+))?(?:@([\w.+-]+))?")
_LOGS = ("datasets", "huggingface_hub", "fsspec", "httpx")


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch of an Arrow table; a row becomes an entry only when it is asked for. ``first`` is its first number."""

    source: str
    table: Any
    first: int

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __getitem__(self, place: int, /) -> Entry:
        (row,) = self.table.slice(place, 1).to_pylist()
        given = {name: _without_nulls(value) for name, value in row.items() if value not in (None, "")}
        return Entry(Where(self.source, "row", self.first + place), given)


def _without_nulls(value: Any) -> Any:
    """Objects without the fields that only other rows have: Arrow gives all objects of a column the same fields."""
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def read_csv(path: Path) -> Iterator[Rows]:
    """The rows below the header, every cell as text; SourceError where the file cannot be read on."""
    import datasets

    with _told(str(path)), path.open(encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file), [])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SourceError(Where(str(path), "line", 1), f"the column {twice!r} stands twice")
    if names:
        features = datasets.Features({name: datasets.Value("string") for name in names})
        yield from _local("csv", path, features=features, na_filter=False)


def read_parquet(path: Path) -> Iterator[Rows]:
    """The rows of a Parquet file; SourceError where it cannot be read."""
    yield from _local("parquet", path)


def read_hub(given: str) -> Iterator[Rows]:
    """The first SCAN rows of a hub data set, ``hf:OWNER/NAME[:CONFIG][@SPLIT]``.

    UsageError if there is no network, no such data set, or a configuration has to be chosen.
    """
    import datasets

    name, config, split = _hub_parts(given)
    with _quiet():
        try:
            found = datasets.load_dataset(name, config, split=split, streaming=True)
        except Exception as error:
            raise UsageError(f"--corpus {given}: {_why_not(error)}") from error
    if split is None:
        split = next((each for each in _SPLITS if each in found), next(iter(found)))
        found = found[split]
    source = f"hf:{name}{f':{config}' if config else ''}@{split}"
    yield from _stream(source, found.take(SCAN))


def hub_name(given: str) -> str:
    """What a hub data set is called without its owner; UsageError if it is not written as it should be."""
    return _hub_parts(given)[0].rpartition("/")[2]


def _hub_parts(given: str) -> tuple[str, str | None, str | None]:
    match = _HUB.fullmatch(given)
    if not match:
        raise UsageError(
            f"--corpus {given}: write hf:OWNER/NAME[:CONFIG][@SPLIT], for example hf:openai/gsm8k:main@test"
        )
    name, config, split = match.groups()
    return name, config, split


def _local(kind: str, path: Path, **options: Any) -> Iterator[Rows]:
    import datasets

    with _told(str(path)), _quiet():
        files = [glob.escape(str(path.resolve()))]
        found = datasets.load_dataset(kind, data_files=files, split="train", streaming=True, **options)
    yield from _stream(str(path), found)


def _stream(source: str, found: Any) -> Iterator[Rows]:
    row = 1
    with _told(source), _quiet():
        for table in found.with_format("arrow").iter(batch_size=_ROWS):
            yield Rows(source, table, row)
            row += table.num_rows


@contextmanager
def _told(source: str) -> Iterator[None]:
    """Whatever the libraries raise on a file becomes a SourceError."""
    try:
        yield
    except (SourceError, GeneratorExit):
        raise
    except UnicodeDecodeError as error:
        raise SourceError(Where(source), f"not UTF-8 ({error.reason}); save the file as UTF-8") from error
    except Exception as error:
        raise SourceError(Where(source), f"cannot be read: {_first_line(error.__cause__ or error)}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """No progress bars and no log lines: what matters is raised."""
    import datasets

    bars = datasets.are_progress_bars_disabled()
    loggers = [logging.getLogger(name) for name in _LOGS]
    levels = [logger.level for logger in loggers]
    datasets.disable_progress_bars()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if not bars:
            datasets.enable_progress_bars()


def _why_not(error: Exception) -> str:
    import datasets

    if isinstance(error, datasets.exceptions.DatasetNotFoundError):
        return "the hub has no such data set, or it is private: check the name, and for a private one the login"
    if isinstance(error, ConnectionError):
        return "the hub cannot be reached: without a network, give a file or a folder that holds the data set"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:3])[:300] if lines else type(error).__name__
