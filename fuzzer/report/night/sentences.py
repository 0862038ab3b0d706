"""What a night comes to, in sentences: the same words in every format, clean of all that could move or hide text."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, Literal

from fuzzer.night import Boot, Drift, Leg, Night, NightCell, NightCode, NightFinding, NightReason, Outage
from fuzzer.report.sentences import Tone
from fuzzer.report.text import clean
from fuzzer.report.words import duration, listed, p_value, percent, plural

FAILING: Final[frozenset[NightCode]] = frozenset(
    (
        "certain-finding",
        "wrong-rate",
        "worse-than-reference",
        "service-failures",
        "material-divergence",
        "acceptance-collapse",
        "stale-drafts",
        "drift",
        "bad-boot",
    )
)
CODES: Final[dict[NightCode, str]] = {
    "passed": "every gated cell was judged and met its bound",
    "certain-finding": "a fault with no innocent explanation",
    "wrong-rate": "too high a failure rate",
    "worse-than-reference": "worse than the reference on the same prompts",
    "service-failures": "requests fail that the reference answers",
    "material-divergence": "output parts from the reference's farther than rounding explains",
    "acceptance-collapse": "drafts are hardly accepted any more",
    "stale-drafts": "what a slot drafts from outlives its requests",
    "drift": "answers fail more often the longer the server runs",
    "bad-boot": "one start of the server was worse than the others",
    "bound-open": "too few answers to tell: a bound is neither met nor broken",
    "leg-undecided": "a leg came to no verdict",
    "outage": "an end could not be measured for a time",
    "interrupted": "the night has not come to its end",
    "disk": "the disk was full, or its limit reached",
}
Outcome = Literal["clean", "failures", "FAIL", "not judged"]

_STATUS: Final = {"pass": "pass", "fail": "FAIL", "open": "open"}
_FEW: Final = 3


def tone(night: Night) -> Tone:
    """Whether the verdict is good news."""
    return "good" if night.verdict == "pass" else "bad" if night.verdict == "fail" else "unsure"


def verdict_line(night: Night) -> str:
    """The verdict in one sentence, its name first: what a person reads if they read one line."""
    failed, judged = totals(night)
    if night.verdict == "pass":
        said = (
            f"{failed:,} of {judged:,} judged answers failed in {duration(night.active)}; every gated cell is under "
            f"{percent(night.max_wrong_rate)} at {percent(night.confidence)}"
        )
    else:
        codes = [reason.code for reason in night.reasons if night.verdict != "fail" or reason.code in FAILING]
        words = [CODES[code] for code in dict.fromkeys(codes)]
        more = f", and {plural(len(words) - _FEW, 'more reason')}" if len(words) > _FEW else ""
        said = (
            f"{'; '.join(words[:_FEW]) or 'no reason was given'}{more}; {failed:,} of {judged:,} judged answers failed"
        )
    return f"{night.verdict.upper()}: {said}"


def reasons(night: Night) -> list[str]:
    """Every reason with its place, those that fail the night first; what passed is told by `exclusions`."""
    found = sorted(
        (reason for reason in night.reasons if reason.code != "passed"), key=lambda reason: reason.code not in FAILING
    )
    return [reason_line(reason, night) for reason in found]


def reason_line(reason: NightReason, night: Night) -> str:
    """One reason: where, and what."""
    at = f"{place_of(reason.cell, night)}: " if reason.cell else ""
    return f"{at}{clean(reason.message, 500)} [{reason.code}]"


def totals(night: Night) -> tuple[int, int]:
    """Failed and judged answers of all gated cells together."""
    gated = [cell for cell in night.cells if cell.role == "gated"]
    return sum(cell.k for cell in gated), sum(cell.n for cell in gated)


def amounts(night: Night) -> list[str]:
    """How much was done: legs, answers, boots, and what was lost on the way."""
    failed, judged = totals(night)
    why = [f"{sum(leg.why == each for leg in night.legs)} {word}" for each, word in _WHY.items()]
    said = [
        f"{plural(len(night.legs), 'leg')} in {duration(night.active)} of work ({listed(why)}); "
        f"{clean(night.started, 40)} to {clean(night.ended, 40)}",
        f"gated cells: {failed:,} of {plural(judged, 'judged answer')} failed{_share(failed, judged)}; "
        f"{plural(night.exchanges, 'exchange')} in all, {night.lost:,} of them lost",
        f"{plural(len(night.boots), 'boot')} of the candidate, {plural(len(night.outages), 'outage')}, "
        f"{plural(night.processes, 'process').replace('processs', 'processes')} of specfuzz",
    ]
    return [*said, *kept(night)]


_WHY: Final = {"rotation": "by rotation", "findings": "for findings", "anchor": "of the anchor set"}


def kept(night: Night) -> list[str]:
    """What the disk limit took, if anything, and what an interruption cost."""
    said = []
    if night.dropped:
        said.append(
            f"the bulk history of {len(night.dropped)} of {plural(len(night.legs), 'leg')} was dropped for the disk "
            f"limit (leg {_spans(night.dropped)}); their counts, findings and bundles stand; "
            f"{night.bytes_kept / 1e6:,.0f} MB are kept"
        )
    if night.lost:
        said.append(
            f"{plural(night.lost, 'exchange')} of {night.exchanges:,} in flight when a process ended: lost, in no rate"
        )
    return said


def exclusions(night: Night) -> list[str]:
    """What the night rules out, cell by cell; the limits of the claim included."""
    return [exclusion(cell, night) for cell in ordered(night.cells)] or ["nothing: no cell was measured"]


def exclusion(cell: NightCell, night: Night) -> str:
    """What one cell rules out."""
    counts = f"{cell.k:,} of {cell.n:,} failed in {plural(cell.legs, 'leg')}"
    where = f"{place(cell, night)}{' (the control)' * (cell.role == 'control')}"
    if not cell.n:
        return f"{where}: nothing; no answer was judged"
    if cell.status == "fail":
        return f"{where}: nothing is cleared; the rate is at least {percent(cell.lower)} ({counts})"
    more = " (not decided)" if cell.status == "open" and cell.role == "gated" else ""
    more += "; yet a finding in its legs breaks the night" if cell.key in broken(night) else ""
    return f"{where}: a failure rate above {percent(cell.upper)} ({counts}){more}"


def drift_line(drift: Drift) -> str:
    """What the drift test says, with the counts that it rests on."""
    whose = "the anchor set" if drift.on == "anchors" else "all legs but those sent for findings"
    halves = " then ".join(f"{k:,} of {n:,}{_share(k, n)}" for k, n in (drift.early, drift.late))
    counts = f"{plural(drift.legs, 'leg')}, first and second half: {halves} failed"
    who = f"{clean(drift.candidate, 60)}, on {whose}"
    if drift.p is None:
        return f"{who}: too few failures or legs to tell ({counts})"
    said = "answers fail MORE OFTEN later in a boot's life" if drift.flagged else "no drift shown"
    return f"{who}: {said}, p {p_value(drift.p)} ({counts})"


def boots_line(night: Night) -> str:
    """Whether the starts of the server differ."""
    bad = [boot for boot in night.boots if boot.bad]
    if not night.boots:
        return "No boot was seen."
    if len(night.boots) == 1:
        return "One boot: whether another start of the server would do better or worse cannot be told."
    if not bad:
        return f"No boot of {len(night.boots)} fails more often than the others."
    return "; ".join(f"Boot {boot.number} is BAD: {boot_counts(boot)}, p {_p(boot.p)}" for boot in bad)


def boot_counts(boot: Boot) -> str:
    """How many answers of a boot failed."""
    legs = plural(boot.legs, "leg")
    return f"{boot.k:,} of {boot.n:,} judged answers failed{_share(boot.k, boot.n)} in {legs}"


def outage_line(outage: Outage) -> str:
    """One outage."""
    return f"{clean(outage.end, 60)}, {clean(outage.since, 40)}, {duration(outage.seconds)}: {clean(outage.why, 300)}"


def broken(night: Night) -> set[str]:
    """The keys of the cells that break the night: by a count, or by a finding in one of their legs."""
    named = {reason.cell for reason in night.reasons if reason.code in FAILING and reason.cell}
    places = {
        (leg.concurrency, leg.schedule, found.key.rpartition("@")[2])
        for leg in night.legs
        for found in leg.findings
        if found.breaks
    }
    held = {cell.key for cell in night.cells if (cell.concurrency, cell.schedule, cell.candidate) in places}
    return named | held | {cell.key for cell in night.cells if cell.status == "fail"}


def status(cell: NightCell) -> str:
    """The decision in a word; a control decides nothing."""
    return "info only" if cell.role == "control" and cell.status != "fail" else _STATUS[cell.status]


def place(cell: NightCell, night: Night) -> str:
    """Which cell, in words; the candidate is named only where there are several."""
    head = f", lm_head {clean(cell.lm_head, 40)}" if cell.lm_head else ""
    several = len({other.candidate for other in night.cells}) > 1
    who = f", candidate {clean(cell.candidate, 40)}" if several else ""
    return f"concurrency {cell.concurrency}{head}, {cell.schedule}{who}"


def place_of(key: str, night: Night) -> str:
    """`place` of a cell's key; other keys stay as they are."""
    found = next((cell for cell in night.cells if cell.key == key), None)
    return place(found, night) if found is not None else clean(key, 100)


