"""The night as JUnit XML, for build servers: a case a pooled cell, a boot and a drift test.

As in a gate's: a failure breaks the night, what a gated cell could not decide is an error. Skipped is only what decides
nothing: a control, a boot without another to compare with, a drift test with too little to go by.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from fuzzer.night import Boot, Drift, Night, NightCell
from fuzzer.report.night.rows import interval
from fuzzer.report.night.sentences import (
    amounts,
    boot_counts,
    broken,
    drift_line,
    exclusion,
    ordered,
    place_of,
    reasons,
    verdict_line,
)
from fuzzer.report.testcases import LIMIT, PASSED, Outcome, Result, case, count, document, properties, suite
from fuzzer.report.text import clean
from fuzzer.report.words import p_value

_FINDINGS = 20  # told in one test case


def junit(night: Night) -> str:
    """The whole night as one document, valid XML 1.0 whatever the servers sent."""
    root = ET.Element("testsuites", {"name": "specfuzz"})
    _verdict(root, night)
    cells = suite(root, "cells", night.started)
    for cell in ordered(night.cells):
        case(cells, "cells", cell.key, _cell(cell, night), _told(cell, night))
    boots = suite(root, "boots", night.started)
    for boot in night.boots:
        lines = (f"{clean(boot.since, 40)}: {clean(boot.why, 200)}",)
        case(boots, "boots", f"boot {boot.number}", _boot(boot), lines)
    drifts = suite(root, "drift", night.started)
    for drift in night.drifts:
        case(drifts, "drift", f"{drift.candidate}, {drift.on}", _drift(drift), ())
    if not night.drifts:
        case(drifts, "drift", "drift", Result("skipped", "drift was not tested"), ())
    for whole in (cells, boots, drifts):
        count(whole)
    return document(root, night.active)


def _verdict(root: ET.Element, night: Night) -> None:
    """One case that agrees with the exit status, whatever the others say."""
    whole = suite(root, "verdict", night.started)
    properties(
        whole, night_id=night.night_id, verdict=night.verdict, exit_status=night.exit_status, seed=night.seed,
        plan_hash=night.plan_hash, max_wrong_rate=night.max_wrong_rate, confidence=night.confidence, scope=night.scope,
        legs=len(night.legs), judged=night.judged, exchanges=night.exchanges, lost=night.lost,
    )  # fmt: skip
    outcome: Outcome = "failure" if night.verdict == "fail" else "error"
    result = PASSED if night.verdict == "pass" else Result(outcome, verdict_line(night))
    case(whole, "specfuzz", "verdict", result, [*reasons(night), *amounts(night)], night.active)
    count(whole, night.active)


def _cell(cell: NightCell, night: Night) -> Result:
    said = [clean(reason.message, LIMIT) for reason in night.reasons if reason.cell == cell.key]
    message = "; ".join(said or map(clean, cell.reasons)) or exclusion(cell, night)
    if cell.key in broken(night):
        found = [each for each in night.findings if each.breaks and each.schedule == cell.schedule]
        named = "; ".join(f"{clean(each.key)}: {each.count}" for each in found[:_FINDINGS])
        return Result("failure", "; ".join(filter(None, (named, message))))
    if cell.role == "control":
        return Result("skipped", f"informational: the control fails {interval(cell.k, cell.n)}")
    return PASSED if cell.status == "pass" else Result("error", message)


def _told(cell: NightCell, night: Night) -> Iterator[str]:
    """The cell's numbers, and what of the night's findings was seen under its schedule."""
    yield f"{place_of(cell.key, night)}: {cell.k:,} of {cell.n:,} failed, {interval(cell.k, cell.n)}"
    yield exclusion(cell, night)
    found = [each for each in night.findings if each.schedule == cell.schedule]
    for each in found[:_FINDINGS]:
        yield f"{clean(each.key)} under {cell.schedule}: {each.count} in {each.legs} legs; {clean(each.example, 300)}"


def _boot(boot: Boot) -> Result:
    if boot.bad:
        return Result("failure", f"{boot_counts(boot)}, p {p_value(boot.p) if boot.p is not None else 'unknown'}")
    if not boot.n:
        return Result("skipped", "nothing was judged in it")
    return PASSED if boot.p is not None else Result("skipped", "no other boot to compare it with")


def _drift(drift: Drift) -> Result:
    if drift.flagged:
        return Result("failure", drift_line(drift))
    return PASSED if drift.p is not None else Result("skipped", drift_line(drift))
