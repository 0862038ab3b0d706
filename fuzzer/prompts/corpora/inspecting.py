"""All that can be said of a corpus before anything is sent: what is wrong, what stands twice, what looks alike."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fuzzer.prompts.corpora.alike import METHOD, near
from fuzzer.prompts.corpora.jsontext import Entry
from fuzzer.prompts.corpora.loading import LIMIT, Ids, faults, read
from fuzzer.prompts.corpora.rows import Fault, Row, RowError, SourceError, Where
from fuzzer.prompts.corpora.sampling import Batch, sample
from fuzzer.prompts.corpora.sources import find

MOST = 100  # of anything that is listed; the rest is counted
_ALIKE = {"own": "messages"}  # rows with and without a known answer may stand in one file


@dataclass(frozen=True, slots=True)
class NearPair:
    """Two questions that are nearly the same, and whose answers cannot tell them apart."""

    first: Where
    second: Where
    likeness: float


@dataclass(frozen=True, slots=True)
class Shared:
    """Rows that the same replies answer: bleed between them cannot be attributed by the answer."""

    answer: str
    rows: tuple[Where, ...]


@dataclass(slots=True)
class Inspection:
    """What was found. Lists hold MOST entries at most, the counts beside them count all.

    ``compared`` rows were looked at for likeness and shared answers: all valid ones, or a sample of LIMIT.
    """

    given: str
    total: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    families: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    problems: list[Fault] = field(default_factory=list)
    problem_count: int = 0
    compared: int = 0
    near: list[NearPair] = field(default_factory=list)
    near_count: int = 0
    shared: list[Shared] = field(default_factory=list)
    shared_count: int = 0

    @property
    def valid(self) -> int:
        """How many rows can be asked."""
        return self.formats.total()

    @property
    def checkable(self) -> int:
        """How many rows have an answer that can be right or wrong."""
        return self.valid - self.checks[""]

    def add_problem(self, fault: Fault) -> None:
        """Count one thing that is wrong, and keep it while there is room."""
        self.problem_count += 1
        if len(self.problems) < MOST:
            self.problems.append(fault)


def inspect(corpus: str, seed: int = 0) -> Inspection:
    """Read all of a corpus, whatever its size; UsageError only if there is none of that name."""
    source = find(corpus)
    found = Inspection(corpus)
    kept = sample(_valid(source.batches(), found), LIMIT, f"{seed}/check/{source.name}").items
    if not found.total and not found.problem_count:
        found.add_problem(Fault(Where(corpus), "", "holds no rows"))
    found.compared = len(kept)
    _likeness(kept, found)
    _shared_answers(kept, found)
    return found


def _valid(batches: Iterable[Batch[Entry]], found: Inspection) -> Iterator[list[Row]]:
    """The rows that can be asked; what is wrong with the others is added to what was found."""
    ids, twice, mixed = Ids(), _Twice(), _Mixed()
    try:
        for batch in batches:
            rows = []
            for place in range(len(batch)):
                entry = batch[place]
                found.total += 1
                try:
                    row = read(entry, ids)
                except RowError as error:
                    for fault in faults(error, entry.where):
                        found.add_problem(fault)
                    continue
                for fault in (*twice.add(row), *mixed.add(row)):
                    found.add_problem(fault)
                found.formats[row.format] += 1
                found.families[row.family] += 1
                found.checks[row.check] += 1
                rows.append(row)
            yield rows
    except SourceError as error:
        found.add_problem(error.fault)


class _Twice:
    """Questions that stood before, to the letter."""

    def __init__(self) -> None:
        self._seen: dict[bytes, Where] = {}

    def add(self, row: Row) -> Iterator[Fault]:
        said = [
            [message.role, message.content, [call.arguments for call in message.tool_calls]] for message in row.messages
        ]
        first = self._seen.setdefault(hashlib.blake2b(json.dumps(said).encode(), digest_size=12).digest(), row.where)
        if first != row.where:
            yield Fault(row.where, "", f"the same question as {_at(first, row.where)}")


class _Mixed:
    """The formats of each file."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = defaultdict(set)

    def add(self, row: Row) -> Iterator[Fault]:
        before, this = self._seen[row.where.source], _ALIKE.get(row.format, row.format)
        if before and this not in before:
            yield Fault(
                row.where,
                "",
                f"of the format {this}, and rows before it are {', '.join(sorted(before))}: mixed formats",
            )
        before.add(this)


def _likeness(rows: Sequence[Row], found: Inspection) -> None:
    for pair in near([row.asked for row in rows]):
        first, second = rows[pair.first], rows[pair.second]
        if first.checkable and second.checkable and _key(first) != _key(second):
            continue
        found.near_count += 1
        if len(found.near) < MOST:
            found.near.append(NearPair(first.where, second.where, round(pair.likeness, 1)))


def _shared_answers(rows: Sequence[Row], found: Inspection) -> None:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.checkable:
            groups[_key(row)].append(row)
    for group in groups.values():
        if len(group) > 1:
            found.shared_count += 1
            if len(found.shared) < MOST:
                found.shared.append(Shared(_answer(group[0]), tuple(row.where for row in group)))


def _key(row: Row) -> str:
    """Equal for rows whose checks accept the same replies."""
    spec = {name: value for name, value in row.spec.items() if name != "stub"}
    return json.dumps([row.check, spec], sort_keys=True).casefold()


def _answer(row: Row) -> str:
    """What the check asks for, in short."""
    if row.check == "ifeval":
        return json.dumps(row.spec["instructions"])
    return row.answer if row.check != "entry-point" else str(row.spec["entry_point"] or "any function")


def report(found: Inspection) -> Iterator[str]:
    """What was found, line by line, for people."""
    checked = {check or "no known answer": count for check, count in found.checks.items()}
    yield f"{found.given}: {found.total:,} rows, {found.valid:,} valid"
    yield f"  formats: {_counts(found.formats) or 'none'}; checked by: {_counts(checked) or 'nothing'}"
    yield f"problems: {found.problem_count or 'none'}"
    yield from (f"  {problem}" for problem in found.problems)
    yield from _more(found.problem_count)
    yield f"near-duplicates: {found.near_count or 'none'} among {found.compared:,} rows ({METHOD})"
    yield from (
        f"  {pair.first} and {_at(pair.second, pair.first)}: {pair.likeness:.0f} % alike" for pair in found.near
    )
    yield from _more(found.near_count)
    yield f"shared answers: {found.shared_count or 'none'} (between rows of one answer, the answer tells no bleed)"
    yield from (f"  {each.answer[:60]!r}: {_places(each.rows)}" for each in found.shared)
    yield from _more(found.shared_count)


def as_json(found: Inspection) -> dict[str, Any]:
    """The same for machines."""
    counts = {name: dict(getattr(found, name)) for name in ("formats", "families", "checks")}
    return {"schema_version": 1, **asdict(found), **counts, "valid": found.valid, "checkable": found.checkable}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda each: -each[1]))


def _more(count: int) -> Iterator[str]:
    if count > MOST:
        yield f"  ... and {count - MOST:,} more"


def _at(where: Where, seen_from: Where) -> str:
    """A place as short as it can be told beside another."""
    return f"{where.unit} {where.number}" if where.source == seen_from.source else str(where)


def _places(rows: Sequence[Where]) -> str:
    shown = ", ".join((str(rows[0]), *(_at(each, rows[0]) for each in rows[1:8])))
    return shown if len(rows) <= 8 else f"{shown} and {len(rows) - 8} more"
