"""From a run directory to bundles: one for each kind of finding of a failing run, the surest first."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from fuzzer.errors import SpecfuzzError
from fuzzer.events import Event, RunFinished, RunStarted
from fuzzer.finding import CERTAINTIES, Finding, read_findings
from fuzzer.history.journal import read_history
from fuzzer.history.records import Done, Exchange, Prompt, Sent, Stage
from fuzzer.history.schedule import Scheduled
from fuzzer.manifest import FINDINGS, HISTORY, Manifest, read_manifest
from fuzzer.plan import Plan
from fuzzer.report.text import clean
from fuzzer.repro.bundle import Bundle, Environment, Tally
from fuzzer.repro.issue import Tracker
from fuzzer.repro.secrets import known_secrets
from fuzzer.repro.slices import Slice, StageLog, cut, other_arm, stage_of
from fuzzer.repro.writing import bodies, write
from fuzzer.summary import Summary

BUNDLES = "bundles"
MOST = 20  # bundles of one run
FAILED = 1  # the exit status of a run that is bundled


class BundleFiles:
    """Listens to a run, and writes the bundles of one that failed.

    Whatever keeps them from being written costs one line on stderr: the run's verdict and its reports stand.
    """

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._plan: Plan | None = None

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, RunStarted):
            self._directory, self._plan = Path(event.directory), event.plan
        elif isinstance(event, RunFinished) and self._directory is not None and wanted(event.summary):
            try:
                bundle_run(self._directory, event.summary, plan=self._plan)
            except Exception as error:  # noqa: BLE001  # the summary is written after this, and must be
                told = str(error) if isinstance(error, SpecfuzzError) else f"{type(error).__name__}: {error}"
                print(f"specfuzz: no bundles of this run: {clean(told, 300)}", file=sys.stderr, flush=True)


def wanted(summary: Summary) -> bool:
    """Whether a run leaves bundles: it failed, and its prompts and answers may be shown."""
    return summary.exit_status == FAILED and not summary.redacted


def bundle_run(
    directory: Path,
    summary: Summary,
    *,
    plan: Plan | None = None,
    tracker: Tracker | None = None,
    launch_command: str = "",
) -> list[Path]:
    """Write the bundles of a run into ``directory/bundles``, the surest first; their paths.

    ``plan`` may hold the headers of the run, so that they can be taken out; the recorded one holds none.
    """
    manifest = read_manifest(directory)
    secrets = known_secrets(plan or manifest.plan)
    bundles = collect(directory, manifest, summary, launch_command=launch_command)
    return [write(bundle, directory / BUNDLES, secrets=secrets, tracker=tracker) for bundle in bundles]


def collect(directory: Path, manifest: Manifest, summary: Summary, *, launch_command: str = "") -> list[Bundle]:
    """The bundles of a run, the surest first; none for findings that concern no exchange."""
    keys = _order(summary)
    examples, counts = _examples(directory / FINDINGS, keys)
    reading = _Reading.of(directory / HISTORY, examples.values())
    environment = Environment(
        specfuzz=manifest.tool_version,
        python=manifest.python,
        libraries=manifest.libraries,
        endpoints=manifest.endpoints,
        launch_command=launch_command,
    )
    made = []
    for key in keys:
        finding = examples.get(key)
        part = reading.slice(finding, manifest) if finding is not None else None
        if finding is None or part is None:
            continue
        cell = finding.cell
        end = next((e for e in manifest.endpoints if (e.role, e.name) == (finding.arm, finding.endpoint)), None)
        sent = max(reading.judged[cell, finding.endpoint], counts[key, cell])
        known = next((item for item in summary.cells if item.key == cell), None)
        victim = next(item for item in part.seen if item.key == finding.exchange)
        made.append(
            Bundle(
                run=manifest.run_id,
                started=manifest.started,
                finding=finding,
                schedule=known.schedule if known else "calibration",
                concurrency=known.concurrency if known else victim.sent.concurrency,
                rate=Tally.of(counts[key, cell], sent, "answers in this cell"),
                cohort=part.cohort,
                bodies=bodies(part.cohort, end),
                seen=part.seen,
                stages=reading.stages_of(finding),
                environment=environment,
                scope=f"{summary.scope} This bundle is about one kind of finding of run {manifest.run_id}.",
                notes=part.notes,
            )
        )
        if len(made) == MOST:
            break
    return made


def _order(summary: Summary) -> list[str]:
    groups = [group for group in summary.findings if group.arm == "candidate" and not group.waived]
    groups.sort(key=lambda group: (CERTAINTIES.index(group.certainty), not group.breaks_gate, -group.count, group.key))
    return [group.key for group in groups]


def _examples(path: Path, keys: Iterable[str]) -> tuple[dict[str, Finding], Counter[tuple[str, str]]]:
    """The surest finding of each key, one of a measured exchange where there is one; and counts by key and cell."""
    wanted = set(keys)
    best: dict[str, tuple[tuple[int, int], Finding]] = {}
    seen: set[tuple[str, str | None]] = set()
    counts: Counter[tuple[str, str]] = Counter()
    for finding in read_findings(path):
        if finding.key not in wanted or finding.exchange is None:
            continue
        if (finding.key, finding.exchange) not in seen and finding.phase in ("measure", "calibration"):
            seen.add((finding.key, finding.exchange))
            counts[finding.key, finding.cell] += 1
        rank = (
            CERTAINTIES.index(finding.certainty),
            ("measure", "calibration").index(finding.phase) if finding.phase in ("measure", "calibration") else 2,
        )
        if finding.key not in best or rank < best[finding.key][0]:
            best[finding.key] = (rank, finding)
    return {key: finding for key, (_, finding) in best.items()}, counts


@dataclass(slots=True)
class _Reading:
    """What of a history the bundles need: the stages of the findings on both arms, and the prompts of those."""

    logs: dict[str, StageLog] = field(default_factory=dict)
    stages: dict[str, Stage] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)
    judged: Counter[tuple[str, str]] = field(default_factory=Counter)

    @classmethod
    def of(cls, path: Path, findings: Iterable[Finding]) -> _Reading:
        """Read a history twice: stages first, then the prompts that they use."""
        wanted: set[str] = set()
        needed: set[str] = set()
        for finding in findings:
            stage = stage_of(finding.exchange or "")
            wanted |= {stage, other_arm(stage, finding.arm)}
            needed |= {finding.donor.prompt} - {None} if finding.donor and finding.donor.prompt else set()
        reading = cls()
        open_: dict[str, Sent] = {}
        for record in read_history(path) if wanted else ():
            if isinstance(record, Sent):
                reading.judged[record.cell, record.endpoint] += record.arm == "candidate" and record.phase in (
                    "measure",
                    "calibration",
                )
                if stage_of(record.key) in wanted:
                    open_[record.key] = record
                    needed.add(record.prompt)
            elif isinstance(record, Done) and record.key in open_:
                sent = open_.pop(record.key)
                log = reading.logs.setdefault(stage_of(record.key), StageLog())
                log.exchanges[record.key] = Exchange(sent=sent, done=record)
            elif isinstance(record, Scheduled) and record.key in wanted:
                reading.logs.setdefault(record.key, StageLog()).scheduled = record
            elif isinstance(record, Stage) and record.key in wanted:
                reading.stages[record.key] = record
        for record in read_history(path) if needed else ():
            if isinstance(record, Prompt) and record.id in needed:
                reading.prompts[record.id] = record
        return reading

    def slice(self, finding: Finding, manifest: Manifest) -> Slice | None:
        """The slice around a finding."""
        stage = stage_of(finding.exchange or "")
        log, pair = (self.logs.get(key, StageLog()) for key in (stage, other_arm(stage, finding.arm)))
        return cut(finding, log, pair, self.prompts, manifest.plan.sampling)

    def stages_of(self, finding: Finding) -> tuple[Stage, ...]:
        """The engine's counters around the finding, on both arms."""
        stage = stage_of(finding.exchange or "")
        return tuple(self.stages[key] for key in (stage, other_arm(stage, finding.arm)) if key in self.stages)
