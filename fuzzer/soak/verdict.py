"""A night's verdict: what breaks it, what keeps it open, and the whole of ``night.json``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fuzzer.finding import CERTAINTIES
from fuzzer.night import Drift, Leg, Night, NightCell, NightFinding, NightReason
from fuzzer.report.words import p_is, plural
from fuzzer.soak.ledger import SoakManifest, State
from fuzzer.soak.pooled import ALPHA, Tests, pooled
from fuzzer.soak.rotation import Arm, arms
from fuzzer.stats import requests_needed
from fuzzer.summarise import EXIT
from fuzzer.summary import VerdictName


@dataclass(frozen=True, slots=True)
class Ending:
    """How the soak stands: whether it goes on or was broken off, and what kept it from measuring.

    ``partial`` is a leg that was broken off, with what it had measured. ``stopped`` says why the soak could not go on.
    """

    ended: str
    running: bool = False
    interrupted: bool = False
    partial: Leg | None = None
    stopped: NightReason | None = None
    unavailable: bool = False
    bytes_kept: int = 0


def judged(soak: SoakManifest, state: State, ending: Ending, bundles: Mapping[str, str]) -> Night:
    """The night as it stands. ``bundles`` maps a dedupe key to the path of its bundle in the soak's directory."""
    plan = soak.plan
    legs = [*state.ordered, *([ending.partial] if ending.partial else [])]
    tests = pooled(legs, state.boots, plan.policy.confidence)
    fails = [*_certain(legs), *_cells(tests, soak), *_over_time(tests)]
    opens = [*_opens(tests, soak, state, ending)]
    cells = tuple(_decided(cell, fails, opens) for cell in tests.cells)
    verdict, reasons = _overall(cells, fails, opens, ending)
    return Night(
        tool_version=soak.tool_version,
        night_id=soak.night_id,
        started=soak.started,
        ended=ending.ended,
        active=round(state.active, 1),
        verdict=verdict,
        exit_status=EXIT[verdict],
        reasons=tuple(reasons),
        scope=_scope(soak, legs, tests),
        plan_hash=plan.digest,
        seed=plan.seed,
        max_wrong_rate=plan.policy.max_wrong_rate,
        confidence=plan.policy.confidence,
        reference_used=bool(plan.references),
        cells=cells,
        findings=tuple(_findings(legs, bundles)),
        boots=tests.boots,
        drifts=tests.drifts,
        outages=tuple(state.outages.values()),
        legs=tuple(legs),
        exchanges=sum(leg.exchanges for leg in legs),
        judged=sum(cell.n for cell in cells if cell.role == "gated"),
        lost=sum(leg.lost for leg in legs),
        processes=max(state.processes, 1),
        dropped=tuple(sorted(state.dropped)),
        bytes_kept=ending.bytes_kept,
    )


def _overall(
    cells: Sequence[NightCell], fails: Sequence[NightReason], opens: Sequence[NightReason], ending: Ending
) -> tuple[VerdictName, list[NightReason]]:
    if fails:
        return "fail", [*fails, *opens]
    if ending.interrupted or ending.running:
        text = "the soak did not come to its end; go on with: specfuzz resume DIR, DIR being its directory"
        if ending.running:
            text = "the soak is still at work"
        return "interrupted", [NightReason(code="interrupted", message=text), *opens]
    if ending.unavailable:
        return "unavailable", list(opens)
    if opens:
        return "inconclusive", list(opens)
    return "pass", [
        NightReason(
            code="passed",
            cell=cell.key,
            message=f"{cell.k} of {cell.n} answers failed in {plural(cell.legs, 'leg')}: rules out a rate of "
            f"{cell.upper:.2%} or more",
        )
        for cell in cells
        if cell.role == "gated"
    ]


def _certain(legs: Iterable[Leg]) -> Iterator[NightReason]:
    counts: dict[str, list[int]] = {}
    for leg in legs:
        for found in leg.findings:
            if found.breaks:
                counts.setdefault(found.key, []).append(found.count)
    for key, each in counts.items():
        text = f"{key}: {sum(each)} in {plural(len(each), 'leg')}"
        yield NightReason(code="certain-finding", message=text)


