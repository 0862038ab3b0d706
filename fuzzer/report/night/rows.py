"""The parts of a night as rows of words: what console, Markdown and page lay out, each in its own way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fuzzer.finding import CERTAINTIES
from fuzzer.night import Boot, Leg, Night, NightCell, NightFinding
from fuzzer.report.night.earlier import TrendLine, TrendNote
from fuzzer.report.night.sentences import hours, leg_counts, outcome, status
from fuzzer.report.text import clean
from fuzzer.report.words import figure, p_value, percent
from fuzzer.stats import clopper_pearson_lower, clopper_pearson_upper, wilson

CELLS: Final = (
    "N", "status", "lm_head", "schedule", "failures", "rate", "bound", "reference", "p", "material", "service",
    "accepted", "tokens/s", "legs", "candidate",
)  # fmt: skip
BOOTS: Final = ("boot", "state", "since", "legs", "failures", "rate", "p", "how it was noticed")
LEGS: Final = (
    "leg", "outcome", "began", "hours", "boot", "request", "why", "N", "schedule", "families", "failures", "findings",
    "lost", "it says",
)  # fmt: skip
ANCHORS: Final = ("leg", "outcome", "hours", "boot", "request", "candidate", "right", "pass rate", "interval")
FINDINGS: Final = (
    "finding", "state", "certainty", "schedule", "count", "legs", "first leg", "last leg", "first seen", "last seen",
    "bundle", "example",
)  # fmt: skip
OUTAGES: Final = ("end", "since", "for", "why")
TREND: Final = ("night", "verdict", "started", "failures", "rate", "flagged", "why")
CELLS_NOTE: Final = (
    "status: by the counts alone; failures: answers graded wrong and candidate-only service failures, of those "
    "judged, all legs together; rate: with its two-sided 95 % Wilson interval; bound: upper, one-sided, exact "
    "(Clopper-Pearson); p: exact McNemar against the reference, one-sided, adjusted by Holm over all tests of the "
    "night; material, service: prompts with such a fault on the candidate only / on the reference only, and p; "
    "accepted: tokens per verify step; tokens/s: candidate / reference"
)
BOOTS_NOTE: Final = (
    "failures: of the judged answers of all cells that count, the control's too, in the legs that were not sent for "
    "findings; p: exact, one-sided: this boot against all others, adjusted by Holm over all tests of the night"
)
ANCHORS_NOTE: Final = (
    "right: of the judged answers of all its cells that count, the control's too; interval: two-sided, 95 %, exact "
    "(Clopper-Pearson 1934)"
)
VALUES: Final = (
    "concurrency", "status", "lm_head", "candidate", "schedule", "role", "legs", "failed", "judged", "rate",
    "wilson_low", "wilson_high", "lower", "bound", "reference_failed", "reference_judged", "p", "material_candidate",
    "material_reference", "p_material", "service_candidate", "service_reference", "p_service", "acceptance",
    "tokens_per_second", "reference_tokens_per_second",
)  # fmt: skip


def cell_row(cell: NightCell) -> tuple[str, ...]:
    """A pooled cell, as `CELLS` names it."""
    return (
        str(cell.concurrency),
        status(cell),
        clean(cell.lm_head or "unstated", 40),
        cell.schedule,
        f"{cell.k:,}/{cell.n:,}",
        interval(cell.k, cell.n),
        f"<= {percent(cell.upper)}" if cell.n else "-",
        f"{cell.reference_k:,}/{cell.reference_n:,}" if cell.reference_n else "-",
        _p(cell.p),
        _pairs(cell.material_b, cell.material_c, cell.p_material),
        _pairs(cell.service_b, cell.service_c, cell.p_service),
        _figure(cell.acceptance),
        _both(cell.tokens_per_second, cell.reference_tokens_per_second),
        str(cell.legs),
        clean(cell.candidate, 60),
    )


def cell_values(cell: NightCell) -> tuple[str, ...]:
    """The same for a CSV, as `VALUES` names it: one value a column, nothing where nothing was measured."""
    low, high = wilson(cell.k, cell.n)
    measured = (cell.k / cell.n, low, high, cell.lower, cell.upper) if cell.n else (None,) * 5
    found = (
        cell.concurrency, cell.status, clean(cell.lm_head or "", 200), clean(cell.candidate), cell.schedule, cell.role,
        cell.legs, cell.k, cell.n, *measured, cell.reference_k, cell.reference_n, cell.p, cell.material_b,
        cell.material_c, cell.p_material, cell.service_b, cell.service_c, cell.p_service, cell.acceptance,
        cell.tokens_per_second, cell.reference_tokens_per_second,
    )  # fmt: skip
    return tuple("" if value is None else str(value) for value in found)


def boot_row(boot: Boot) -> tuple[str, ...]:
    """A boot, as `BOOTS` names it."""
    state = "BAD" if boot.bad else "not judged" if not boot.n else "alone" if boot.p is None else "like the others"
    return (
        str(boot.number), state, clean(boot.since, 40), str(boot.legs), f"{boot.k:,}/{boot.n:,}",
        interval(boot.k, boot.n), _p(boot.p), clean(boot.why, 200),
    )  # fmt: skip


def leg_row(leg: Leg, dropped: Iterable[int] = ()) -> tuple[str, ...]:
    """A leg, as `LEGS` names it; it says so where its bulk history was dropped."""
    k, n = leg_counts(leg)
    came = outcome(leg)
    said = "; ".join(leg.reasons[:2]) * (came != "clean") + (" (history dropped)" if leg.number in dropped else "")
    return (
        str(leg.number), came, clean(leg.started, 40), f"{hours(leg):.2f}", str(leg.boot),
        f"{leg.first_request:,}", leg.why, str(leg.concurrency), leg.schedule, clean(", ".join(leg.families), 80),
        f"{k}/{n}", str(sum(found.count for found in leg.findings)), str(leg.lost), clean(said.strip(), 160) or "-",
    )  # fmt: skip


def finding_row(found: NightFinding, state: str) -> tuple[str, ...]:
    """A finding, as `FINDINGS` names it."""
    return (
        clean(found.key), state, found.certainty, clean(found.schedule, 40), str(found.count), str(found.legs),
        str(found.first), str(found.last), clean(found.first_seen, 40), clean(found.last_seen, 40),
        clean(found.bundle, 200) or "-", clean(found.example, 300),
    )  # fmt: skip


def outage_rows(night: Night) -> list[tuple[str, ...]]:
    """The outages, as `OUTAGES` names them; times in seconds."""
    return [
        (clean(one.end, 60), clean(one.since, 40), f"{one.seconds:,.0f} s", clean(one.why, 300))
        for one in night.outages
    ]


def trend_row(line: TrendLine) -> tuple[str, ...]:
    """An earlier night, as `TREND` names it."""
    return (
        clean(line.night_id, 80), line.verdict, clean(line.started, 40), f"{line.failed:,}/{line.judged:,}",
        interval(line.failed, line.judged), "yes" if line.flagged else "no", clean(line.why, 300) or "-",
    )  # fmt: skip


def ranked(night: Night, trend: TrendNote | None) -> list[tuple[NightFinding, str]]:
    """The findings, each with its state: new ones first, then what breaks the night, then by certainty and count."""
    known = trend.known if trend is not None else None

    def state(found: NightFinding) -> str:
        told = "" if known is None else "known" if (found.key, found.schedule) in known else "new"
        return ", ".join(filter(None, (told, "breaks the night" if found.breaks else ""))) or "noted"

    def weight(pair: tuple[NightFinding, str]) -> tuple[bool, bool, int, int, str]:
        found, said = pair
        order = CERTAINTIES.index(found.certainty)
        return not said.startswith("new"), not found.breaks, order, -found.count, found.key

    return sorted(((found, state(found)) for found in night.findings), key=weight)


def interval(k: int, n: int) -> str:
    """``0.25 % (0.07 to 0.89)``: a rate in per cent with its two-sided 95 % Wilson interval."""
    if not n:
        return "-"
    low, high = wilson(k, n)
    return f"{percent(k / n)} ({percent(low).removesuffix(' %')} to {percent(high).removesuffix(' %')})"


def exact(k: int, n: int) -> tuple[float, float]:
    """The two-sided 95 % exact interval of a share (Clopper and Pearson 1934)."""
    return clopper_pearson_lower(k, n, 0.975), clopper_pearson_upper(k, n, 0.975)


def _pairs(b: int, c: int, p: float | None) -> str:
    return f"{b}/{c}" if p is None else f"{b}/{c}, p {p_value(p)}"


def _p(p: float | None) -> str:
    return "-" if p is None else p_value(p)


def _figure(value: float | None) -> str:
    return "-" if value is None else figure(value)


def _both(ours: float | None, theirs: float | None) -> str:
    return "-" if ours is None and theirs is None else f"{_figure(ours)} / {_figure(theirs)}"
