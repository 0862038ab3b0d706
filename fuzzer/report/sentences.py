"""The verdict in one sentence, what broke it, what it rules out: the same words in every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from fuzzer.finding import CERTAINTIES, Donor, Kind
from fuzzer.report.text import clean
from fuzzer.report.words import (
    STATUS,
    decisive,
    duration,
    estimate,
    fraction,
    listed,
    ordered,
    p_is,
    percent,
    place,
    place_of,
    plural,
)
from fuzzer.summary import (
    CellSummary,
    Comparison,
    EndpointSummary,
    FamilyCalibration,
    FindingGroup,
    Reason,
    ReasonCode,
    Summary,
)

Tone = Literal["good", "bad", "unsure"]

FAILING: Final[frozenset[ReasonCode]] = frozenset(
    (
        "certain-finding",
        "wrong-rate",
        "worse-than-reference",
        "service-failures",
        "material-divergence",
        "acceptance-collapse",
        "stale-drafts",
    )
)
_BECAUSE: Final[dict[ReasonCode, str]] = {
    "bound-open": "too few answers to tell: the bound is neither met nor broken",
    "no-speculation": "speculation was not seen active, so nothing was tested",
    "concurrency-not-reached": "the concurrency asked for was not reached",
    "too-few-judged": "too few answers could be judged",
    "not-comparable": "candidate and reference are not comparable",
    "truncated": "too many answers were cut off at the token limit",
    "reference-faulty": "the reference is faulty itself",
    "shared-service-failures": "candidate and reference both failed to answer",
    "budget": "the time budget ran out before the cells were decided",
    "restarted": "a server restarted in mid-run",
    "changed": "a server was replaced in mid-run",
    "rate-limited": "a server refused requests by number",
    "other-traffic": "somebody else used a server",
    "unavailable": "an endpoint cannot be reached or used",
    "interrupted": "stopped before the end; what was measured is kept",
}
_KINDS: Final[dict[Kind, str]] = {
    "bleed": "another request's content in an answer",
    "corruption": "corrupted output",
    "self-consistency": "a reply that contradicts itself",
}
_PLACES: Final = 3
_STAGES: Final = 6
_P0: Final = 10  # DESIGN: the sequential test's p0 is a tenth of the allowed rate


def tone(summary: Summary) -> Tone:
    """Whether the verdict is good news."""
    return "good" if summary.verdict == "pass" else "bad" if summary.verdict == "fail" else "unsure"


def verdict_line(summary: Summary) -> str:
    """The verdict in one sentence, its name first: what a person reads if they read one line."""
    sentence = {"pass": _passed, "fail": _failed}.get(summary.verdict, _undecided)(summary)
    return f"{summary.verdict.upper()}: {sentence}"


def grouped(reasons: Iterable[Reason], summary: Summary) -> dict[str, list[Reason]]:
    """The reasons by what they say: a finding or a message that holds of several cells is one."""
    keys = [group.key for group in summary.findings]
    found: dict[str, list[Reason]] = {}
    for reason in reasons:
        named = [key for key in keys if reason.code == "certain-finding" and reason.message.startswith(f"{key}:")]
        found.setdefault(next(iter(named), reason.message), []).append(reason)
    return found


def reasons_once(summary: Summary) -> list[str]:
    """What the verdict rests on beside its own sentence: each reason once, with all the cells that it holds of."""
    said = []
    failing = [reason for reason in summary.reasons if reason.code in FAILING]
    for key, alike in grouped(summary.reasons, summary).items():
        group = next((group for group in summary.findings if group.key == key and group.counts), None)
        if summary.verdict == "fail" and failing[:1] == alike[:1] and (group or len(alike) == 1):
            continue  # the sentence says it
        if group is not None:
            said.append(f"{clean(key, 200)}: {group.count} in the run: {counted(group, summary)}")
            continue
        places = listed([place_of(reason.cell, summary) for reason in alike if reason.cell])
        said.append(f"{clean(alike[0].message, 1000)}{f' (at {places})' if places else ''}")
    return said


def counted(group: FindingGroup, summary: Summary) -> str:
    """How often a finding was seen where: ``1 in preflight, 9 in calibration at concurrency 8, 3 in ...``."""
    stages = ("preflight", "calibration")

    def order(key: str) -> tuple[int, str]:
        last = key.rpartition("/")[2]
        return (stages.index(last) if last in stages else len(stages), key)

    keys = sorted(group.counts, key=order)
    parts = [f"{group.counts[key]} in {_stage(key, summary)}" for key in keys[:_STAGES]]
    rest = sum(group.counts[key] for key in keys[_STAGES:])
    return ", ".join([*parts, *([f"{rest} in {plural(len(keys) - _STAGES, 'more cell')}"] if rest else [])])


def _stage(key: str, summary: Summary) -> str:
    """``closed-loop at concurrency 8``; the candidate and its lm_head only where there are several."""
    level, _, stage = key.rpartition("/")
    alike = next((cell for cell in summary.cells if cell.key.rpartition("/")[0] == level), None)
    owners = {(cell.candidate, cell.lm_head) for cell in summary.cells}
    if alike is None:
        return clean(key if len(owners) > 1 else stage, 60)
    head = f", {_head(alike.candidate, alike.lm_head)}" if len(owners) > 1 else ""
    return f"{clean(stage, 40)} at concurrency {alike.concurrency}{head}"


def exclusion(cell: CellSummary, summary: Summary) -> float | None:
    """The failure rate that a passed cell rules out, or None if it rules out nothing.

    A sequential test that saw failures was stopped by them, so it earns no more than the rate it tests for.
    """
    if cell.status not in ("pass", "informational") or not cell.rate.n or cell.bound is None:
        return None
    if cell.sequential and cell.rate.k:
        return summary.max_wrong_rate
    return cell.bound.value


def exclusions(summary: Summary) -> list[str]:
    """What the run rules out, a line for each cell that measured anything; the limits of the claim included."""
    cells = ordered(summary.cells)
    barren = [cell for cell in cells if exclusion(cell, summary) is None]
    if len(barren) <= _PLACES:
        return [_exclusion_line(cell, summary) for cell in cells] or ["nothing: no cell was measured"]
    lines = [_exclusion_line(cell, summary) for cell in cells if cell not in barren]
    counted = Counter(STATUS[cell.status] for cell in barren)
    why = ", ".join(f"{count} {status}" for status, count in counted.most_common())
    return [*lines, f"nothing in the other {plural(len(barren), 'cell')}: {why}"]


def undecided(summary: Summary) -> list[str]:
    """Why cells are open, vacuous or not run, where the run's reasons do not say it."""
    told = {(reason.cell, reason.message) for reason in summary.reasons}
    return [
        f"{place(cell, summary)}: {STATUS[cell.status]}: {clean(message, 400)}"
        for cell in ordered(summary.cells)
        if cell.status in ("open", "vacuous", "not-run")
        for message in cell.reasons
        if (cell.key, message) not in told
    ]


