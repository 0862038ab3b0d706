"""Findings grouped by dedupe key: counts, the strongest certainty, one example; never all of them in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fuzzer.finding import CERTAINTIES, Finding

Fault = tuple[str, str]  # oracle kind and sub-kind


@dataclass(slots=True)
class Group:
    """All findings of one dedupe key."""

    example: Finding
    count: int = 0
    certain: int = 0
    cells: Counter[str] = field(default_factory=Counter)

    def add(self, finding: Finding) -> None:
        """One more."""
        if CERTAINTIES.index(finding.certainty) < CERTAINTIES.index(self.example.certainty):
            self.example = finding
        self.count += 1
        self.certain += finding.certainty == "certain"
        self.cells[finding.cell] += 1


class Groups:
    """The findings of a run, by key in the order they first appeared."""

    def __init__(self) -> None:
        self.by_key: dict[str, Group] = {}
        self._certain: dict[tuple[str, str], set[Fault]] = {}

    def add(self, finding: Finding) -> None:
        """Count a finding."""
        group = self.by_key.get(finding.key)
        if group is None:
            group = self.by_key[finding.key] = Group(finding)
        group.add(finding)
        if finding.certainty == "certain":
            self._certain.setdefault((finding.arm, finding.endpoint), set()).add((finding.kind, finding.sub_kind))

    def faults(self, arm: str, endpoint: str) -> set[Fault]:
        """The certain faults (oracle kind, sub-kind) that an endpoint showed."""
        return self._certain.get((arm, endpoint), set())

    def count(self, key: str) -> int:
        """How many findings bear this key."""
        group = self.by_key.get(key)
        return group.count if group else 0
