"""Divergence in words: every token of the candidate by its regret, and how far each end strays from itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fuzzer.noise import NoiseFloor, RegretSummary, Strays
from fuzzer.report.text import clean
from fuzzer.report.words import ordered, percent, place
from fuzzer.summary import CellSummary, Summary

_CACHES = {"warm": "", "cold": ", cold cache", "mixed": ", warm cache and cold", "untold": ""}


def divergences(summary: Summary) -> list[str]:
    """Two lines for every candidate and concurrency that has a noise floor."""
    return [line for cell, floor in _levels(summary) for line in _lines(cell, floor, summary)]


def in_short(floor: NoiseFloor) -> str:
    """The worst regret in two words, or "" where nothing was scored."""
    regret = floor.regret
    return f"regret to {regret.worst:.2f}" if regret is not None and regret.used else ""


def histogram(summary: Summary) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Column names, and for every level how many tokens have a regret up to each edge; no lines if none was scored."""
    found = [(cell, floor.regret) for cell, floor in _levels(summary) if floor.regret and floor.regret.scored]
    if not found:
        return (), []
    edges = found[0][1].edges
    names = ("N", "lm_head", "candidate", "tokens", "none", *(f"to {edge:g}" for edge in edges[1:]), "more", "worst")
    return names, [
        (
            str(cell.concurrency),
            clean(cell.lm_head or "unstated", 40),
            clean(cell.candidate, 60),
            f"{regret.tokens:,}",
            *(f"{count:,}" for count in regret.bins),
            f"{regret.worst:.3g}",
        )
        for cell, regret in found
        if regret.edges == edges
    ]


def _levels(summary: Summary) -> Iterator[tuple[CellSummary, NoiseFloor]]:
    """A cell and the noise floor of each level: cells of one level share it."""
    seen: set[tuple[str, int]] = set()
    for cell in ordered(summary.cells):
        level = (cell.candidate, cell.concurrency)
        if cell.noise_floor is not None and cell.noise_floor.n and level not in seen:
            seen.add(level)
            yield cell, cell.noise_floor


def _lines(cell: CellSummary, floor: NoiseFloor, summary: Summary) -> Iterator[str]:
    at = place(cell, summary, "calibration")
    yield f"{at}: {_triaged(floor)}"
    yield (
        f"{at}: noise floor: outputs that differ from the same end's own in another order: "
        f"{_strayed(floor, 'itself')}; from its own alone (for information): {_strayed(floor, 'alone')}{_ties(floor)}"
    )


def _ties(floor: NoiseFloor) -> str:
    if not floor.tie_tokens:
        return ""
    return f"; exact ties at {1000 * floor.ties / floor.tie_tokens:.1f} in 1,000 of the reference's tokens"


def _triaged(floor: NoiseFloor) -> str:
    regret = floor.regret
    parted = f"{floor.candidate}/{floor.n} outputs leave the reference's"
    if not floor.judged:
        return f"{parted}; not judged{': ' + clean(floor.note, 200) if floor.note else ''}"
    if regret is not None and regret.used:
        return f"{parted}; {_regret(regret)}"
    if floor.candidate and floor.untriaged == floor.candidate:
        return f"{parted}; untriaged"
    why = f": {clean(regret.note, 200)}" if regret is not None and regret.note else ""
    return f"{parted}; not scored by the reference{why}; judged by the smaller gap of the two sides ({_gaps(floor)})"


def _regret(regret: RegretSummary) -> str:
    """The regrets of the candidate's tokens, and the reference's own beside them."""
    share = percent(regret.not_best / regret.tokens) if regret.tokens else "-"
    own = f"; of its own, scored all the same, {regret.own_not_best}/{regret.own_tokens}, worst {regret.own_worst:.2f}"
    return (
        f"of the candidate's tokens {regret.not_best}/{regret.tokens} ({share}) are not the reference's best"
        f"{_severities(regret)}, worst regret {regret.worst:.2f} nats ({regret.scored}/{regret.parted} outputs that "
        f"part were scored; near-tie to {regret.band_tie:.2f}, material over {regret.band_material:.2f}, "
        f"{clean(regret.band_source, 60)}){own if regret.own_tokens else ''}"
    )


def _severities(regret: RegretSummary) -> str:
    """The histogram in words, empty bins left out."""
    names = (*(f"to {edge:g}" for edge in regret.edges), f"over {regret.edges[-1]:g}" if regret.edges else "")
    found = [f"{count:,} {name}" for name, count in list(zip(names, regret.bins, strict=False))[1:] if count]
    return f" ({', '.join(found)} nats)" if found else ""


def _gaps(floor: NoiseFloor) -> str:
    source = clean(floor.band_source, 60)
    return f"near-tie to {floor.band_tie:.2f} nats, material over {floor.band_material:.2f}, {source}"


def _strayed(floor: NoiseFloor, against: str) -> str:
    """The reference's and the candidate's counts, by what the cache held."""
    rows = [row for row in floor.strays if row.against == against]
    parts = [f"{arm} {_counts([row for row in rows if row.arm == arm])}" for arm in ("reference", "candidate")]
    return ", ".join(part for part in parts if not part.endswith(" ")) or "not measured"


def _counts(rows: Sequence[Strays]) -> str:
    if not rows:
        return ""
    total = f"{sum(row.differ for row in rows)}/{sum(row.n for row in rows)}"
    split = [f"{row.differ}/{row.n}{_CACHES[row.cache]}" for row in rows if _CACHES[row.cache]]
    return f"{total} (of these {', '.join(split)})" if split and len(rows) > 1 else f"{total}{_CACHES[rows[0].cache]}"
