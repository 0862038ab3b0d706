"""Where a corpus comes from: a shipped or added name, a file, a folder of files, or a data set on the hub."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fuzzer.errors import UsageError
from fuzzer.prompts.corpora import tables
from fuzzer.prompts.corpora.jsontext import Entry, read_json
from fuzzer.prompts.corpora.rows import SourceError, Where
from fuzzer.prompts.corpora.sampling import Batch

ADDED = Path("corpora")  # of the working directory: what `specfuzz corpus add` writes
HUB = "hf:"

_PACKAGE = Path(__file__).resolve().parents[2]
_READERS: Mapping[str, Callable[[Path], Iterator[Batch[Entry]]]] = {
    ".jsonl": read_json,
    ".ndjson": read_json,
    ".json": read_json,
    ".csv": tables.read_csv,
    ".parquet": tables.read_parquet,
}
_KINDS = ".jsonl, .json, .csv or .parquet"


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus that was found. ``given`` is how it was asked for, ``files`` are empty for one on the hub."""

    given: str
    name: str
    files: tuple[Path, ...]

    def batches(self) -> Iterator[Batch[Entry]]:
        """All entries, a batch at a time, from the start; SourceError where a file cannot be read on."""
        if not self.files:
            yield from tables.read_hub(self.given)
        for path in self.files:
            try:
                yield from _READERS[path.suffix.lower()](path)
            except OSError as error:
                raise SourceError(Where(str(path)), f"cannot be read: {error.strerror}") from error


def find(corpus: str) -> Source:
    """The source that a name, path or hub id stands for; UsageError if there is none."""
    if corpus.startswith(HUB):
        return Source(corpus, tables.hub_name(corpus), ())
    path = Path(corpus)
    if path.suffix.lower() in _READERS or os.sep in corpus:
        return _at(corpus, path)
    for folder in (ADDED, home()):
        if (folder / f"{corpus}.jsonl").is_file():
            return Source(corpus, corpus, (folder / f"{corpus}.jsonl",))
    if path.is_dir():
        return _at(corpus, path)
    known = ", ".join((*added(), *shipped()))
    raise UsageError(
        f"--corpus {corpus!r} is unknown; give {known}, a path such as mine.jsonl or ./folder, or {HUB}OWNER/NAME"
    )


def shipped() -> tuple[str, ...]:
    """The names of the corpora that come with specfuzz."""
    return _names(home())


def added() -> tuple[str, ...]:
    """The names of the corpora that were added in the working directory."""
    return _names(ADDED) if ADDED.resolve() != home() else ()


def home() -> Path:
    """The folder of the shipped corpora."""
    installed = _PACKAGE / "_corpora"
    return installed if installed.is_dir() else _PACKAGE.parent / "corpora"


def _names(folder: Path) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in folder.glob("*.jsonl")))


def _at(corpus: str, path: Path) -> Source:
    return Source(corpus, path.resolve().stem, tuple(_files(corpus, path)))


def _files(corpus: str, path: Path) -> Iterator[Path]:
    if path.is_dir():
        found = [each for each in sorted(path.rglob("*")) if each.suffix.lower() in _READERS and each.is_file()]
        if not found:
            raise UsageError(f"--corpus {corpus}: the folder holds no {_KINDS} file")
        yield from found
    elif not path.is_file():
        raise UsageError(f"--corpus {corpus}: there is no such file or folder")
    elif path.suffix.lower() not in _READERS:
        raise UsageError(f"--corpus {corpus}: the name ends in none of {_KINDS}; rename it, for example to mine.jsonl")
    else:
        yield path
