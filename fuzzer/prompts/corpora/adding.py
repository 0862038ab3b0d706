"""A corpus of one's own made a named one: ``corpora/NAME.jsonl`` in the working directory, with a card beside it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fuzzer.errors import UsageError
from fuzzer.prompts.corpora.loading import LIMIT, Corpus, load, load_valid
from fuzzer.prompts.corpora.rows import Row
from fuzzer.prompts.corpora.sources import ADDED

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Added:
    """What was written, and how many of the rows that were drawn could not be asked and were left out."""

    path: Path
    card: Path
    corpus: Corpus
    left_out: int


def add(
    corpus: str, name: str, *, limit: int = LIMIT, seed: int = 0, licence: str = "", skip_bad: bool = False
) -> Added:
    """Write the rows of a corpus, or ``limit`` of them drawn by the seed, with the fields that their formats read.

    UsageError if a row cannot be asked (unless ``skip_bad``), or if the name is taken: nothing is written over.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name!r}: use letters, digits, dots and dashes, for example --name my-log")
    path, card = ADDED / f"{name}.jsonl", ADDED / f"{name}.md"
    for taken in (path, card):
        if taken.exists():
            raise UsageError(f"--name {name}: {taken} exists already; choose another name, or remove it first")
    loaded, left_out = load_valid(corpus, seed, limit) if skip_bad else (load(corpus, seed, limit), 0)
    ADDED.mkdir(exist_ok=True)
    with path.open("x", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row.kept, ensure_ascii=False, default=str)}\n" for row in loaded.rows)
    with card.open("x", encoding="utf-8") as file:
        file.write(_card(name, loaded, seed, licence, left_out))
    return Added(path, card, loaded, left_out)


def _card(name: str, corpus: Corpus, seed: int, licence: str, left_out: int) -> str:
    drawn = f"{len(corpus.rows):,} of {corpus.total:,} rows, drawn by seed {seed}"
    size = drawn if len(corpus.rows) + left_out < corpus.total else f"{len(corpus.rows):,} rows"
    without = f" ({left_out:,} that could not be asked were left out)" if left_out else ""
    return (
        f"# Corpus `{name}`\n\n"
        f"For `specfuzz gate --corpus {name}`; written by `specfuzz corpus add`.\n\n"
        f"{_table(corpus.rows)}\n"
        f"- **Source**: `{corpus.given}`.\n"
        f"- **Size**: {size}{without}.\n"
        f"- **Licence**: {licence or 'not stated'}.\n"
    )


def _table(rows: Sequence[Row]) -> str:
    kinds = Counter((row.format, row.family, row.check) for row in rows)
    lines = [
        f"| {format_} | {family or '-'} | {check or 'no known answer'} | {count:,} |\n"
        for (format_, family, check), count in kinds.items()
    ]
    return "| format | family | check | rows |\n|---|---|---|---|\n" + "".join(lines)
