"""All legs' counts together, and the tests that a night's verdict rests on.

A night makes many comparisons, and must not cry wolf: one-sided exact McNemar tests of every cell (wrong answers,
failed requests, material divergence), the trend of failures over a boot's life, and each boot against the others go
through Holm's correction together. What stays under ``ALPHA`` breaks the night, so a night of a healthy pair fails one
time in a thousand at most. Drafts that outlive their requests are tested apart, with half of that, in the first leg of
each boot that can show them: that leg's long requests are longer than all that later legs ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from fuzzer.night import Boot, CellCount, Drift, Leg, NightCell
from fuzzer.stats import clopper_pearson_lower, clopper_pearson_upper, fisher, holm, mcnemar, rising

ALPHA = 0.001
FEWEST_LEGS = 6  # of a boot and kind, for a trend
COLLAPSED_LEGS = 3  # and more than half of a cell's, before acceptance is called collapsed


@dataclass(frozen=True, slots=True)
class Tests:
    """The night's cells, boots and drifts with adjusted p-values."""

    cells: tuple[NightCell, ...]
    boots: tuple[Boot, ...]
    drifts: tuple[Drift, ...]
    collapsed: dict[str, tuple[int, int]]
    stale: dict[str, tuple[int, float]]


@dataclass(slots=True)
class _Test:
    p: float
    take: Callable[[float], None]


def pooled(legs: Sequence[Leg], boots: Sequence[Boot], confidence: float) -> Tests:
    """Add the legs up and test them. ``boots`` are those that were seen, in order."""
    by_cell: dict[str, list[CellCount]] = {}
    for leg in fresh(legs):
        for count in leg.cells:
            if count.counted:
                by_cell.setdefault(count.key, []).append(count)
    cells = {key: _sum(key, counts, confidence) for key, counts in by_cell.items()}
    fair = [leg for leg in legs if leg.why != "findings"]  # legs sent where it fails would look like a rise
    drifts = list(_drifts(fair))
    known = [_boot(boot, fair) for boot in boots]
    tests: list[tuple[str, str | int, float]] = []
    for key, cell in cells.items():
        if cell.role == "gated":
            tests.append(("p", key, mcnemar(*_pairs(by_cell[key]), alternative="greater")))
            tests.append(("p_service", key, mcnemar(cell.service_b, cell.service_c, alternative="greater")))
            tests.append(("p_material", key, mcnemar(cell.material_b, cell.material_c, alternative="greater")))
    tests += [("drift", place, drift.p) for place, drift in enumerate(drifts) if drift.p is not None]
    tests += [("boot", place, p) for place, p in enumerate(_boot_tests(known)) if p is not None]
    for (what, where, _), p in zip(tests, holm([p for _, _, p in tests]), strict=True):
        if what == "drift":
            drifts[int(where)] = drifts[int(where)].model_copy(update={"p": p, "flagged": p < ALPHA})
        elif what == "boot":
            known[int(where)] = known[int(where)].model_copy(update={"p": p, "bad": p < ALPHA})
        else:
            cells[str(where)] = cells[str(where)].model_copy(update={what: p})
    return Tests(tuple(cells.values()), tuple(known), tuple(drifts), _collapsed(by_cell), _stale(legs))


def fresh(legs: Sequence[Leg]) -> list[Leg]:
    """Legs without the repetitions of the anchor set.

    The same prompts asked again are no new draws: one prompt that only the candidate gets wrong would soon count as
    many. They serve the tests for drift and for bad boots.
    """
    anchors = [leg for leg in legs if leg.purpose == "anchor" and any(cell.counted for cell in leg.cells)]
    again = {leg.number for leg in anchors[1:]}
    return [leg for leg in legs if leg.number not in again]


def _sum(key: str, counts: Sequence[CellCount], confidence: float) -> NightCell:
    first = counts[0]
    k, n = sum(each.k for each in counts), sum(each.n for each in counts)
    return NightCell(
        key=key,
        candidate=first.candidate,
        lm_head=first.lm_head,
        concurrency=first.concurrency,
        schedule=first.schedule,
        role=first.role,
        legs=len(counts),
        k=k,
        n=n,
        reference_k=sum(each.reference_k for each in counts),
        reference_n=sum(each.reference_n for each in counts),
        upper=clopper_pearson_upper(k, n, confidence),
        lower=clopper_pearson_lower(k, n, confidence),
        material_b=sum(each.material_b for each in counts),
        material_c=sum(each.material_c for each in counts),
        service_b=sum(each.service_b for each in counts),
        service_c=sum(each.service_c for each in counts),
        acceptance=_mean((each.acceptance, each.n) for each in counts),
        tokens_per_second=_mean((each.tokens_per_second, each.n) for each in counts),
        reference_tokens_per_second=_mean((each.reference_tokens_per_second, each.n) for each in counts),
    )