def guards(summary: Summary) -> list[str]:
    """The vacuity guards that fired, where neither the run's nor a cell's reasons say it."""
    told = {f"{reason.cell}: {reason.message}" for reason in summary.reasons}
    told |= {f"{cell.key}: {message}" for cell in summary.cells for message in cell.reasons}
    return [clean(guard, 400) for guard in summary.vacuity if guard not in told]


def comparison(pair: Comparison) -> str:
    """Two candidates on the same prompts, in a sentence."""
    left, right = _head(pair.left, pair.left_lm_head), _head(pair.right, pair.right_lm_head)
    return (
        f"{left} fails {estimate(pair.left_rate)}, {right} fails {estimate(pair.right_rate)}, at concurrency "
        f"{pair.concurrency}, {pair.schedule}: exact McNemar {p_is(pair.p_two_sided)} (two-sided; {pair.b} "
        f"failed on {clean(pair.left, 40)} only, {pair.c} on {clean(pair.right, 40)} only; paired by {pair.unit})"
    )


def endpoint(end: EndpointSummary) -> str:
    """Who stood at one end, as far as it told, in a line."""
    speculation = {True: "speculation on", False: "speculation off", None: "speculation unknown"}[end.speculation]
    told = [end.engine, end.model, f"lm_head {end.lm_head or 'unstated'}", speculation]
    told += [f"{end.slots} slots"] if end.slots else []
    told += [f"without {listed(end.dropped_parameters)}, which it refuses"] if end.dropped_parameters else []
    return clean(f"{end.name} ({end.role}) {end.url}: {', '.join(filter(None, told))}", 400)


