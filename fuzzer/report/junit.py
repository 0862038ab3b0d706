"""The verdict as JUnit XML, for build servers: a test suite a cell, a test case an oracle.

A failure breaks the gate. What a gated cell could not decide is an *error*, never *skipped*: build servers show skipped
cases as green, and nothing passes here that was not measured. Skipped are only what the gate does not ask for: the
control's rate and divergence (its certain findings count), a control that was not run, and divergence where it is not
judged. The suite ``verdict`` holds one case that agrees with the exit status whatever the cells say.

What build servers document is kept to: GitLab shows an element's text and not its ``message``, knows a case by class
and name and drops a second one, and reads files of up to 30 MB.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, get_args

from fuzzer.finding import Kind
from fuzzer.report.redact import shareable
from fuzzer.report.sentences import FAILING, donor, marks, ranked, verdict_line
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, estimate, ordered, place, place_of
from fuzzer.summary import CellSummary, FindingGroup, ReasonCode, Summary

Outcome = Literal["failure", "error", "skipped"]

_LIMIT: Final = 2000
_ATTACHMENT: Final = "[[ATTACHMENT|"  # GitLab would take what follows for a file of the job
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
    "no-speculation": "speculation-health",
}


@dataclass(frozen=True, slots=True)
class _Result:
    """How a test case ended; ``outcome`` None means that it passed."""

    outcome: Outcome | None
    message: str = ""


_PASSED: Final = _Result(None)


def junit(summary: Summary) -> str:
    """The whole run as one JUnit document, valid XML 1.0 whatever the servers sent."""
    summary = shareable(summary)
    root = ET.Element("testsuites", {"name": "specfuzz"})
    _run_suite(root, summary)
    for cell in ordered(summary.cells):
        _cell_suite(root, cell, summary)
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    root.set("time", f"{summary.seconds:.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _run_suite(root: ET.Element, summary: Summary) -> None:
    suite = _suite(root, "verdict", summary)
    _properties(
        suite,
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
    result = _PASSED if summary.verdict == "pass" else _Result(outcome, verdict_line(summary))
    reasons = [f"{place_of(reason.cell, summary)}: " * bool(reason.cell) + reason.message for reason in summary.reasons]
    _case(suite, "specfuzz", "verdict", result, [clean(line, _LIMIT) for line in reasons], summary.seconds)
    _count(suite, summary.seconds)


def _cell_suite(root: ET.Element, cell: CellSummary, summary: Summary) -> None:
    suite = _suite(root, cell.key, summary)
    _properties(
        suite,
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
        _case(suite, cell.key, kind, _result(cell, kind, groups, summary), lines, 0.0)
    _count(suite, 0.0)


def _result(cell: CellSummary, kind: Kind, groups: list[FindingGroup], summary: Summary) -> _Result:
    """A broken bound first, then what was not measured, then what is not asked for."""
    for result in (_broken(cell, kind, groups, summary), _unmeasured(cell, kind, summary), _not_asked(cell, kind)):
        if result is not None:
            return result
    return _PASSED


def _broken(cell: CellSummary, kind: Kind, groups: list[FindingGroup], summary: Summary) -> _Result | None:
    reasons = [r for r in summary.reasons if r.cell == cell.key and r.code in FAILING and _ORACLE.get(r.code) == kind]
    breaking = [group for group in groups if group.breaks_gate and not group.waived]
    said = [*(reason.message for reason in reasons), *(f"{group.key}: {marks(group)}" for group in breaking)]
    return _Result("failure", "; ".join(said)) if said else None


def _unmeasured(cell: CellSummary, kind: Kind, summary: Summary) -> _Result | None:
    if cell.status == "not-run":
        return _Result("skipped" if cell.role == "control" else "error", _why(cell, summary))
    if cell.role == "control" or cell.status == "pass":
        return None
    reasons = [r for r in summary.reasons if r.cell == cell.key and r.code not in FAILING and r.code != "passed"]
    own = [reason for reason in reasons if _ORACLE.get(reason.code, kind) == kind]
    if own:
        return _Result("error", "; ".join(reason.message for reason in own))
    if cell.status == "vacuous" or (cell.status == "open" and kind == "wrong-answer"):
        return _Result("error", _why(cell, summary))
    return None


def _not_asked(cell: CellSummary, kind: Kind) -> _Result | None:
    if cell.role == "control" and kind == "wrong-answer":
        return _Result("skipped", f"informational: the control fails {estimate(cell.rate)}")
    if kind == "divergence" and cell.role == "control":
        return _Result("skipped", "informational: divergence is judged above concurrency 1")
    if kind == "divergence" and (cell.noise_floor is None or not cell.noise_floor.judged):
        note = cell.noise_floor.note if cell.noise_floor else ""
        return _Result("skipped", f"divergence was not judged{': ' + note if note else ''}")
    if kind == "speculation-health" and (cell.acceptance is None or not cell.acceptance.seen):
        return _Result("skipped", "no drafting was seen, and the plan does not require it")
    return None


def _why(cell: CellSummary, summary: Summary) -> str:
    return f"{STATUS[cell.status]}: {'; '.join(cell.reasons) or place(cell, summary)}"


def _told(group: FindingGroup) -> Iterator[str]:
    yield f"{clean(group.key)}: {marks(group)}"
    yield f"  e.g. {clean(group.example.summary, 600)}"
    if group.example.donor:
        yield f"  donor: {donor(group.example.donor)}; span {clean(group.example.donor.span, 200)}"


def _suite(root: ET.Element, name: str, summary: Summary) -> ET.Element:
    return ET.SubElement(root, "testsuite", {"name": clean(name, 300), "timestamp": clean(summary.started, 60)})


def _properties(suite: ET.Element, **values: object) -> None:
    holder = ET.SubElement(suite, "properties")
    for name, value in values.items():
        ET.SubElement(holder, "property", {"name": name, "value": clean(str(value), _LIMIT)})


def _case(suite: ET.Element, classname: str, name: str, result: _Result, lines: list[str], seconds: float) -> None:
    case = ET.SubElement(
        suite, "testcase", {"classname": clean(classname, 300), "name": name, "time": f"{seconds:.3f}"}
    )
    told = [line.replace(_ATTACHMENT, "[[ATTACHMENT") for line in lines]
    if result.outcome is not None:
        message = clean(result.message, _LIMIT)
        ending = ET.SubElement(case, result.outcome, {"message": message})
        ending.text = message.replace(_ATTACHMENT, "[[ATTACHMENT")
        if result.outcome != "skipped":
            ending.set("type", name)
            ending.text = "\n".join((ending.text, *told))
            return
    if told:
        ET.SubElement(case, "system-out").text = "\n".join(told)


def _count(suite: ET.Element, seconds: float) -> None:
    """The totals that readers of JUnit expect on a suite."""
    suite.set("tests", str(len(suite.findall("testcase"))))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{seconds:.3f}")
