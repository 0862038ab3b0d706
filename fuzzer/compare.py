"""Two runs of one plan, on two days or builds: what got worse, what got better, and what could not have been seen."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from fuzzer.decisions import BREAKING_KINDS
from fuzzer.errors import UsageError
from fuzzer.judge.tally import CellTally
from fuzzer.recorded import Recorded, read, unlike
from fuzzer.stats import clopper_pearson_upper, holm, mcnemar
from fuzzer.summary import CellSummary, Rate

ALPHA = 0.01  # over all cells, as in a gate

Outcome = Literal["worse", "better", "no difference shown", "nothing in common"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CellChange(_Model):
    """One cell, then and now, on the ``n`` prompts that both runs judged.

    ``worse`` prompts failed now only, ``better`` ones then only. ``p_worse`` and ``p_better`` are one-sided exact
    McNemar tests, adjusted by Holm over the cells. ``at_most`` is the one-sided upper bound (Clopper-Pearson) of the
    share of prompts that got worse: a smaller change could not have been seen.
    """

    key: str
    n: int
    old: Rate
    new: Rate
    worse: int
    better: int
    p_worse: float
    p_better: float
    at_most: float
    outcome: Outcome
    old_acceptance: float | None = None
    new_acceptance: float | None = None
    old_tokens_per_second: float | None = None
    new_tokens_per_second: float | None = None


class FindingChange(_Model):
    """A finding group by its dedupe key, with how often it was seen in each run."""

    key: str
    state: Literal["new", "gone", "still there"]
    certain: bool
    old: int
    new: int


class Compared(_Model):
    """The whole comparison. ``regressed`` holds in words what got worse.

    The exit status is 1 with a regression, 3 where a cell has no prompt in common, else 0.
    """

    old_run: str
    new_run: str
    confidence: float
    exit_status: int
    regressed: tuple[str, ...]
    cells: tuple[CellChange, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    findings: tuple[FindingChange, ...]
    builds: tuple[str, ...]


def compare(old: Path, new: Path) -> Compared:
    """Compare two run directories.

    Raises UsageError where the runs are not of one plan, HistoryError where one cannot be read.
    """
    then, now = read("compare", old), read("compare", new)
    if why := unlike(then, now) or _other_model(then, now):
        raise UsageError(f"compare: {old} and {new} are not runs of one plan: {why}")
    keys = [key for key in then.judge.cells if key in now.judge.cells]
    if not keys:
        raise UsageError(f"compare: {old} and {new} have no cell in common: name the candidates alike when they run")
    cells = _cells(then, now, keys)
    findings = _findings(then, now)
    regressed = [
        f"{cell.key}: {cell.worse} of {cell.n} prompts fail now that did not, {cell.better} the other way round "
        f"(p = {cell.p_worse:.2g})"
        for cell in cells
        if cell.outcome == "worse"
    ]
    regressed += [f"new certain finding: {one.key} ({one.new} times)" for one in findings if _breaks(one)]
    return Compared(
        old_run=then.manifest.run_id,
        new_run=now.manifest.run_id,
        confidence=now.manifest.plan.policy.confidence,
        exit_status=1 if regressed else 3 if any(not cell.n for cell in cells) else 0,
        regressed=tuple(regressed),
        cells=tuple(cells),
        only_old=tuple(key for key in then.judge.cells if key not in now.judge.cells),
        only_new=tuple(key for key in now.judge.cells if key not in then.judge.cells),
        findings=tuple(findings),
        builds=tuple(_builds(then, now)),
    )


def _other_model(then: Recorded, now: Recorded) -> str:
    models = {(end.role, end.name): end.model for end in then.summary.endpoints}
    for end in now.summary.endpoints:
        was = models.get((end.role, end.name), end.model)
        if was != end.model:
            return f"{end.role} {end.name} served the model {was} in the one and {end.model} in the other"
    return ""


def _builds(then: Recorded, now: Recorded) -> list[str]:
    """What is known to have changed at the ends."""
    old = {(end.role, end.name): end for end in then.summary.endpoints}
    said = []
    for end in now.summary.endpoints:
        was = old.get((end.role, end.name))
        for name in ("engine", "fingerprint", "lm_head", "speculation", "context_length", "slots"):
            before, after = getattr(was, name, None), getattr(end, name)
            if was is not None and before != after:
                said.append(f"{end.role} {end.name}: {name} was {before} and is {after}")
    return said


def _cells(then: Recorded, now: Recorded, keys: list[str]) -> list[CellChange]:
    confidence = now.manifest.plan.policy.confidence
    counted = [_counted(then.judge.cells[key], now.judge.cells[key]) for key in keys]
    worse = holm([mcnemar(b, c, "greater") for _, b, c in counted])
    better = holm([mcnemar(c, b, "greater") for _, b, c in counted])
    summaries = [{cell.key: cell for cell in run.summary.cells} for run in (then, now)]
    changes = []
    for key, (common, b, c), p_worse, p_better in zip(keys, counted, worse, better, strict=True):
        old, new = (tally.judge.cells[key].outcomes for tally in (then, now))
        n = len(common)
        before, after = (cells[key] for cells in summaries)
        changes.append(
            CellChange(
                key=key,
                n=n,
                old=Rate(k=sum(old[place] for place in common), n=n),
                new=Rate(k=sum(new[place] for place in common), n=n),
                worse=b,
                better=c,
                p_worse=p_worse,
                p_better=p_better,
                at_most=clopper_pearson_upper(b, n, confidence) if n else 1.0,
                outcome=_outcome(n, p_worse, p_better),
                old_acceptance=_length(before),
                new_acceptance=_length(after),
                old_tokens_per_second=before.speed.candidate_tokens_per_second,
                new_tokens_per_second=after.speed.candidate_tokens_per_second,
            )
        )
    return changes


def _counted(old: CellTally, new: CellTally) -> tuple[list[tuple[str, int]], int, int]:
    common = sorted(old.outcomes.keys() & new.outcomes.keys())
    b = sum(new.outcomes[place] and not old.outcomes[place] for place in common)
    c = sum(old.outcomes[place] and not new.outcomes[place] for place in common)
    return common, b, c


def _outcome(n: int, p_worse: float, p_better: float) -> Outcome:
    if not n:
        return "nothing in common"
    return "worse" if p_worse < ALPHA else "better" if p_better < ALPHA else "no difference shown"


def _length(cell: CellSummary) -> float | None:
    return cell.acceptance.length if cell.acceptance else None


def _findings(then: Recorded, now: Recorded) -> list[FindingChange]:
    old = {group.key: group for group in then.summary.findings}
    new = {group.key: group for group in now.summary.findings}
    rows = []
    for key in sorted(old.keys() | new.keys()):
        group = new.get(key) or old[key]
        state: Literal["new", "gone", "still there"] = (
            "still there" if key in old and key in new else "new" if key in new else "gone"
        )
        rows.append(
            FindingChange(
                key=key,
                state=state,
                certain=group.certainty == "certain" and group.kind in BREAKING_KINDS and group.arm == "candidate",
                old=old[key].count if key in old else 0,
                new=new[key].count if key in new else 0,
            )
        )
    return sorted(rows, key=lambda row: (("new", "still there", "gone").index(row.state), not row.certain, row.key))


def _breaks(change: FindingChange) -> bool:
    return change.state == "new" and change.certain
