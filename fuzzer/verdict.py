"""The decision: what was decided for the cells becomes one verdict with its reasons."""

from __future__ import annotations

from collections.abc import Mapping

from fuzzer.decisions import BREAKING_KINDS, UNITS, CellDecision, breaking
from fuzzer.judge import Judge
from fuzzer.plan import Cell
from fuzzer.stats import clopper_pearson_upper
from fuzzer.summary import Reason, VerdictName


def overall(
    judge: Judge,
    decisions: Mapping[str, CellDecision],
    stopped: tuple[Reason, ...],
    waived: frozenset[str],
    *,
    interrupted: bool,
) -> tuple[VerdictName, list[Reason]]:
    """The verdict and its reasons: a failure wins over everything, a pass needs every gated cell."""
    plan = judge.plan
    faulty = _reference_faults(judge)
    fails = [reason for decision in decisions.values() for reason in decision.fails]
    if faulty:
        fails = [reason for reason in fails if reason.code != "wrong-rate" or _independent(decisions, reason.cell)]
    fails.extend(_elsewhere(judge, decisions, waived))
    fails.sort(key=lambda reason: reason.code != "certain-finding")  # the strongest evidence leads
    opens = [*stopped, *faulty, *(reason for decision in decisions.values() for reason in decision.opens)]
    if fails:
        return "fail", [*fails, *opens]
    if interrupted:
        text = "the run did not come to its end; go on with: specfuzz resume DIR, DIR being its directory"
        return "interrupted", [Reason(code="interrupted", message=text)]
    if stopped:  # the cells did not start: what they lack would only repeat it
        return "unavailable" if any(reason.code == "unavailable" for reason in stopped) else "inconclusive", [*stopped]
    if opens:
        return "inconclusive", opens
    texts = [_passed(judge, cell) for cell in plan.gated]
    return "pass", [
        Reason(code="passed", cell=cell.key, message=text) for cell, text in zip(plan.gated, texts, strict=True)
    ]


def _passed(judge: Judge, cell: Cell) -> str:
    tally, confidence = judge.cells[cell.key], judge.plan.policy.confidence
    unit = UNITS[tally.unit]
    upper = clopper_pearson_upper(tally.k, tally.n, confidence)
    return (
        f"{tally.k} of {tally.n} {unit} failed: rules out a rate of {upper:.2%} or more at {confidence:.0%} (one-sided)"
    )


def _reference_faults(judge: Judge) -> list[Reason]:
    reasons = []
    for reference in judge.plan.references:
        for key, group in judge.groups.by_key.items():
            example = group.example
            own = example.arm == "reference" and example.endpoint == reference.name
            if group.certain and own and example.kind in BREAKING_KINDS:
                text = f"the reference {reference.name} shows certain faults itself: {key} ({group.certain} times)"
                reasons.append(Reason(code="reference-faulty", message=text))
    return reasons


def _independent(decisions: Mapping[str, CellDecision], cell: str) -> bool:
    """With a faulty reference, a rate over the limit counts only where the candidate is worse than it."""
    return any(reason.code == "worse-than-reference" for reason in decisions[cell].fails)


def _elsewhere(judge: Judge, decisions: Mapping[str, CellDecision], waived: frozenset[str]) -> list[Reason]:
    """Certain faults seen outside the cells (warm-up, preflight): they count like any other."""
    told = {
        reason.message.split(": ")[0]
        for decision in decisions.values()
        for reason in decision.fails
        if reason.code == "certain-finding"
    }
    return [
        Reason(code="certain-finding", message=f"{key}: {group.certain} times outside the cells")
        for candidate in judge.plan.candidates
        for group in breaking(judge, candidate.name, waived)
        if (key := group.example.key) not in told
    ]
