"""What is decided for each cell: policy, findings and statistics give it a status with its reasons.

Nothing passes that was not measured. Failing tests run once, at a cell's end, with Holm over the gated cells; only the
failure rate is looked at block by block, by a test that allows it (Wald's).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fuzzer.judge import Judge
from fuzzer.judge.calibration import calibration_key
from fuzzer.judge.groups import Group
from fuzzer.oracles.health import collapsed
from fuzzer.plan import SEQUENTIAL_CAP, Cell, Endpoint, Plan, Policy
from fuzzer.stats import Sprt, clopper_pearson_lower, clopper_pearson_upper, holm, mcnemar, requests_needed
from fuzzer.summary import CellStatus, NoiseFloor, Reason

SIGNIFICANT = 0.01  # the policy's p-value for everything but the rate itself
SHARE_AT_N = 0.99
SHARED_SERVICE_SHARE = 0.05
FILLED_SHARE = 0.75  # of N running, as the server tells; under it the batch never filled
FILLED_SAMPLES = 10
BREAKING_KINDS = ("bleed", "corruption", "self-consistency")


def sprt(plan: Plan) -> Sprt:
    """The sequential test of one gated cell: p0 is a tenth of p1, alpha is split over the gated cells."""
    policy = plan.policy
    return Sprt(
        p0=policy.max_wrong_rate / 10,
        p1=policy.max_wrong_rate,
        alpha=policy.alpha / max(len(plan.gated), 1),
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
        and group.example.kind in BREAKING_KINDS
        and (group.example.kind, group.example.sub_kind) not in shown
    ]


def settled(judge: Judge, cell: Cell, waived: frozenset[str]) -> bool:
    """Whether a cell may stop at this block boundary."""
    tally, plan = judge.cells[cell.key], judge.plan
    if tally.n >= cap(plan, cell):
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
    rate_failed: bool = False


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


def decide(
    judge: Judge,
    floors: Mapping[str, NoiseFloor],
    not_run: Mapping[str, str],
    waived: frozenset[str],
    notes: Mapping[str, Reason],
) -> dict[str, CellDecision]:
    """Decide every cell.

    ``floors`` maps a cell's key to the noise floor at its level, ``not_run`` to why it was left out, ``notes`` to why
    it ended before it was settled.
    """
    plan = judge.plan
    decisions = {cell.key: CellDecision(floor=floors.get(cell.key)) for cell in plan.cells()}
    gated = [cell for cell in plan.gated if cell.key not in not_run and judge.cells[cell.key].blocks]
    _paired(judge, gated, decisions)
    _divergence(plan, gated, decisions)
    for cell in plan.cells():
        decision = decisions[cell.key]
        if cell.key in not_run or not judge.cells[cell.key].blocks:
            decision.status = "not-run"
            if cell.role == "gated":
                decision.opens.append(_unmeasured(cell, not_run, notes))
            continue
        _findings(judge, cell, decision, waived)
        if cell.role == "gated":
            _rate(judge, cell, decision)
            if cell.key in notes and any(reason.code in ("bound-open", "too-few-judged") for reason in decision.opens):
                decision.opens.append(notes[cell.key])
            _collapse(judge, cell, decision)
            _vacuity(judge, cell, decision)
            decision.status = _status(decision)
        else:
            decision.status = "fail" if decision.fails else "informational"
    return decisions


def _unmeasured(cell: Cell, not_run: Mapping[str, str], notes: Mapping[str, Reason]) -> Reason:
    if cell.key in not_run:
        return Reason(code="budget", cell=cell.key, message=f"not run: {not_run[cell.key]}")
    return notes.get(cell.key) or Reason(code="too-few-judged", cell=cell.key, message="nothing was measured here")


def _status(decision: CellDecision) -> CellStatus:
    if decision.fails:
        decision.opens = [reason for reason in decision.opens if reason.code not in ("bound-open", "too-few-judged")]
        return "fail"
    if any(reason.code in ("no-speculation", "concurrency-not-reached", "restarted") for reason in decision.opens):
        return "vacuous"
    return "open" if decision.opens else "pass"


def _adjusted(cells: Sequence[Cell], counts: Callable[[Cell], tuple[int, int]]) -> list[tuple[Cell, float, float]]:
    raw = [mcnemar(*counts(cell), alternative="greater") for cell in cells]
    return list(zip(cells, raw, holm(raw), strict=True))


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
    for cell in gated:
        floor = decisions[cell.key].floor
        if floor is not None and cell.concurrency > 1:
            note = confounded(plan, plan.endpoint("candidate", cell.candidate))
            decisions[cell.key].floor = floor.model_copy(update={"judged": not note, "note": note})
            if not note:
                levels.setdefault((cell.candidate, cell.concurrency), []).append(cell)

    def discordant(cell: Cell) -> tuple[int, int]:
        floor = decisions[cell.key].floor
        return (floor.b, floor.c) if floor else (0, 0)

    for cell, p, adjusted in _adjusted([cells[0] for cells in levels.values()], discordant):
        for member in levels[cell.candidate, cell.concurrency]:
            floor = decisions[member.key].floor
            if floor is not None:
                decisions[member.key].floor = floor.model_copy(update={"p": p, "p_adjusted": adjusted})
        b, c = discordant(cell)
        if adjusted < SIGNIFICANT:
            decisions[cell.key].fails.append(
                Reason(
                    code="material-divergence",
                    cell=cell.key,
                    message=f"material divergence beyond the noise floor: {b} prompts only against the candidate, {c} "
                    f"only reference against itself (Holm-adjusted p = {adjusted:.2g})",
                )
            )


def _findings(judge: Judge, cell: Cell, decision: CellDecision, waived: frozenset[str]) -> None:
    for group in breaking(judge, cell.candidate, waived):
        here, calibration = seen_in(judge, cell, group)
        if here or calibration:
            where = f"{here} in this cell" + (
                f", {calibration} in calibration at its concurrency" if calibration else ""
            )
            decision.fails.append(
                Reason(code="certain-finding", cell=cell.key, message=f"{group.example.key}: {where}")
            )


def _rate(judge: Judge, cell: Cell, decision: CellDecision) -> None:
    plan, tally = judge.plan, judge.cells[cell.key]
    policy, unit = plan.policy, "rounds" if tally.by_round else "answers"
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
        decision.rate_failed = True
        decision.fails.append(Reason(code="wrong-rate", cell=cell.key, message=message))
    elif state == "open" or upper >= limit:
        decision.opens.append(_open_reason(policy, cell, k, n, upper, unit))


def _open_reason(policy: Policy, cell: Cell, k: int, n: int, upper: float, unit: str) -> Reason:
    least = requests_needed(policy.max_wrong_rate, policy.confidence)
    if n < least:
        text = f"{n} judged {unit} can fail but cannot pass: {least} clean ones rule out {policy.max_wrong_rate:.2%}"
        return Reason(code="too-few-judged", cell=cell.key, message=text)
    text = f"{k} of {n} {unit} failed: the bound of {upper:.2%} neither meets nor breaks {policy.max_wrong_rate:.2%}"
    return Reason(code="bound-open", cell=cell.key, message=text)


def _collapse(judge: Judge, cell: Cell, decision: CellDecision) -> None:
    control = next(
        (
            tally.candidate
            for tally in judge.cells.values()
            if tally.cell.candidate == cell.candidate and tally.cell.concurrency == 1 and tally.cell.key != cell.key
        ),
        None,
    )
    if control is None:
        return
    ours = judge.cells[cell.key].candidate
    message = collapsed(control.acceptance(), ours.acceptance())
    if message:
        decision.fails.append(Reason(code="acceptance-collapse", cell=cell.key, message=message))


def _vacuity(judge: Judge, cell: Cell, decision: CellDecision) -> None:
    tally, policy = judge.cells[cell.key], judge.plan.policy
    if policy.require_speculation and tally.candidate.drafted <= 0:
        decision.opens.append(
            Reason(
                code="no-speculation",
                cell=cell.key,
                message="drafting was not seen here: neither the engine's metrics nor its replies tell of one draft "
                "token (if this engine cannot tell, use --no-require-speculation)",
            )
        )
    arms = (tally.candidate, tally.reference) if judge.plan.references else (tally.candidate,)
    for name, arm in zip(("candidate", "reference"), arms, strict=False):
        if arm.restarted:
            text = f"the {name}'s counters went backwards: its server was restarted during the cell"
            decision.opens.append(Reason(code="restarted", cell=cell.key, message=text))
        running = arm.running if cell.schedule == "closed-loop" else ()
        text = _not_reached(arm.shares, running, cell.concurrency, name)
        if text:
            decision.opens.append(Reason(code="concurrency-not-reached", cell=cell.key, message=text))
    pairs = tally.reference.counts["sent"]
    if pairs and tally.service_shared / pairs > SHARED_SERVICE_SHARE:
        text = f"{tally.service_shared} of {pairs} requests failed in service on both sides"
        decision.opens.append(Reason(code="shared-service-failures", cell=cell.key, message=text))


def _not_reached(shares: Sequence[float], running: Sequence[float], concurrency: int, name: str) -> str:
    share = sum(shares) / len(shares) if shares else 0.0
    if share < SHARE_AT_N:
        return f"{concurrency} in flight at the {name} for only {share:.1%} of the time (99 % is asked for)"
    if len(running) >= FILLED_SAMPLES and max(running) < FILLED_SHARE * concurrency:
        return (
            f"the {name} never ran more than {max(running):.0f} requests at once with {concurrency} in flight: "
            f"its batch limit is too small"
        )
    return ""
