"""Nights as a soak would leave them: clean, with a rare bleed, drifting, with a bad boot, interrupted.

The failures are drawn from a seed; what is decided from them is worked out here by the tests that the nights name.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

from fuzzer.night import (
    Boot,
    CellCount,
    Drift,
    FindingCount,
    Leg,
    Night,
    NightCell,
    NightFinding,
    NightReason,
    Outage,
    Purpose,
    Why,
)
from fuzzer.plan import ScheduleName
from fuzzer.report.night import TrendLine, TrendNote
from fuzzer.stats import clopper_pearson_lower, clopper_pearson_upper, fisher, mcnemar
from fuzzer.summarise import EXIT
from fuzzer.summary import VerdictName

START = datetime(2026, 11, 29, 22, 0, tzinfo=UTC)
MINUTES = 8.0
JUDGED = 64
BLEED = "bleed/concurrent/user@candidate"
NEAR = "divergence/material@candidate"
PLACES: tuple[tuple[int, ScheduleName], ...] = (
    (8, "closed-loop"), (8, "burst-solo"), (16, "closed-loop"), (16, "shared-prefix-cancel"), (5, "rounds"),
)  # fmt: skip
Rate = Callable[[int, int, int], float]


def moment(minutes: float) -> str:
    return (START + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def leg(number: int, k: int, *, n: int = JUDGED, boot: int = 1, since: int = 0, bled: int = 0) -> Leg:
    """The leg at this place of the night; ``since`` is the leg with which its boot began."""
    purpose: Purpose = "anchor" if number % 6 == 0 else "sweep"
    level, schedule = (8, PLACES[0][1]) if purpose == "anchor" else PLACES[number % len(PLACES)]
    why: Why = "anchor" if purpose == "anchor" else "findings" if bled or number % 11 == 0 else "rotation"
    verdict: VerdictName = "fail" if bled or k > 6 else "inconclusive"
    found = [FindingCount(key=NEAR, kind="divergence", certainty="possible", schedule=schedule, count=2,
                          example="parts after 41 tokens, 0.03 nats apart: 'about' v 'around'")]  # fmt: skip
    if bled:
        found.append(FindingCount(key=BLEED, kind="bleed", certainty="certain", schedule=schedule, count=bled,
                                  breaks=True, example="it holds 'KITE-7Q2M9XB4WD', of prompt p001204"))  # fmt: skip
    return Leg(
        number=number + 1, run_id=f"{number + 1:04d}-{schedule}-c{level}", purpose=purpose, why=why, schedule=schedule,
        concurrency=level, families=("echo", "sums", "lists"), seed=1000 + number, boot=boot,
        started=moment(number * MINUTES), ended=moment((number + 0.95) * MINUTES),
        active=(number + 0.95) * MINUTES * 60, first_request=(number - since) * 480, verdict=verdict,
        exit_status=EXIT[verdict],
        reasons=(f"bound-open: {k} of {n} judged answers failed",),
        cells=(CellCount(key="candidate/nvfp4/c1/closed-loop", role="control", candidate="candidate", lm_head="nvfp4",
                         concurrency=1, schedule="closed-loop", counted=True, k=0, n=24, reference_n=24,
                         acceptance=3.2, tokens_per_second=96.0, reference_tokens_per_second=41.0, seconds_p50=1.1),
               CellCount(key=f"candidate/nvfp4/c{level}/{schedule}", role="gated", candidate="candidate",
                         lm_head="nvfp4", concurrency=level, schedule=schedule, counted=True, k=k, n=n,
                         reference_k=0, reference_n=n, b=k, c=0, material_b=number % 3 == 0, acceptance=3.1,
                         tokens_per_second=412.0, reference_tokens_per_second=187.0, seconds_p50=1.9),),
        findings=tuple(found), exchanges=2 * 480, candidate_requests=480, lost=0,
    )  # fmt: skip


def draw(count: int, rate: Rate, *, boots: Sequence[int] = (0,), bled: Sequence[int] = ()) -> list[Leg]:
    """``rate`` gives the failure rate by leg, boot, and legs since the boot; ``boots`` are the legs they begin with."""
    rng = random.Random(7)
    found = []
    for number in range(count):
        boot = sum(first <= number for first in boots)
        since = boots[boot - 1]
        k = sum(rng.random() < rate(number, boot, number - since) for _ in range(JUDGED))
        found.append(leg(number, k + (number in bled), boot=boot, since=since, bled=int(number in bled)))
    return found


def pooled(legs: Sequence[Leg]) -> tuple[NightCell, ...]:
    found: dict[str, list[CellCount]] = {}
    for one in legs:
        for cell in one.cells:
            found.setdefault(cell.key, []).append(cell)
    return tuple(together(members) for members in found.values())


def together(members: Sequence[CellCount]) -> NightCell:
    first = members[0]
    k, n = sum(one.k for one in members), sum(one.n for one in members)
    b, material = sum(one.b for one in members), sum(one.material_b for one in members)
    upper, p = clopper_pearson_upper(k, n), mcnemar(b, 0, "greater")
    failed = p < 0.001 / len(PLACES)
    return NightCell(
        key=first.key, candidate=first.candidate, lm_head=first.lm_head, concurrency=first.concurrency,
        schedule=first.schedule, role=first.role, legs=len(members), k=k, n=n, reference_k=0, reference_n=n,
        upper=upper, lower=clopper_pearson_lower(k, n), p=p, material_b=material, p_material=0.4, p_service=1.0,
        acceptance=3.1, tokens_per_second=412.0, reference_tokens_per_second=187.0,
        status="fail" if failed else "pass" if upper < 0.01 else "open",
        reasons=(f"{k} of {n} failed, none on the reference",) if failed else (),
    )  # fmt: skip


def findings(legs: Sequence[Leg]) -> tuple[NightFinding, ...]:
    found: dict[tuple[str, str], list[tuple[Leg, FindingCount]]] = {}
    for one in legs:
        for each in one.findings:
            found.setdefault((each.key, each.schedule), []).append((one, each))
    return tuple(
        NightFinding(
            key=key, kind=seen[0][1].kind, certainty=seen[0][1].certainty, schedule=schedule,
            count=sum(each.count for _, each in seen), legs=len(seen), first=seen[0][0].number, last=seen[-1][0].number,
            first_seen=seen[0][0].started, last_seen=seen[-1][0].ended, breaks=seen[0][1].breaks,
            bundle="bundles/bleed-concurrent" if seen[0][1].breaks else "", example=seen[0][1].example,
        )
        for (key, schedule), seen in found.items()
    )  # fmt: skip


def boots(legs: Sequence[Leg], bad: int = 0) -> tuple[Boot, ...]:
    counts: dict[int, tuple[str, int, int, int]] = {}
    for one in legs:
        since, count, k, n = counts.get(one.boot, (one.started, 0, 0, 0))
        counts[one.boot] = since, count + 1, k + one.cells[-1].k, n + one.cells[-1].n
    failed, judged = sum(row[2] for row in counts.values()), sum(row[3] for row in counts.values())
    return tuple(
        Boot(
            number=number, since=since, why="the soak began" if number == 1 else "its start time changed", legs=count,
            k=k, n=n, p=fisher(k, n, failed - k, judged - n, "greater") if len(counts) > 1 else None,
            bad=number == bad,
        )
        for number, (since, count, k, n) in counts.items()
    )  # fmt: skip


def drift(legs: Sequence[Leg], *, p: float | None, flagged: bool = False) -> Drift:
    anchors = [one for one in legs if one.purpose == "anchor"]
    middle = len(anchors) // 2

    def total(half: Sequence[Leg]) -> tuple[int, int]:
        return sum(one.cells[-1].k for one in half), sum(cell.n for one in half for cell in one.cells)

    return Drift(
        on="anchors", candidate="candidate", legs=len(anchors), p=p, early=total(anchors[:middle]),
        late=total(anchors[middle:]), flagged=flagged,
    )  # fmt: skip


def night(
    legs: Sequence[Leg],
    verdict: VerdictName,
    reasons: Sequence[NightReason],
    *,
    drifts: Sequence[Drift] = (),
    bad: int = 0,
    outages: Sequence[Outage] = (),
    processes: int = 1,
    dropped: tuple[int, ...] = (),
    lost: int = 0,
) -> Night:
    return Night(
        tool_version="0.1.0", night_id="soak-20261129-220000", started=legs[0].started, ended=legs[-1].ended,
        active=legs[-1].active, verdict=verdict, exit_status=EXIT[verdict], reasons=tuple(reasons),
        scope="candidate http://127.0.0.1:8001 (vllm, lm_head nvfp4) against its reference http://127.0.0.1:8002; "
        "families echo, sums, lists; concurrency 5, 8 and 16; temperature 0",
        plan_hash="5f0c1d", seed=1000, max_wrong_rate=0.01, confidence=0.95, reference_used=True, cells=pooled(legs),
        findings=findings(legs), boots=boots(legs, bad), drifts=tuple(drifts), outages=tuple(outages),
        legs=tuple(legs), exchanges=sum(one.exchanges for one in legs), judged=sum(one.cells[-1].n for one in legs),
        lost=lost, processes=processes, dropped=dropped, bytes_kept=734_003_200,
    )  # fmt: skip


@cache
def clean(count: int = 60) -> Night:
    legs = draw(count, lambda number, boot, since: 0.0)
    passed = NightReason(code="passed", message="every gated cell is under 1 % at 95 %")
    return night(legs, "pass", [passed], drifts=[drift(legs, p=None)])


@cache
def bleeding() -> Night:
    legs = draw(60, lambda number, boot, since: 0.0004, bled=(17, 22, 37))
    told = NightReason(
        code="certain-finding", message=f"{BLEED}: 3 in 3 legs"
    )  # fmt: skip
    return night(legs, "fail", [told], drifts=[drift(legs, p=0.41)])


@cache
def drifting() -> Night:
    legs = draw(60, lambda number, boot, since: 0.0005 * since)
    told = NightReason(code="drift", message="the anchor set fails more often later in a boot's life: p 3.1e-06")
    worse = [
        NightReason(code="worse-than-reference", cell=one.key, message=f"{one.k} of {one.n} failed, the reference 0")
        for one in pooled(legs)
        if one.status == "fail"
    ]
    return night(legs, "fail", [told, *worse], drifts=[drift(legs, p=3.1e-6, flagged=True)])


@cache
def bad_boot() -> Night:
    firsts = (0, 12, 24, 36, 48)
    legs = draw(60, lambda number, boot, since: 0.03 if boot == 3 else 0.0003, boots=firsts)
    told = NightReason(code="bad-boot", message="boot 3 fails more often than the others, p 2.2e-16")
    return night(legs, "fail", [told], drifts=[drift(legs, p=0.2)], bad=3)


@cache
def interrupted() -> Night:
    legs = draw(14, lambda number, boot, since: 0.0002, boots=(0, 6))
    gone = Outage(end="candidate", since=moment(44), seconds=420.0, why="connection refused")
    slow = Outage(end="reference", since=moment(80), seconds=95.0, why="no token for 60 s; /health answers 200")
    told = [
        NightReason(code="interrupted", message="stopped by SIGTERM after 1.9 h of 8 h; what was measured is kept"),
        NightReason(code="outage", message="the candidate could not be measured for 7 min"),
        NightReason(code="disk", message="the bulk history of 3 legs was dropped: over --max-disk"),
    ]
    return night(
        legs, "interrupted", told, drifts=[drift(legs, p=None)], outages=[gone, slow], processes=3, dropped=(1, 2, 4),
        lost=9,
    )  # fmt: skip


def everything() -> list[Night]:
    return [clean(), bleeding(), drifting(), bad_boot(), interrupted()]


def trend() -> TrendNote:
    def line(day: int, verdict: VerdictName, failed: int, why: str = "") -> TrendLine:
        began = f"2026-11-{day}T22:00:00Z"
        return TrendLine(f"soak-202611{day}-220000", began, verdict, failed, 12_000, bool(why), why)

    worse = "candidate, concurrency 8, closed-loop: 31/12,000 against 2/24,000 before"
    lines = (line(28, "fail", 31, worse), line(27, "pass", 1), line(26, "pass", 1))
    return TrendNote(lines, "../trend.html", frozenset({(NEAR, schedule) for _, schedule in PLACES}))