def _cells(tests: Tests, soak: SoakManifest) -> Iterator[NightReason]:
    limit = soak.plan.policy.max_wrong_rate
    against = "the reference" if soak.plan.references else "itself at concurrency 1"
    for cell in tests.cells:
        if cell.role != "gated":
            continue
        told = f"{cell.k} of {cell.n} answers failed"
        worse = cell.p is not None and cell.p < ALPHA
        if worse and cell.lower > limit / 10:
            text = f"{told}, worse than {against} on the same prompts (McNemar over the night, {p_is(cell.p)})"
            yield NightReason(code="worse-than-reference", cell=cell.key, message=text)
        if cell.lower > limit and (worse or not soak.plan.references):
            text = f"{told}: at least {cell.lower:.2%}, over the limit of {limit:.2%}"
            yield NightReason(code="wrong-rate", cell=cell.key, message=text)
        if cell.p_service is not None and cell.p_service < ALPHA:
            text = (
                f"{cell.service_b} requests failed in service only on the candidate, {cell.service_c} only on the "
                f"reference ({p_is(cell.p_service)})"
            )
            yield NightReason(code="service-failures", cell=cell.key, message=text)
        if cell.p_material is not None and cell.p_material < ALPHA:
            text = (
                f"material divergence beyond the noise floor: {cell.material_b} prompts only against the candidate, "
                f"{cell.material_c} only reference against itself ({p_is(cell.p_material)})"
            )
            yield NightReason(code="material-divergence", cell=cell.key, message=text)
        if cell.key in tests.collapsed:
            k, n = tests.collapsed[cell.key]
            text = f"the acceptance length had collapsed against concurrency 1 in {k} of {n} legs"
            yield NightReason(code="acceptance-collapse", cell=cell.key, message=text)
        if cell.key in tests.stale:
            number, p = tests.stale[cell.key]
            text = f"hardly a draft token of word lists is accepted after a long request, see leg {number} ({p_is(p)})"
            yield NightReason(code="stale-drafts", cell=cell.key, message=text)


def _over_time(tests: Tests) -> Iterator[NightReason]:
    for drift in tests.drifts:
        if drift.flagged:
            yield NightReason(code="drift", message=_drifted(drift))
    for boot in tests.boots:
        if boot.bad:
            rest = [other for other in tests.boots if other.number != boot.number]
            text = (
                f"boot {boot.number} (since {boot.since}) failed {boot.k} of {boot.n} answers, the others "
                f"{sum(other.k for other in rest)} of {sum(other.n for other in rest)} ({p_is(boot.p)})"
            )
            yield NightReason(code="bad-boot", message=text)


def _drifted(drift: Drift) -> str:
    which = "on the anchor's prompts" if drift.on == "anchors" else "over all legs"
    return (
        f"{drift.candidate} fails more often the longer it is up, {which}: {drift.early[0]} of {drift.early[1]} in the "
        f"first half of its requests, {drift.late[0]} of {drift.late[1]} in the second (trend {p_is(drift.p)})"
    )


def _opens(tests: Tests, soak: SoakManifest, state: State, ending: Ending) -> Iterator[NightReason]:
    if ending.stopped is not None:
        yield ending.stopped
    known = {(cell.candidate, cell.schedule, cell.concurrency): cell for cell in tests.cells}
    for candidate in soak.plan.candidates:
        for schedule, level in arms(soak.plan):
            cell = known.get((candidate.name, schedule, level))
            if cell is None or cell.n == 0:
                text = f"{candidate.name}, {schedule} at {level}: {_unmeasured((schedule, level), state)}"
                yield NightReason(code="bound-open", message=text)
            else:
                yield from _open(cell, soak)
    for number, why in state.lost.items():
        yield NightReason(code="leg-undecided", message=f"leg {number} is lost: {why}")
    if unknown := state.found:
        lost = plural(unknown, "leg")
        text = f"soak.jsonl has lost {lost}, judged anew from their directories; boots and outages then are not known"
        yield NightReason(code="leg-undecided", message=text)
    if state.damaged:
        lines = plural(state.damaged, "line")
        yield NightReason(code="leg-undecided", message=f"{lines} of soak.jsonl cannot be read: the disk is failing")