def ordered(cells: Iterable[NightCell]) -> list[NightCell]:
    """Cells by concurrency, then lm_head precision, candidate and schedule."""
    return sorted(cells, key=lambda cell: (cell.concurrency, cell.lm_head or "", cell.candidate, cell.schedule))


def leg_counts(leg: Leg) -> tuple[int, int]:
    """Failed and judged answers of a leg's gated cells that count."""
    counted = [cell for cell in leg.cells if cell.counted and cell.role == "gated"]
    return sum(cell.k for cell in counted), sum(cell.n for cell in counted)


def outcome(leg: Leg) -> Outcome:
    """What came of a leg. Its own verdict would say little: a leg is too small to pass alone."""
    k, n = leg_counts(leg)
    if leg.verdict == "fail" or any(found.breaks for found in leg.findings):
        return "FAIL"
    return "failures" if k else "clean" if n else "not judged"


def began(leg: Leg) -> float:
    """Seconds of work before the leg."""
    return max(leg.active - lasted(leg), 0.0)


def hours(leg: Leg) -> float:
    """The same in hours."""
    return began(leg) / 3600


def lasted(leg: Leg) -> float:
    """Seconds that a leg took."""
    return between(leg.started, leg.ended)


def between(start: str, end: str) -> float:
    """Seconds between two moments; 0 where one is none, or the clock was set back."""
    first, last = moment(start), moment(end)
    return max((last - first).total_seconds(), 0.0) if first is not None and last is not None else 0.0


def moment(text: str) -> datetime | None:
    """An ISO 8601 text with its zone as a moment; None where it is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def replay(finding: NightFinding, directory: str) -> str:
    """The command that shows a finding again, or nothing where it has no bundle."""
    return clean(f"specfuzz replay {shlex.quote(f'{directory}/{finding.bundle}')}", 1000) if finding.bundle else ""


def _spans(numbers: Sequence[int]) -> str:
    """``1-3, 7``; only the first few spans."""
    spans: list[list[int]] = []
    for number in sorted(set(numbers)):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [f"{low}-{high}" if high > low else f"{low}" for low, high in spans[:20]]
    return ", ".join(shown) + (" ..." if len(spans) > 20 else "")


def _share(k: int, n: int) -> str:
    return f" ({percent(k / n)})" if n else ""


def _p(p: float | None) -> str:
    return "-" if p is None else p_value(p)
