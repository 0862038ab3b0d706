"""The corpora that go by name, with what is in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from fuzzer.errors import UsageError
from fuzzer.prompts.corpora.loading import load
from fuzzer.prompts.corpora.sources import added, shipped


@dataclass(frozen=True, slots=True)
class Known:
    """A corpus that goes by name. ``checkable`` rows have an answer; ``problem`` says why it cannot be used, or ""."""

    name: str
    origin: Literal["shipped", "added"]
    rows: int = 0
    checkable: int = 0
    formats: Mapping[str, int] = field(default_factory=dict)
    families: Mapping[str, int] = field(default_factory=dict)
    checks: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


def as_json(each: Known) -> dict[str, Any]:
    """The same for machines."""
    return asdict(each)


def known() -> list[Known]:
    """All of them, added ones first: they win over shipped ones of the same name."""
    own = added()
    return [_known(name, "added") for name in own] + [_known(name, "shipped") for name in shipped() if name not in own]


def _known(name: str, origin: Literal["shipped", "added"]) -> Known:
    try:
        corpus = load(name)
    except UsageError as error:
        return Known(name, origin, problem=str(error))
    rows = corpus.rows
    return Known(
        name,
        origin,
        rows=corpus.total,
        checkable=sum(row.checkable for row in rows),
        formats=dict(Counter(row.format for row in rows)),
        families=dict(Counter(row.family for row in rows if row.family)),
        checks=dict(Counter(row.check for row in rows if row.check)),
    )
