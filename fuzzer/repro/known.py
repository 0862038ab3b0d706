"""What several runs found, grouped: each kind of finding once, with when and how often it was seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.finding import CERTAINTIES, Certainty, Finding, read_findings, unbundled
from fuzzer.history.messages import Record
from fuzzer.manifest import FINDINGS, MANIFEST, Manifest, read_manifest
from fuzzer.repro.bundle import BUNDLE, BundleError, read_bundle
from fuzzer.repro.collect import BUNDLES


class Known(Record):
    """One kind of finding over several runs.

    Findings are grouped by oracle, sub-kind, the evidence's channel, endpoint and schedule, never by text. ``runs`` of
    ``looked`` runs show it, ``count`` findings in all; ``bundle`` is the smallest one, of ``size`` requests;
    where there is none and can be none, ``unbundled`` says why.
    """

    key: str
    schedule: str
    certainty: Certainty
    first_seen: str
    last_seen: str
    runs: int
    looked: int
    count: int
    bundle: str = ""
    size: int | None = None
    unbundled: str = ""

    @property
    def steady(self) -> str:
        """Whether every run shows it, or how many of them do."""
        return "in every run" if self.runs == self.looked else f"flaky: in {self.runs} of {self.looked} runs"


@dataclass(slots=True)
class _Group:
    certainty: int = len(CERTAINTIES) - 1  # its place among them
    count: int = 0
    seen: dict[str, str] = field(default_factory=dict)  # run id -> when it began
    unbundled: set[str] = field(default_factory=set)


def known(directories: Sequence[Path]) -> list[Known]:
    """The groups of these runs' candidates, the surest and most frequent first; other directories are passed over.

    Raises HistoryError for a run that cannot be read, and where there is none.
    """
    groups: dict[tuple[str, str], _Group] = {}
    bundles: dict[str, tuple[int, str]] = {}
    runs = [directory for directory in directories if (directory / MANIFEST).exists()] or directories
    for directory in runs:
        manifest = read_manifest(directory)
        schedules = {cell.key: cell.schedule for cell in manifest.plan.cells()}
        for finding in read_findings(directory / FINDINGS):
            if finding.arm != "candidate":
                continue
            place = (finding.key, schedules.get(finding.cell, finding.cell.rpartition("/")[2]))
            _add(groups.setdefault(place, _Group()), manifest, finding)
        for key, size, path in _bundles(directory):
            bundles[key] = min(bundles.get(key, (size, path)), (size, path))
    rows = [_row(place, group, bundles, len(runs)) for place, group in groups.items()]
    return sorted(
        rows, key=lambda row: (CERTAINTIES.index(row.certainty), -row.runs, -row.count, row.key, row.schedule)
    )


def _add(group: _Group, manifest: Manifest, finding: Finding) -> None:
    group.certainty = min(group.certainty, CERTAINTIES.index(finding.certainty))
    group.unbundled.add(unbundled(finding))
    group.count += 1
    group.seen[manifest.run_id] = manifest.started


def _bundles(directory: Path) -> Iterable[tuple[str, int, str]]:
    for path in sorted((directory / BUNDLES).glob(f"*/{BUNDLE}")):
        try:
            bundle = read_bundle(path)
        except BundleError:
            continue  # a damaged one is nobody's smallest
        yield bundle.key, bundle.cohort.size, str(path.parent)


def _row(place: tuple[str, str], group: _Group, bundles: dict[str, tuple[int, str]], looked: int) -> Known:
    size, path = bundles.get(place[0], (None, ""))
    moments = sorted(group.seen.values())
    return Known(
        key=place[0],
        schedule=place[1],
        certainty=CERTAINTIES[group.certainty],
        first_seen=moments[0],
        last_seen=moments[-1],
        runs=len(group.seen),
        looked=looked,
        count=group.count,
        bundle=path,
        size=size,
        unbundled="" if path else min(group.unbundled),  # "" as soon as one of them could have had one
    )
