"""From the judgement to ``summary.json``: a pure function of the manifest and what was judged."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from fuzzer.decisions import VACUOUS, CellDecision, breaking, decide, sprt, wanted
from fuzzer.finding import CERTAINTIES
from fuzzer.judge import Judge
from fuzzer.judge.calibration import Calibration, calibration_key
from fuzzer.judge.groups import Group
from fuzzer.judge.tally import ArmTally, CellTally
from fuzzer.manifest import Manifest
from fuzzer.plan import Cell, Plan, Waiver
from fuzzer.shapes import SHAPES
from fuzzer.stats import clopper_pearson_upper, mcnemar, wilson
from fuzzer.summary import (
    AcceptanceSummary,
    Achieved,
    ArmCounts,
    ArmSpeed,
    Bound,
    CellStatus,
    CellSummary,
    Clusters,
    Comparison,
    EndpointSummary,
    FamilyCalibration,
    FindingGroup,
    Interval,
    MainDivergence,
    Paired,
    Rate,
    SampledSpeed,
    Speed,
    Summary,
    UsedWaiver,
    VerdictName,
)
from fuzzer.verdict import overall

CONFIDENCE = 0.95  # of intervals for the eye
EXIT = {"pass": 0, "fail": 1, "inconclusive": 3, "unavailable": 4, "interrupted": 130}


def summarise(manifest: Manifest, judge: Judge) -> Summary:
    """The summary of a run, or of as much of it as there is."""
    plan = manifest.plan
    if manifest.interrupted:
        judge.scan_open()
    waivers = active_waivers(plan)
    waived = frozenset(waiver.key for waiver in waivers)
    decisions = _decisions(manifest, judge, waived, final=not manifest.interrupted)
    verdict, reasons = overall(judge, decisions, manifest.stopped, waived, interrupted=manifest.interrupted)
    first = judge.first_ns or judge.last_ns
    return Summary(
        tool_version=manifest.tool_version,
        run_id=manifest.run_id,
        started=manifest.started,
        seconds=(judge.last_ns - first) / 1e9,
        verdict=verdict,
        exit_status=EXIT[verdict],
        reasons=tuple(reasons),
        scope=scope(manifest, judge, verdict),
        plan_hash=manifest.plan_hash,
        seed=manifest.seed,
        reference_used=bool(plan.references),
        max_wrong_rate=plan.policy.max_wrong_rate,
        confidence=plan.policy.confidence,
        preflight=manifest.preflight,
        endpoints=manifest.endpoints,
        cells=tuple(_cell(judge, cell, decisions[cell.key]) for cell in plan.cells()),
        comparisons=tuple(comparisons(judge.cells.values())),
        findings=tuple(_groups(judge, waived)),
        waivers=tuple(
            UsedWaiver(**waiver.model_dump(), used=judge.groups.count(waiver.key)) for waiver in plan.waivers
        ),
        calibration=tuple(_calibration_rows(judge)),
        vacuity=tuple(
            f"{reason.cell}: {reason.message}"
            for decision in decisions.values()
            for reason in decision.opens
            if reason.code in (*VACUOUS, "too-few-judged")
        ),
        exchanges=judge.exchanges,
        lost=judge.lost,
        resumed=judge.resumed,
        redacted=plan.redact_content,
        p50_concurrency=plan.p50_concurrency,
        sampled=tuple(_sampled(plan, tally) for tally in judge.sampled.values() if tally.candidate.times.whole),
    )


def standing(manifest: Manifest, judge: Judge, cell: Cell) -> tuple[CellStatus, str]:
    """How a cell that has just ended stands, and why; tests over all cells may still change it."""
    waived = frozenset(waiver.key for waiver in active_waivers(manifest.plan))
    decision = _decisions(manifest, judge, waived, final=False)[cell.key]
    why = (*decision.fails, *decision.opens)
    return decision.status, why[0].message if why else ""


def _decisions(manifest: Manifest, judge: Judge, waived: frozenset[str], *, final: bool) -> dict[str, CellDecision]:
    floors = {
        cell.key: calibration.noise_floor(cell.lm_head)
        for cell in manifest.plan.cells()
        if (calibration := _calibration(judge, cell)) is not None and manifest.plan.references
    }
    return decide(judge, floors, manifest.not_run, waived, manifest.notes, final=final)


def active_waivers(plan: Plan) -> tuple[Waiver, ...]:
    """The waivers whose expiry date has not passed."""
    today = datetime.now(UTC).date().isoformat()
    return tuple(waiver for waiver in plan.waivers if waiver.expires >= today)


def _calibration(judge: Judge, cell: Cell) -> Calibration | None:
    return judge.calibrations.get(calibration_key(cell.candidate, cell.lm_head, cell.concurrency))


def _cell(judge: Judge, cell: Cell, decision: CellDecision) -> CellSummary:
    plan, tally = judge.plan, judge.cells[cell.key]
    confidence = plan.policy.confidence
    sequential = plan.policy.sequential and cell.role == "gated"
    ran = tally.blocks > 0
    arms: dict[str, ArmTally] = {"candidate": tally.candidate}
    if plan.references:
        arms["reference"] = tally.reference
    achieved: dict[str, Achieved] = {name: got for name, arm in arms.items() if (got := arm.achieved())}
    counts: dict[str, ArmCounts] = {name: arm.summary() for name, arm in arms.items()}
    return CellSummary.model_validate(
        {
            "key": cell.key,
            "role": cell.role,
            "candidate": cell.candidate,
            "lm_head": cell.lm_head,
            "concurrency": cell.concurrency,
            "schedule": cell.schedule,
            "status": decision.status,
            "reasons": tuple(reason.message for reason in (*decision.fails, *decision.opens)),
            "rate": _rate(tally.k, tally.n),
            "reference_rate": _rate(tally.reference.failures, tally.reference.judged) if plan.references else None,
            "arms": counts,
            "achieved": achieved,
            "bound": Bound(
                value=clopper_pearson_upper(tally.k, tally.n, confidence),
                confidence=confidence,
                unit=tally.unit,
            )
            if ran and tally.n
            else None,
            "paired": _paired(judge, cell, tally, decision) if ran else None,
            "service": Paired(
                b=tally.service_b,
                c=tally.service_c,
                p=decision.p_service,
                p_adjusted=decision.p_service_adjusted,
                unit="prompt",
                against="reference",
            )
            if decision.p_service is not None and plan.references
            else None,
            "clusters": _clusters(tally, confidence) if ran else None,
            "divergence": MainDivergence(n=tally.compared, differ=tally.differ, unmatched=tally.unmatched)
            if plan.references and ran
            else None,
            "noise_floor": decision.floor,
            "acceptance": _acceptance(tally) if ran else None,
            "speed": _speed(tally),
            "blocks": tally.blocks,
            "stopped_early": sequential and ran and tally.n < wanted(plan, cell),
            "sequential": sequential,
            "sprt": sprt(plan).state(tally.k, tally.n) if sequential and tally.n else None,
            "requests_needed": wanted(plan, cell),
        }
    )


def _rate(k: int, n: int) -> Rate:
    if not n:
        return Rate(k=0, n=0)
    low, high = wilson(k, n)
    return Rate(k=k, n=n, wilson=Interval(low=low, high=high))


def _paired(judge: Judge, cell: Cell, tally: CellTally, decision: CellDecision) -> Paired | None:
    if not judge.plan.references and cell.concurrency == 1:
        return None
    p = decision.p_paired
    return Paired(
        b=tally.b,
        c=tally.c,
        p=p if p is not None else mcnemar(tally.b, tally.c, alternative="greater"),
        p_adjusted=decision.p_paired_adjusted,
        unit="all copies of a prompt" if tally.by_prompt else "prompt",
        against="reference" if judge.plan.references else "itself at concurrency 1",
    )


def _clusters(tally: CellTally, confidence: float) -> Clusters:
    failed, n = sum(tally.clusters.values()), len(tally.clusters)
    return Clusters(
        unit="block" if SHAPES[tally.cell.schedule].steady else "round",
        n=n,
        failed=failed,
        bound=clopper_pearson_upper(failed, n, confidence) if n else 1.0,
    )


def _acceptance(tally: CellTally) -> AcceptanceSummary:
    arm = tally.candidate
    acceptance = arm.acceptance()
    return AcceptanceSummary(
        drafted=arm.drafted,
        accepted=arm.accepted,
        steps=arm.drafts or None,
        length=acceptance.length if acceptance else None,
        seen=arm.drafted > 0,
        by_position=tuple(count / arm.engine.drafts for count in arm.server.accepted_at) if arm.engine.drafts else (),
        residue=arm.residue.summary(),
    )


def _speed(tally: CellTally) -> Speed:
    candidate, reference = tally.candidate.times.summary(), tally.reference.times.summary()
    arms: dict[str, ArmSpeed | None] = {"candidate": candidate, "reference": reference}
    figures: dict[str, float | None] = {}
    for name, arm in arms.items():
        figures[f"{name}_seconds"] = arm.end_to_end.p50 if arm and arm.end_to_end else None
        figures[f"{name}_first_token"] = arm.first_token.p50 if arm and arm.first_token else None
        figures[f"{name}_tokens_per_second"] = arm.tokens_per_second if arm else None
    return Speed(**figures, candidate=candidate, reference=reference, speed_up=tally.race.summary(CONFIDENCE))


def _sampled(plan: Plan, tally: CellTally) -> SampledSpeed:
    cell = tally.cell
    return SampledSpeed(
        candidate=cell.candidate,
        lm_head=cell.lm_head,
        concurrency=cell.concurrency,
        temperature=plan.speed_temperature or 0.0,
        speed=_speed(tally),
        acceptance=_acceptance(tally),
    )


def comparisons(measured: Iterable[CellTally]) -> list[Comparison]:
    """Candidates against each other, two at a time, on the prompts that both judged at the same place."""
    rows: list[Comparison] = []
    tallies = [tally for tally in measured if tally.outcomes]
    for index, left in enumerate(tallies):
        for right in tallies[index + 1 :]:
            same = (left.cell.concurrency, left.cell.schedule) == (right.cell.concurrency, right.cell.schedule)
            if same and left.cell.candidate != right.cell.candidate:
                rows.append(_comparison(left, right))
    return rows


def _comparison(left: CellTally, right: CellTally) -> Comparison:
    common = left.outcomes.keys() & right.outcomes.keys()
    b = sum(left.outcomes[key] and not right.outcomes[key] for key in common)
    c = sum(right.outcomes[key] and not left.outcomes[key] for key in common)
    return Comparison(
        concurrency=left.cell.concurrency,
        schedule=left.cell.schedule,
        left=left.cell.candidate,
        right=right.cell.candidate,
        left_lm_head=left.cell.lm_head,
        right_lm_head=right.cell.lm_head,
        left_rate=_rate(sum(left.outcomes[key] for key in common), len(common)),
        right_rate=_rate(sum(right.outcomes[key] for key in common), len(common)),
        b=b,
        c=c,
        p_two_sided=mcnemar(b, c),
        unit="prompt",
    )


def _groups(judge: Judge, waived: frozenset[str]) -> list[FindingGroup]:
    breaks = {
        group.example.key for candidate in judge.plan.candidates for group in breaking(judge, candidate.name, waived)
    }
    shown = {fault for reference in judge.plan.references for fault in judge.groups.faults("reference", reference.name)}
    rows = [_group(key, group, breaks, shown, waived) for key, group in judge.groups.by_key.items()]
    return sorted(rows, key=lambda row: (not row.breaks_gate, CERTAINTIES.index(row.certainty), -row.count, row.key))


def _group(
    key: str, group: Group, breaks: set[str], shown: set[tuple[str, str]], waived: frozenset[str]
) -> FindingGroup:
    example = group.example
    return FindingGroup(
        key=key,
        kind=example.kind,
        sub_kind=example.sub_kind,
        certainty=example.certainty,
        count=group.count,
        arm=example.arm,
        also_on_reference=example.arm == "candidate" and (example.kind, example.sub_kind) in shown,
        breaks_gate=key in breaks,
        waived=key in waived,
        cells=tuple(sorted(group.cells)),
        counts=dict(sorted(group.cells.items())),
        example=example,
    )


def _calibration_rows(judge: Judge) -> list[FamilyCalibration]:
    totals: dict[tuple[str, str], FamilyCalibration] = {}
    for calibration in judge.calibrations.values():
        for row in calibration.family_rows():
            old = totals.get((row.family, row.level))
            totals[row.family, row.level] = row if old is None else old.plus(row)
    return [totals[key].model_copy(update={"left_out": judge.ability.left_out(*key)}) for key in sorted(totals)]


def scope(manifest: Manifest, judge: Judge, verdict: VerdictName) -> str:
    """What the verdict speaks of, and what it does not."""
    plan = manifest.plan
    families = sorted({row.family for row in _calibration_rows(judge) if row.kept})
    schedules = ", ".join(sorted({cell.schedule for cell in plan.cells() if judge.cells[cell.key].blocks}))
    levels = ", ".join(map(str, sorted({cell.concurrency for cell in plan.cells() if judge.cells[cell.key].blocks})))
    who = "; ".join(map(_who, manifest.endpoints))
    if not levels:
        return "Nothing was measured, so this says nothing about the candidate."
    against = (
        "against the reference"
        if plan.references
        else "against the candidate itself at concurrency 1 (no reference: a weaker claim, divergence not judged)"
    )
    return (
        f"Speaks of {who} on {', '.join(families) or 'no'} prompts, greedy, at concurrency {levels} under {schedules}, "
        f"{against}. It says nothing of other traffic, prompts, builds or hardware."
    )


def _who(end: EndpointSummary) -> str:
    name = end.name if end.name == end.role else f"{end.role} {end.name}"
    engine = " ".join(filter(None, (end.engine, end.fingerprint)))
    return f"{name} ({engine}, lm_head {end.lm_head or 'unstated'})"
