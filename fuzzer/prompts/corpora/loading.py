"""From a source to the rows of a run: all of a small one, as many as a run can take of a large one, drawn by seed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from fuzzer.errors import UsageError
from fuzzer.prompts.corpora.formats import FORMATS, read_row
from fuzzer.prompts.corpora.jsontext import Entry
from fuzzer.prompts.corpora.rows import Fault, Row, RowError, SourceError, Where
from fuzzer.prompts.corpora.sampling import Sample, sample
from fuzzer.prompts.corpora.sources import Source, find
from fuzzer.prompts.corpora.tables import SCAN
from fuzzer.prompts.corpora.weaving import check, prompt

LIMIT = 5_000  # rows of one corpus that a run can take


@dataclass(frozen=True, slots=True)
class Corpus:
    """The rows of a corpus that a run takes, in the order of the source, out of ``total``."""

    name: str
    given: str
    rows: tuple[Row, ...]
    total: int

    @property
    def note(self) -> str:
        """One line on how much of it was taken, and what was validated."""
        if self.total == len(self.rows):
            return f"corpus {self.given}: {self.total:,} rows, all of them valid"
        of = f"the first {SCAN:,}" if self.given.startswith("hf:") and self.total == SCAN else f"{self.total:,}"
        return f"corpus {self.given}: {len(self.rows):,} of {of} rows, drawn by seed; only these were validated"


def load(corpus: str, seed: int = 0, limit: int = LIMIT) -> Corpus:
    """A corpus by name, path or hub id. UsageError says which line is bad, and why.

    More than ``limit`` rows are sampled: the same seed takes the same rows.
    """
    loaded, wrong, example = _load(corpus, seed, limit)
    if wrong:
        more = f" (and {len(wrong) - 1:,} more: specfuzz corpus check {corpus})" if len(wrong) > 1 else ""
        raise UsageError(f"{_told(corpus, wrong[0])}{more}{example}")
    return loaded


def load_valid(corpus: str, seed: int = 0, limit: int = LIMIT) -> tuple[Corpus, int]:
    """The rows that can be asked, and how many of those that were drawn cannot; UsageError if none can."""
    loaded, wrong, _ = _load(corpus, seed, limit)
    if not loaded.rows:
        raise UsageError(f"{_told(corpus, wrong[0])} (and no other row can be asked)")
    return loaded, len({fault.where for fault in wrong})


def _load(corpus: str, seed: int, limit: int) -> tuple[Corpus, list[Fault], str]:
    source = find(corpus)
    try:
        drawn = draw(source, seed, limit)
    except SourceError as error:
        raise UsageError(_told(corpus, error.fault)) from error
    rows, wrong, example = read_all(drawn.items)
    if not rows and not wrong:
        raise UsageError(f"--corpus {corpus}: it holds no rows; a row looks like {FORMATS['own'].example}")
    return Corpus(source.name, corpus, rows, drawn.total), wrong, example


def draw(source: Source, seed: int, limit: int) -> Sample[Entry]:
    """At most ``limit`` entries of a source; SourceError where it cannot be read on."""
    return sample(source.batches(), limit, f"{seed}/corpus/{source.name}")


def read_all(entries: Iterable[Entry]) -> tuple[tuple[Row, ...], list[Fault], str]:
    """The rows, all that is wrong with them, and an example of the format in which the first mistake was made."""
    rows: list[Row] = []
    wrong: list[Fault] = []
    example = ""
    ids = Ids()
    for entry in entries:
        try:
            rows.append(read(entry, ids))
        except RowError as error:
            shown = FORMATS.get(error.format_name)
            example = example or (f"; a row looks like {shown.example}" if shown else "")
            wrong += faults(error, entry.where)
    return tuple(rows), wrong, example


def read(entry: Entry, ids: Ids) -> Row:
    """The row of an entry, with an answer that its own check accepts and an id of its own; RowError otherwise."""
    row = read_row(entry.fields(), entry.where)
    wrong = [*_refused(row), *ids.add(row)]
    if wrong:
        raise RowError(*wrong, format_name=row.format)
    return row


def faults(error: RowError, where: Where) -> list[Fault]:
    """All that is wrong with a row, with its place."""
    return [Fault(where, field, reason) for field, reason in error.faults]


class Ids:
    """The ids that stood before, in each file; a traffic log may repeat one."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str, str], int] = {}

    def add(self, row: Row) -> list[tuple[str, str]]:
        """What is wrong with the row's id: nothing, or that another row has it."""
        if not row.id or not FORMATS[row.format].numbered:
            return []
        first = self._seen.setdefault((row.where.source, row.format, row.id), row.where.number)
        if first == row.where.number:
            return []
        return [(row.id_field, f"{row.id!r} is the id of {row.where.unit} {first}, too")]


def _told(corpus: str, fault: Fault) -> str:
    return f"--corpus {fault}" if fault.where.source == corpus else f"--corpus {corpus}: {fault}"


def _refused(row: Row) -> list[tuple[str, str]]:
    if not row.answer:
        return []
    grade = check(prompt("tried", row, random.Random(0), "p0"), row.answer)
    return (
        [] if grade.passed else [("answer", f"its own check ({row.check}) refuses {row.answer[:40]!r}: {grade.note}")]
    )
