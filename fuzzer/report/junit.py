"""The verdict as JUnit XML, for build servers: a test suite a cell, a test case an oracle.

A failure breaks the gate. What a gated cell could not decide is an *error*, never *skipped*: build servers show skipped
cases as green, and nothing passes here that was not measured. Skipped are only what the gate does not ask for: the
control's rate and divergence (its certain findings count), a control that was not run, and divergence where it is not
judged. The suite ``verdict`` holds one case that agrees with the exit status whatever the cells say.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Final, get_args

from fuzzer.finding import Kind
from fuzzer.report.redact import shareable
from fuzzer.report.sentences import FAILING, donor, marks, ranked, verdict_line
from fuzzer.report.testcases import LIMIT, PASSED, Outcome, Result, case, count, document, properties, suite
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, estimate, ordered, place, place_of
from fuzzer.summary import CellSummary, FindingGroup, ReasonCode, Summary

_GROUPS: Final = 20  # findings told in one test case
_ORACLE: Final[dict[ReasonCode, Kind]] = {
    "wrong-rate": "wrong-answer",
    "worse-than-reference": "wrong-answer",
    "bound-open": "wrong-answer",
    "too-few-judged": "wrong-answer",
    "material-divergence": "divergence",
    "service-failures": "service",
    "shared-service-failures": "service",
    "acceptance-collapse": "speculation-health",
    "stale-drafts": "speculation-health",
    "no-speculation": "speculation-health",
}


def junit(summary: Summary) -> str:
    """The whole run as one JUnit document, valid XML 1.0 whatever the servers sent."""
    summary = shareable(summary)
    root = ET.Element("testsuites", {"name": "specfuzz"})
    _run_suite(root, summary)
    for cell in ordered(summary.cells):
        _cell_suite(root, cell, summary)
    return document(root, summary.seconds)


def _run_suite(root: ET.Element, summary: Summary) -> None:
    whole = suite(root, "verdict", summary.started)
    properties(
        whole,
        run_id=summary.run_id,
        verdict=summary.verdict,
        exit_status=summary.exit_status,
        seed=summary.seed,
        plan_hash=summary.plan_hash,
        max_wrong_rate=summary.max_wrong_rate,
        confidence=summary.confidence,
        scope=summary.scope,
    )
    outcome: Outcome = "failure" if summary.verdict == "fail" else "error"
    result = PASSED if summary.verdict == "pass" else Result(outcome, verdict_line(summary))
    reasons = [f"{place_of(reason.cell, summary)}: " * bool(reason.cell) + reason.message for reason in summary.reasons]
    case(whole, "specfuzz", "verdict", result, [clean(line, LIMIT) for line in reasons], summary.seconds)
    count(whole, summary.seconds)


def _cell_suite(root: ET.Element, cell: CellSummary, summary: Summary) -> None:
    whole = suite(root, cell.key, summary.started)
    properties(
        whole,
        candidate=cell.candidate,
        concurrency=cell.concurrency,
        lm_head=cell.lm_head or "unstated",
        schedule=cell.schedule,
        role=cell.role,
        status=cell.status,
        k=cell.rate.k,
        n=cell.rate.n,
        bound=cell.bound.value if cell.bound else "none",
    )
    for kind in get_args(Kind):
        groups = [group for group in ranked(summary.findings) if group.kind == kind and cell.key in group.cells]
        lines = [line for group in groups[:_GROUPS] for line in _told(group)]
        case(whole, cell.key, kind, _result(cell, kind, groups, summary), lines)
    count(whole)


def _result(cell: CellSummary, kind: Kind, groups: list[FindingGroup], summary: Summary) -> Result:
    """A broken bound first, then what was not measured, then what is not asked for."""
    for result in (_broken(cell, kind, groups, summary), _unmeasured(cell, kind, summary), _not_asked(cell, kind)):
        if result is not None:
            return result
    return PASSED


def _broken(cell: CellSummary, kind: Kind, groups: list[FindingGroup], summary: Summary) -> Result | None:
    reasons = [r for r in summary.reasons if r.cell == cell.key and r.code in FAILING and _ORACLE.get(r.code) == kind]
    breaking = [group for group in groups if group.breaks_gate and not group.waived]
    said = [*(reason.message for reason in reasons), *(f"{group.key}: {marks(group)}" for group in breaking)]
    return Result("failure", "; ".join(said)) if said else None


def _unmeasured(cell: CellSummary, kind: Kind, summary: Summary) -> Result | None:
    if cell.status == "not-run":
        return Result("skipped" if cell.role == "control" else "error", _why(cell, summary))
    if cell.role == "control" or cell.status == "pass":
        return None
    reasons = [r for r in summary.reasons if r.cell == cell.key and r.code not in FAILING and r.code != "passed"]
    own = [reason for reason in reasons if _ORACLE.get(reason.code, kind) == kind]
    if own:
        return Result("error", "; ".join(reason.message for reason in own))
    if cell.status == "vacuous" or (cell.status == "open" and kind == "wrong-answer"):
        return Result("error", _why(cell, summary))
    return None


def _not_asked(cell: CellSummary, kind: Kind) -> Result | None:
    if cell.role == "control" and kind == "wrong-answer":
        return Result("skipped", f"informational: the control fails {estimate(cell.rate)}")
    if kind == "divergence" and cell.role == "control":
        return Result("skipped", "informational: divergence is judged above concurrency 1")
    if kind == "divergence" and (cell.noise_floor is None or not cell.noise_floor.judged):
        note = cell.noise_floor.note if cell.noise_floor else ""
        return Result("skipped", f"divergence was not judged{': ' + note if note else ''}")
    if kind == "speculation-health" and (cell.acceptance is None or not cell.acceptance.seen):
        return Result("skipped", "no drafting was seen, and the plan does not require it")
    return None


def _why(cell: CellSummary, summary: Summary) -> str:
    return f"{STATUS[cell.status]}: {'; '.join(cell.reasons) or place(cell, summary)}"


def _told(group: FindingGroup) -> Iterator[str]:
    yield f"{clean(group.key)}: {marks(group)}"
    yield f"  e.g. {clean(group.example.summary, 600)}"
    if group.example.donor:
        yield f"  donor: {donor(group.example.donor)}; span {clean(group.example.donor.span, 200)}"