def _pairs(counts: Iterable[CellCount]) -> tuple[int, int]:
    told = list(counts)
    return sum(each.b for each in told), sum(each.c for each in told)


def _mean(values: Iterable[tuple[float | None, int]]) -> float | None:
    """The mean by judged answers of those that are told."""
    told = [(value, weight) for value, weight in values if value is not None and weight]
    total = sum(weight for _, weight in told)
    return sum(value * weight for value, weight in told) / total if total else None


def _drifts(legs: Sequence[Leg]) -> Iterator[Drift]:
    """For each candidate the anchor's legs, and all legs: do failures rise with the requests of a boot's life?

    Every schedule and level is a stratum of its own.
    """
    names = dict.fromkeys(cell.candidate for leg in legs for cell in leg.cells)
    for name in names:
        for on, chosen in (("anchors", [leg for leg in legs if leg.purpose == "anchor"]), ("all", list(legs))):
            strata: dict[tuple[str, int], list[tuple[float, int, int]]] = {}
            for leg in chosen:
                k, n = _failed(leg, name)
                if n:
                    strata.setdefault((leg.schedule, leg.concurrency), []).append((_middle(leg), k, n))
            rows = sorted(row for stratum in strata.values() for row in stratum)
            halves = rows[: len(rows) // 2], rows[len(rows) // 2 :]
            early, late = ((sum(k for _, k, _ in part), sum(n for _, _, n in part)) for part in halves)
            p = rising(*strata.values()) if len(rows) >= FEWEST_LEGS else None
            told = {"on": on, "candidate": name, "legs": len(rows), "p": p, "early": early, "late": late}
            yield Drift.model_validate(told)


def _middle(leg: Leg) -> float:
    """How many requests the boot had got in the middle of a leg."""
    return leg.first_request + leg.candidate_requests / 2


def _failed(leg: Leg, candidate: str | None = None) -> tuple[int, int]:
    cells = [cell for cell in leg.cells if cell.counted and candidate in (None, cell.candidate)]
    return sum(cell.k for cell in cells), sum(cell.n for cell in cells)


def _boot(boot: Boot, legs: Sequence[Leg]) -> Boot:
    own = [leg for leg in legs if leg.boot == boot.number]
    counts = [_failed(leg) for leg in own]
    return boot.model_copy(
        update={"legs": len(own), "k": sum(k for k, _ in counts), "n": sum(n for _, n in counts), "p": None}
    )


def _boot_tests(boots: Sequence[Boot]) -> Iterator[float | None]:
    """Each boot against all others (Fisher's exact test): does it fail more often?"""
    k, n = sum(boot.k for boot in boots), sum(boot.n for boot in boots)
    for boot in boots:
        rest = (k - boot.k, n - boot.n)
        yield fisher(boot.k, boot.n, *rest, alternative="greater") if boot.n and rest[1] else None


def _collapsed(by_cell: dict[str, list[CellCount]]) -> dict[str, tuple[int, int]]:
    """Cells whose acceptance had collapsed in most legs: how many of how many."""
    counts = {key: (sum(each.collapsed for each in told), len(told)) for key, told in by_cell.items()}
    return {key: (k, n) for key, (k, n) in counts.items() if k >= COLLAPSED_LEGS and 2 * k > n}


def _stale(legs: Sequence[Leg]) -> dict[str, tuple[int, float]]:
    """Cells whose drafts outlived their requests: the leg that showed it best, and its p by Bonferroni over boots."""
    first: dict[str, dict[int, tuple[float, int]]] = {}
    for leg in legs:
        for cell in leg.cells:
            if cell.counted and cell.stale_p is not None:
                first.setdefault(cell.key, {}).setdefault(leg.boot, (cell.stale_p, leg.number))
    tests = sum(map(len, first.values()))
    best = {key: min(boots.values()) for key, boots in first.items()}
    return {key: (leg, p * tests) for key, (p, leg) in best.items() if p * tests < ALPHA / 2}