def run_line(summary: Summary) -> str:
    """Which run this is and what it took, in a line."""
    lost = f", {summary.lost:,} lost" if summary.lost else ""
    resumed = f", resumed {plural(summary.resumed, 'time')}" if summary.resumed else ""
    return clean(
        f"run {summary.run_id}, started {summary.started}, {plural(summary.exchanges, 'exchange')}{lost} in "
        f"{duration(summary.seconds)}{resumed}, seed {summary.seed}, plan {summary.plan_hash}, specfuzz "
        f"{summary.tool_version}",
        400,
    )


def ranked(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Finding groups, those that break the gate first, then by certainty and count; waived ones last."""
    return sorted(
        groups,
        key=lambda group: (
            group.waived,
            not group.breaks_gate,
            CERTAINTIES.index(group.certainty),
            -group.count,
            group.key,
        ),
    )


def marks(group: FindingGroup) -> str:
    """What a finding group means for the verdict: count, certainty, and whether it counts."""
    said = [group.certainty, plural(group.count, "time"), f"on the {group.arm}"]
    said += ["breaks the gate"] if group.breaks_gate and not group.waived else []
    said += ["waived"] if group.waived else []
    said += ["also on the reference"] if group.also_on_reference else []
    return ", ".join(said)


def seen_at(group: FindingGroup, summary: Summary) -> str:
    """Where a finding group was seen: up to three cells in words, and how many more; empty if nowhere in particular."""
    places = [place_of(key, summary) for key in group.cells[:_PLACES]]
    more = [f"{plural(len(group.cells) - _PLACES, 'more cell')}"] if len(group.cells) > _PLACES else []
    return "; ".join((*places, *more))


def donor(found: Donor) -> str:
    """Whose content bled: prompt, exchange, channel and when; the span is told apart, since it is server text."""
    prompt = f"prompt {clean(found.prompt, 60)}" if found.prompt else "nobody's prompt"
    exchange = f", exchange {clean(found.exchange, 100)}" if found.exchange else ", exchange unknown"
    return f"{prompt}{exchange}, channel {found.channel}, {found.when}"


def calibrated(families: Sequence[FamilyCalibration]) -> list[str]:
    """What calibration kept in all, and the families and levels that lost prompts, worst first."""
    if not families:
        return []
    kept, tried = sum(family.kept for family in families), sum(family.tried for family in families)
    lost = [family for family in families if family.kept < family.tried or family.left_out]
    lost.sort(key=lambda family: family.kept - family.tried)
    recalled = sum(family.recalled for family in families)
    known = f" ({recalled} of them known from an earlier run)" if recalled else ""
    return [f"kept {kept}/{tried} prompts{known}, over {len(families)} families and levels", *map(dropped, lost)]


def dropped(family: FamilyCalibration) -> str:
    """What calibration kept of a family, with its denominator and why the rest went."""
    why = [f"{family.wrong_alone} wrong even alone"] if family.wrong_alone else []
    why += [f"{family.wrong_at_n_only} right alone but wrong at N"] if family.wrong_at_n_only else []
    rest = f" ({', '.join(why)})" if why else ""
    rest += f"; asked no more: {clean(family.left_out, 80)}" if family.left_out else ""
    return f"{clean(family.family, 40)} {clean(family.level, 20)}: kept {family.kept}/{family.tried}{rest}"


def _head(name: str, lm_head: str | None) -> str:
    return f"{clean(name, 40)} (lm_head {clean(lm_head, 40) if lm_head else 'unstated'})"


def _passed(summary: Summary) -> str:
    gated = [cell for cell in ordered(summary.cells) if cell.role == "gated"]
    ruled = [rate for cell in gated if (rate := exclusion(cell, summary)) is not None]
    if not ruled:
        return "every bound of the policy is met"
    levels = listed([str(level) for level in sorted({cell.concurrency for cell in gated})])
    each = f", in each of {len(gated)} gated cells" if len(gated) > 1 else ""
    weaker = "" if summary.reference_used else "; without a reference, so divergence was not judged"
    return (
        f"ruled out: a failure rate of {percent(max(ruled))} or more at {percent(summary.confidence)} (one-sided), "
        f"at concurrency {levels}{each}{weaker}"
    )


def _failed(summary: Summary) -> str:
    reasons = [reason for reason in summary.reasons if reason.code in FAILING]
    if not reasons:
        return "a bound of the policy is broken"
    return f"{broken(reasons[0], summary)}{_more(len(grouped(reasons, summary)) - 1)}"


def _undecided(summary: Summary) -> str:
    first = next((reason for reason in summary.reasons if reason.code in _BECAUSE), None)
    if first is None:
        return "nothing was decided"
    where = f", at {place_of(first.cell, summary)}" if first.cell else ""
    return f"{_BECAUSE[first.code]}{where}{_more(len(grouped(summary.reasons, summary)) - 1)}"


def _more(reasons: int) -> str:
    return f" (and {plural(reasons, 'more reason')})" if reasons else ""


def broken(reason: Reason, summary: Summary) -> str:
    """What broke the gate, with its numbers, as far as the cell tells them; else the reason's own message."""
    cell = next((cell for cell in summary.cells if cell.key == reason.cell), None)
    where = f", at {place(cell, summary)}" if cell else ""
    if reason.code == "certain-finding" and (group := _breaking(reason, summary)):
        kind = _KINDS.get(group.kind, group.kind)
        what = f"{kind} ({clean(group.sub_kind, 60)}, {group.certainty})"
        if group.counts:
            return f"{what}; {group.count} in the run: {counted(group, summary)}"
        return f"{what}{where}; {plural(group.count, 'time')} in the run's {plural(summary.exchanges, 'exchange')}"
    said = _cell_said(reason, cell, summary) if cell else None
    return f"{said}{where}" if said else clean(reason.message, 300)


def _cell_said(reason: Reason, cell: CellSummary, summary: Summary) -> str | None:
    if reason.code == "wrong-rate" and cell.rate.n:
        limit = f"failure rate over {percent(summary.max_wrong_rate)}"
        if cell.sequential:
            limit = f"failure rate above p0 = {percent(summary.max_wrong_rate / _P0)} (sequential test)"
        return f"{limit}, estimate {estimate(cell.rate)}"
    if reason.code == "worse-than-reference" and cell.paired:
        paired, there = cell.paired, f" v {fraction(cell.reference_rate)}" if cell.reference_rate else ""
        other = "the reference" if paired.against == "reference" else clean(paired.against, 60)
        return (
            f"worse than {other}, {fraction(cell.rate)}{there} failures, {paired.b} only here, {paired.c} only there "
            f"(McNemar {p_is(decisive(paired))})"
        )
    if reason.code == "material-divergence" and cell.noise_floor:
        floor = cell.noise_floor
        return (
            f"material divergence, {floor.candidate_material}/{floor.n} prompts v {floor.reference_material}/{floor.n} "
            "of the reference against itself"
        )
    return None


def _breaking(reason: Reason, summary: Summary) -> FindingGroup | None:
    """The finding group that a reason speaks of, by its key, or the first that breaks the gate."""
    groups = [group for group in ranked(summary.findings) if group.breaks_gate and not group.waived]
    told = [group for group in groups if reason.message.startswith(f"{group.key}:")]
    return next(iter(told or groups), None)


def _exclusion_line(cell: CellSummary, summary: Summary) -> str:
    rate = exclusion(cell, summary)
    at = f"{place(cell, summary)}{' (control, no bound required)' if cell.role == 'control' else ''}"
    if rate is None:
        return f"{at}: nothing ({STATUS[cell.status]})"
    rounds = cell.bound is not None and cell.bound.unit == "round"
    what = "rounds with a failure, a share" if rounds else "a failure rate"
    how = ", sequential test" if cell.sequential and cell.rate.k else ""
    line = f"{at}: {what} of {percent(rate)} or more ({fraction(cell.rate)} failed{how})"
    if cell.clusters:
        unit, held = cell.clusters.unit, f"{cell.clusters.failed}/{cell.clusters.n} held one"
        share = percent(cell.clusters.bound)
        line += f"; by {unit}, since failures can cluster: {share} or more of the {unit}s ({held})"
    return line
