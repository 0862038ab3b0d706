"""What is decided for each cell: policy, findings and statistics give it a status with its reasons.

Nothing passes that was not measured. Failing tests run once, at a cell's end, with Holm over the gated cells; only the
failure rate is looked at block by block, by a test that allows it (Wald's).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fuzzer.achieved import not_reached, other_traffic
from fuzzer.history.records import Arm
from fuzzer.judge import Judge
from fuzzer.judge.calibration import calibration_key
from fuzzer.judge.groups import Group
from fuzzer.judge.residue import stale
from fuzzer.judge.tally import ArmTally, CellTally
from fuzzer.oracles.health import collapsed
from fuzzer.oracles.service import LEAK
from fuzzer.plan import SEQUENTIAL_CAP, Cell, Endpoint, Plan, Policy
from fuzzer.stats import Sprt, clopper_pearson_lower, clopper_pearson_upper, holm, mcnemar, requests_needed
from fuzzer.summary import CellStatus, NoiseFloor, Reason, ReasonCode

SIGNIFICANT = 0.01  # the policy's p-value for everything but the rate itself
SHARED_SERVICE_SHARE = 0.05
DRAFTING_SHARE = 0.25  # of the control's draft tokens per output token: under it drafting is off at N
DRAFTING_LEAST = 0.01  # draft tokens per output token, where there is no control to compare with
UNITS = {"request": "answers", "round": "rounds", "prompt": "prompts"}
VACUOUS: tuple[ReasonCode, ...] = (
    "no-speculation", "concurrency-not-reached", "restarted", "changed", "rate-limited", "other-traffic",
)  # fmt: skip
_ARMS: tuple[Arm, ...] = ("candidate", "reference")
BREAKING_KINDS = ("bleed", "corruption", "self-consistency")


def sprt(plan: Plan) -> Sprt:
    """The sequential test of one gated cell of a plan."""
    return sequential_test(plan.policy, len(plan.gated))


def sequential_test(policy: Policy, cells: int) -> Sprt:
    """The sequential test of one of so many gated cells: p0 is a tenth of p1, alpha is split over the cells."""
    return Sprt(
        p0=policy.max_wrong_rate / 10,
        p1=policy.max_wrong_rate,
        alpha=policy.alpha / max(cells, 1),
        beta=1 - policy.confidence,
    )


def wanted(plan: Plan, cell: Cell) -> int:
    """Judged units (answers, or rounds for replicas) that a cell needs when nothing fails."""
    if cell.role == "control":
        return plan.policy.control_requests
    return plan.policy.requests or sprt(plan).clean_size


def cap(plan: Plan, cell: Cell) -> int:
    """Judged units at which an open cell is cut."""
    size = wanted(plan, cell)
    return size * SEQUENTIAL_CAP if plan.policy.sequential and cell.role == "gated" else size


def breaking(judge: Judge, candidate: str, waived: frozenset[str] = frozenset()) -> list[Group]:
    """The groups of certain faults of this candidate that no reference exchange of the run shows."""
    shown = {fault for reference in judge.plan.references for fault in judge.groups.faults("reference", reference.name)}
    return [
        group
        for key, group in judge.groups.by_key.items()
        if group.certain
        and key not in waived
        and group.example.arm == "candidate"
        and group.example.endpoint == candidate
        and (group.example.kind in BREAKING_KINDS or group.example.sub_kind == LEAK)
        and (group.example.kind, group.example.sub_kind) not in shown
        and not (group.example.sub_kind == LEAK and ("candidate", candidate) in judge.company.seen)
    ]


def settled(judge: Judge, cell: Cell, waived: frozenset[str]) -> bool:
    """Whether a cell may stop at this block boundary."""
    tally, plan = judge.cells[cell.key], judge.plan
    if tally.n >= cap(plan, cell) or tally.upset:
        return True
    if cell.role == "control" or not plan.policy.sequential:
        return False
    if sprt(plan).state(tally.k, tally.n) != "open":
        return True
    return tally.blocks > 0 and any(
        any(seen_in(judge, cell, group)) for group in breaking(judge, cell.candidate, waived)
    )


def seen_in(judge: Judge, cell: Cell, group: Group) -> tuple[int, int]:
    """How often a group was seen in the cell itself, and in calibration at its level."""
    level = calibration_key(cell.candidate, cell.lm_head, cell.concurrency)
    return group.cells[cell.key], group.cells[level]


@dataclass(slots=True)
class CellDecision:
    """What was decided for one cell, with the numbers it rests on."""

    status: CellStatus = "open"
    fails: list[Reason] = field(default_factory=list)
    opens: list[Reason] = field(default_factory=list)
    p_paired: float | None = None
    p_paired_adjusted: float | None = None
    p_service: float | None = None
    p_service_adjusted: float | None = None
    floor: NoiseFloor | None = None


def confounded(plan: Plan, candidate: Endpoint) -> str:
    """Why divergence cannot be judged for this candidate, or nothing."""
    reference = plan.reference_of(candidate.name)
    if reference is None:
        return "there is no reference"
    if reference.lm_head is None:
        heads = {other.lm_head for other in plan.candidates if plan.reference_of(other.name) == reference}
        return "head-confounded: the shared reference's lm_head is not stated" if len(heads) > 1 else ""
    if reference.lm_head != candidate.lm_head:
        ours = candidate.lm_head or "unstated"
        return f"head-confounded: lm_head {ours} at the candidate, {reference.lm_head} at the reference"
    return ""


def _untold(floor: NoiseFloor) -> str:
    """Why divergence says nothing although the heads agree, or nothing."""
    if floor.n == 0 and floor.unmatched:
        return "no matched pair: the two sides had seen the prompts unequally often"
    if floor.candidate and floor.untriaged == floor.candidate:
        return "untriaged: neither side gave log-probabilities where the outputs part"
    return ""


def decide(
    judge: Judge,
    floors: Mapping[str, NoiseFloor],
    not_run: Mapping[str, str],
    waived: frozenset[str],
    notes: Mapping[str, Reason],
    *,
    final: bool = True,
) -> dict[str, CellDecision]:
    """Decide every cell; a run that is not ``final`` (interrupted, killed) decides no fixed-size cell by half of it.

    ``floors`` maps a cell's key to the noise floor at its level, ``not_run`` to why it was left out, ``notes`` to why
    it ended before it was settled.
    """
    plan = judge.plan
    decisions = {cell.key: CellDecision(floor=floors.get(cell.key)) for cell in plan.cells()}
    gated = [cell for cell in plan.gated if judge.cells[cell.key].blocks and (final or _complete(judge, cell))]
    _paired(judge, gated, decisions)
    _divergence(plan, gated, decisions)
    for cell in plan.cells():
        decision = decisions[cell.key]
        if not judge.cells[cell.key].blocks:
            decision.status = "not-run"
            if cell.role == "gated":
                decision.opens.append(_unmeasured(cell, not_run, notes))
            continue
        _findings(judge, cell, decision, waived)
        if cell.role == "gated":
            if final or _complete(judge, cell):
                _rate(judge, cell, decision)
            _unfinished(judge, cell, decision, notes)
            _collapse(judge, cell, decision)
            _vacuity(judge, cell, decision)
            decision.status = _status(decision)
        else:
            decision.status = "fail" if decision.fails else "informational"
    return decisions


def _complete(judge: Judge, cell: Cell) -> bool:
    """Whether a cell may be decided at any block (sequential), or has all the answers that were asked for."""
    return judge.plan.policy.sequential or judge.cells[cell.key].n >= wanted(judge.plan, cell)


def _unfinished(judge: Judge, cell: Cell, decision: CellDecision, notes: Mapping[str, Reason]) -> None:
    """A gated cell that ended before it had what was asked for passes nothing."""
    if cell.key in notes:
        decision.opens.append(notes[cell.key])
    elif not _complete(judge, cell):
        tally = judge.cells[cell.key]
        text = f"only {tally.n} of the {wanted(judge.plan, cell)} judged answers asked for were measured"
        decision.opens.append(Reason(code="too-few-judged", cell=cell.key, message=text))


def _unmeasured(cell: Cell, not_run: Mapping[str, str], notes: Mapping[str, Reason]) -> Reason:
    if cell.key in not_run:
        return Reason(code="budget", cell=cell.key, message=f"not run: {not_run[cell.key]}")
    return notes.get(cell.key) or Reason(code="too-few-judged", cell=cell.key, message="nothing was measured here")


def _status(decision: CellDecision) -> CellStatus:
    if decision.fails:
        decision.opens = [reason for reason in decision.opens if reason.code not in ("bound-open", "too-few-judged")]
        return "fail"
    if any(reason.code in VACUOUS for reason in decision.opens):
        return "vacuous"
    return "open" if decision.opens else "pass"


def beyond_floor(floors: Sequence[NoiseFloor]) -> list[tuple[float, float]]:
    """How likely so much more material divergence than the noise floor is by chance: p and Holm-adjusted p, in order.

    One-sided exact McNemar on the prompts of each level; a level is broken where the adjusted p is under 0.01.
    """
    return _tested([(floor.b, floor.c) for floor in floors])


def _tested(counts: Sequence[tuple[int, int]]) -> list[tuple[float, float]]:
    raw = [mcnemar(b, c, alternative="greater") for b, c in counts]
    return list(zip(raw, holm(raw), strict=True))


def _adjusted(cells: Sequence[Cell], counts: Callable[[Cell], tuple[int, int]]) -> list[tuple[Cell, float, float]]:
    return [(cell, *tested) for cell, tested in zip(cells, _tested([counts(cell) for cell in cells]), strict=True)]


def _paired(judge: Judge, gated: Sequence[Cell], decisions: dict[str, CellDecision]) -> None:
    against = "the reference" if judge.plan.references else "itself at concurrency 1"
    for cell, p, adjusted in _adjusted(gated, lambda cell: (judge.cells[cell.key].b, judge.cells[cell.key].c)):
        decision, tally = decisions[cell.key], judge.cells[cell.key]
        decision.p_paired, decision.p_paired_adjusted = p, adjusted
        if adjusted < SIGNIFICANT:
            decision.fails.append(
                Reason(
                    code="worse-than-reference",
                    cell=cell.key,
                    message=f"worse than {against} on the same prompts: {tally.b} failed only on the candidate, "
                    f"{tally.c} only there (exact one-sided McNemar, Holm-adjusted p = {adjusted:.2g})",
                )
            )
    for cell, p, adjusted in _adjusted(
        gated, lambda cell: (judge.cells[cell.key].service_b, judge.cells[cell.key].service_c)
    ):
        decision, tally = decisions[cell.key], judge.cells[cell.key]
        decision.p_service, decision.p_service_adjusted = p, adjusted
        if adjusted < SIGNIFICANT:
            decision.fails.append(
                Reason(
                    code="service-failures",
                    cell=cell.key,
                    message=f"{tally.service_b} requests failed in service only on the candidate, {tally.service_c} "
                    f"only on the reference (p = {adjusted:.2g})",
                )
            )


def _divergence(plan: Plan, gated: Sequence[Cell], decisions: dict[str, CellDecision]) -> None:
    levels: dict[tuple[str, int], list[Cell]] = {}
    floors: dict[tuple[str, int], NoiseFloor] = {}
    for cell in gated:
        floor = decisions[cell.key].floor
        if floor is not None and cell.concurrency > 1:
            note = confounded(plan, plan.endpoint("candidate", cell.candidate)) or _untold(floor)
            decisions[cell.key].floor = floor = floor.model_copy(update={"judged": not note, "note": note})
            if not note:
                levels.setdefault((cell.candidate, cell.concurrency), []).append(cell)
                floors.setdefault((cell.candidate, cell.concurrency), floor)
    for (level, floor), (p, adjusted) in zip(floors.items(), beyond_floor(list(floors.values())), strict=True):
        for member in levels[level]:
            decision = decisions[member.key]
            decision.floor = floor.model_copy(update={"p": p, "p_adjusted": adjusted})
            if adjusted < SIGNIFICANT:
                decision.fails.append(_material(member, floor, adjusted))


def _material(cell: Cell, floor: NoiseFloor, adjusted: float) -> Reason:
    how = "by regret where the reference scored both" if floor.regret and floor.regret.used else "by the smaller gap"
    message = (
        f"material divergence beyond the noise floor, {how}: {floor.b} prompts only against the candidate, {floor.c} "
        f"only reference against itself (Holm-adjusted p = {adjusted:.2g})"
    )
    return Reason(code="material-divergence", cell=cell.key, message=message)


def _findings(judge: Judge, cell: Cell, decision: CellDecision, waived: frozenset[str]) -> None:
    for group in breaking(judge, cell.candidate, waived):
        here, calibration = seen_in(judge, cell, group)
        if here or calibration:
            seen = ((here, "in this cell"), (calibration, "in calibration at its concurrency"))
            where = ", ".join(f"{count} {place}" for count, place in seen if count)
            decision.fails.append(
                Reason(code="certain-finding", cell=cell.key, message=f"{group.example.key}: {where}")
            )


def _rate(judge: Judge, cell: Cell, decision: CellDecision) -> None:
    plan, tally = judge.plan, judge.cells[cell.key]
    policy, unit = plan.policy, UNITS[tally.unit]
    limit = policy.max_wrong_rate
    k, n = tally.k, tally.n
    if n == 0:
        decision.opens.append(Reason(code="too-few-judged", cell=cell.key, message="no answer could be judged"))
        return
    upper = clopper_pearson_upper(k, n, policy.confidence)
    if policy.sequential:
        state = sprt(plan).state(k, n)
        message = f"{k} of {n} {unit} failed: above p0 = {limit / 10:.2%}, estimate {k / n:.2%}"
    else:
        lower = clopper_pearson_lower(k, n, 1 - policy.alpha / len(plan.gated))
        state = "fail" if lower > limit else "pass" if upper < limit else "open"
        message = f"{k} of {n} {unit} failed: at least {lower:.2%}, over the limit of {limit:.2%}"
    if state == "fail":
        decision.fails.append(Reason(code="wrong-rate", cell=cell.key, message=message))
    elif state == "open" or upper >= limit:
        decision.opens.append(_open_reason(policy, cell, k, n, upper, unit))


def _open_reason(policy: Policy, cell: Cell, k: int, n: int, upper: float, unit: str) -> Reason:
    least = requests_needed(policy.max_wrong_rate, policy.confidence)
    if n < least:
        text = f"{n} judged {unit} can fail but cannot pass: {least} clean ones rule out {policy.max_wrong_rate:.2%}"
        return Reason(code="too-few-judged", cell=cell.key, message=text)
    limit = policy.max_wrong_rate
    text = f"{k} of {n} {unit} failed: the bound of {upper:.2%} neither meets nor breaks {limit:.2%}"
    if policy.sequential:
        text = (
            f"{k} of {n} {unit} failed, estimate {k / n:.2%}: the sequential test cannot tell p0 = {limit / 10:.2%} "
            f"from p1 = {limit:.2%} yet"
        )
    return Reason(code="bound-open", cell=cell.key, message=text)


def _control(judge: Judge, cell: Cell) -> ArmTally | None:
    for tally in judge.cells.values():
        if tally.cell.candidate == cell.candidate and tally.cell.concurrency == 1 and tally.cell.key != cell.key:
            return tally.candidate
    return None


def _collapse(judge: Judge, cell: Cell, decision: CellDecision) -> None:
    control, ours = _control(judge, cell), judge.cells[cell.key].candidate
    at_n = collapsed(control.acceptance(), ours.acceptance()) if control is not None else ""
    if at_n:
        decision.fails.append(Reason(code="acceptance-collapse", cell=cell.key, message=at_n))
    if after_long := stale(ours.residue.summary()):
        decision.fails.append(Reason(code="stale-drafts", cell=cell.key, message=after_long))


def _vacuity(judge: Judge, cell: Cell, decision: CellDecision) -> None:
    tally = judge.cells[cell.key]
    opens: list[tuple[ReasonCode, str]] = []
    if judge.plan.policy.require_speculation:
        opens.append(("no-speculation", _not_drafting(judge, cell)))
    arms = (tally.candidate, tally.reference) if judge.plan.references else (tally.candidate,)
    for name, arm in zip(_ARMS, arms, strict=False):
        if arm.restarted:
            opens.append(("restarted", f"the {name} was restarted in mid-run: its counters or its process began anew"))
        if arm.changed:
            opens.append(("changed", f"the {name} is no longer the server that it was: its {arm.changed}"))
        if arm.limited:
            opens.append(("rate-limited", _limited(arm, name)))
        opens.append(("other-traffic", other_traffic(judge, cell, name)))
        opens.append(("concurrency-not-reached", not_reached(arm, cell, name)))
    opens.extend(_reference_unfit(tally))
    decision.opens.extend(Reason(code=code, cell=cell.key, message=text) for code, text in opens if text)


def _limited(arm: ArmTally, name: str) -> str:
    return (
        f"the {name} refused {arm.limited} requests by number (HTTP 429), and none of them was sent again: raise the "
        "limit, go round the gateway that sets it, or lower --concurrency"
    )


def _not_drafting(judge: Judge, cell: Cell) -> str:
    ours, control = judge.cells[cell.key].candidate, _control(judge, cell)
    if ours.drafted <= 0:
        return (
            "drafting was not seen here: neither the engine's metrics nor its replies tell of one draft token "
            "(if this engine cannot tell, use --no-require-speculation)"
        )
    now, alone = ours.drafted_per_token, control.drafted_per_token if control else None
    if now is None:
        return ""
    if alone and now < DRAFTING_SHARE * alone:
        return f"hardly any drafting here: {now:.2f} draft tokens per output token, {alone:.2f} at concurrency 1"
    return f"hardly any drafting here: {now:.3f} draft tokens per output token" if now < DRAFTING_LEAST else ""


def _reference_unfit(tally: CellTally) -> list[tuple[ReasonCode, str]]:
    """What makes the reference's side of a cell no measure for the candidate."""
    sent, errors = tally.reference.counts["sent"], tally.reference.counts["error"]
    found: list[tuple[ReasonCode, str]] = []
    if sent and tally.service_shared / sent > SHARED_SERVICE_SHARE:
        found.append(
            ("shared-service-failures", f"{tally.service_shared} of {sent} requests failed in service on both sides")
        )
    elif sent and errors / sent > SHARED_SERVICE_SHARE:
        found.append(("reference-faulty", f"{errors} of {sent} requests failed in service on the reference"))
    if tally.reference.drafted > 0:
        found.append(("not-comparable", "the reference drafts itself: it serves with speculation"))
    return found
