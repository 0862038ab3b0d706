"""A cell as a row of words: what console and Markdown lay out, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass

from fuzzer.report.divergence import in_short
from fuzzer.report.text import clean
from fuzzer.report.words import STATUS, counts, decisive, duration, fraction, ordered, p_value, percent, place
from fuzzer.summary import Achieved, CellSummary, NoiseFloor, Summary


@dataclass(frozen=True, slots=True)
class CellRow:
    """One cell in words, clean of anything that could move a terminal; a dash where nothing was measured.

    ``troubled`` is true if either arm had a wrong, unjudged, failed or lost exchange.
    """

    place: str
    troubled: bool
    concurrency: str
    lm_head: str
    candidate: str
    schedule: str
    failures: str
    rate: str
    bound: str
    reference: str
    p: str
    status: str
    divergence: str
    floor: tuple[str, ...]
    achieved: tuple[str, ...]
    acceptance: str
    clusters: str
    speed: str
    counts: tuple[str, ...]


def rows(summary: Summary) -> list[CellRow]:
    """The cells by concurrency and lm_head precision."""
    return [_row(cell, summary) for cell in ordered(summary.cells)]


def _row(cell: CellSummary, summary: Summary) -> CellRow:
    return CellRow(
        place=place(cell, summary),
        troubled=any(arm.wrong or arm.unjudged or arm.error or arm.lost for arm in cell.arms.values()),
        concurrency=str(cell.concurrency),
        lm_head=clean(cell.lm_head or "unstated", 40),
        candidate=clean(cell.candidate, 60),
        schedule=cell.schedule,
        failures=fraction(cell.rate) + (" rounds" if cell.bound and cell.bound.unit == "round" else ""),
        rate=percent(cell.rate.k / cell.rate.n) if cell.rate.n else "-",
        bound=f"<= {percent(cell.bound.value)}" if cell.bound else "-",
        reference=fraction(cell.reference_rate),
        p=p_value(decisive(cell.paired)) if cell.paired else "-",
        status=STATUS[cell.status],
        divergence=_divergence(cell),
        floor=_floor(cell.noise_floor),
        achieved=tuple(_share(got) for got in cell.achieved.values()) or ("-",),
        acceptance=_acceptance(cell),
        clusters=f"{cell.clusters.failed}/{cell.clusters.n} {cell.clusters.unit}s" if cell.clusters else "-",
        speed=_speed(cell),
        counts=tuple(f"{arm}: {counts(said)}" for arm, said in cell.arms.items()),
    )


def _divergence(cell: CellSummary) -> str:
    return f"{cell.divergence.differ}/{cell.divergence.n}" if cell.divergence else "-"


def _floor(floor: NoiseFloor | None) -> tuple[str, ...]:
    """Candidate against reference versus reference against itself: any divergence, then material divergence alone."""
    if floor is None:
        return ("-",)
    both = f"{floor.candidate}/{floor.n} v {floor.reference}/{floor.n}"
    if not floor.judged:
        return (both, f"not judged{': ' + clean(floor.note, 80) if floor.note else ''}")
    material = f"material {floor.candidate_material}/{floor.n} v {floor.reference_material}/{floor.n}"
    p = floor.p if floor.p_adjusted is None else floor.p_adjusted
    said = (both, material, f"p {p_value(p)}" if p is not None else "", in_short(floor))
    return tuple(filter(None, said))


def _share(achieved: Achieved) -> str:
    return percent(achieved.share_at_n)


def _acceptance(cell: CellSummary) -> str:
    if cell.acceptance is None:
        return "not told"
    if not cell.acceptance.seen:
        return "no draft seen"
    if cell.acceptance.length is None:
        return (
            f"{percent(cell.acceptance.accepted / cell.acceptance.drafted)} of drafts"
            if cell.acceptance.drafted
            else "seen"
        )
    return f"{cell.acceptance.length:.2f}"


def _speed(cell: CellSummary) -> str:
    times = (cell.speed.candidate_seconds, cell.speed.reference_seconds)
    return " / ".join("-" if time is None else duration(time) for time in times) if any(times) else "-"