def _open(cell: NightCell, soak: SoakManifest) -> Iterator[NightReason]:
    policy = soak.plan.policy
    least = requests_needed(policy.max_wrong_rate, policy.confidence)
    if cell.upper >= policy.max_wrong_rate:
        text = f"{cell.k} of {cell.n} answers failed: the bound of {cell.upper:.2%} does not meet the limit of "
        few = f" ({least} clean ones are needed)" if cell.n < least else ""
        yield NightReason(code="bound-open", cell=cell.key, message=f"{text}{policy.max_wrong_rate:.2%}{few}")


def _unmeasured(arm: Arm, state: State) -> str:
    tried = [leg for leg in state.ordered if (leg.schedule, leg.concurrency) == arm]
    if not tried:
        return "no leg of it came to its end; let the soak run longer"
    said = next((leg.reasons[0] for leg in reversed(tried) if leg.reasons), "nothing could be judged")
    return f"nothing counts in its {plural(len(tried), 'leg')}: {said}"


def _decided(cell: NightCell, fails: Iterable[NightReason], opens: Iterable[NightReason]) -> NightCell:
    broken = [reason.message for reason in fails if reason.cell == cell.key]
    lacking = [reason.message for reason in opens if reason.cell == cell.key]
    if cell.role != "gated":
        return cell.model_copy(update={"status": "pass" if not cell.k else "open"})
    status = "fail" if broken else "open" if lacking else "pass"
    return cell.model_copy(update={"status": status, "reasons": (*broken, *lacking)})


def _findings(legs: Sequence[Leg], bundles: Mapping[str, str]) -> list[NightFinding]:
    groups: dict[tuple[str, str], NightFinding] = {}
    for leg in legs:
        for found in leg.findings:
            place = (found.key, found.schedule)
            old = groups.get(place)
            seen = {"last": leg.number, "last_seen": leg.ended}
            if old is None:
                groups[place] = NightFinding(
                    **dataclasses.asdict(found),
                    **seen,
                    legs=1,
                    first=leg.number,
                    first_seen=leg.started,
                    bundle=bundles.get(found.key, ""),
                )
            else:
                surest = min(old.certainty, found.certainty, key=CERTAINTIES.index)
                added = {"count": old.count + found.count, "legs": old.legs + 1, "breaks": old.breaks or found.breaks}
                groups[place] = old.model_copy(update={**seen, **added, "certainty": surest})
    return sorted(groups.values(), key=lambda row: (not row.breaks, CERTAINTIES.index(row.certainty), row.first))


def _scope(soak: SoakManifest, legs: Sequence[Leg], tests: Tests) -> str:
    if not tests.cells:
        return "Nothing was measured, so this says nothing about the candidate."
    plan = soak.plan
    names = ", ".join(candidate.name for candidate in plan.candidates)
    schedules = ", ".join(sorted({cell.schedule for cell in tests.cells if cell.role == "gated"}))
    levels = ", ".join(str(level) for level in sorted({cell.concurrency for cell in tests.cells}))
    against = "against the reference" if plan.references else "against itself at concurrency 1 (no reference)"
    kinds = sorted({name for leg in legs for name in leg.families})
    return (
        f"Speaks of {names} in {plural(len(legs), 'leg')} over {plural(len(tests.boots), 'boot')} on "
        f"{', '.join(kinds) or 'the usual mix of'} prompts, greedy, at concurrency {levels} under {schedules}, "
        f"{against}. It says nothing of other traffic, prompts, builds or hardware."
    )
