"""From a leg's summary to the counts that a night adds up."""

from __future__ import annotations

from collections.abc import Iterator

from fuzzer.night import CellCount, FindingCount, Leg
from fuzzer.soak.ledger import Began
from fuzzer.soak.liveness import Silences
from fuzzer.summary import CellSummary, FindingGroup, Paired, Summary

CANDIDATE = "the candidate"
UNREACHED = "found no connection"
SILENT = "gave no sign of life"
_UNREACHED = ("connect", "tls", "timeout-connect")
_NOT_LET_IN = ("refused", "overloaded", "unauthorised", *_UNREACHED)
_NO_PAIRS = Paired(b=0, c=0, p=1.0, unit="", against="")
_EXAMPLE = 200  # characters of a finding's line that a night keeps
_NO_SILENCES: Silences = {}


def counted(
    summary: Summary,
    began: Began,
    *,
    boot: int,
    active: float,
    first_request: int,
    ended: str,
    silences: Silences = _NO_SILENCES,
) -> Leg:
    """A leg as a night keeps it. The two ends got equally many requests, so half of the exchanges are the candidate's.

    ``active`` is how long the soak had been at work when the leg ended, in seconds. Where an end was not there, or
    began anew, the leg fails for nothing but what was seen in answers.
    """
    gone = _undecided(summary, silences)
    fails = any(cell.status == "fail" and cell.key not in gone for cell in summary.cells)
    findings = tuple(_findings(summary, began.schedule))
    verdict, exit_status = summary.verdict, summary.exit_status
    told = [reason for reason in summary.reasons if reason.code != "passed" and reason.cell not in gone]
    if gone and verdict == "fail" and not fails and not any(found.breaks for found in findings):
        verdict, exit_status = "inconclusive", 3
    return Leg(
        number=began.number,
        run_id=began.run_id,
        purpose=began.purpose,
        why=began.why,
        schedule=began.schedule,
        concurrency=began.concurrency,
        families=began.families,
        seed=began.seed,
        boot=boot,
        started=began.at,
        ended=ended,
        active=round(active, 1),
        first_request=first_request,
        verdict=verdict,
        exit_status=exit_status,
        reasons=(*gone.values(), *(f"{reason.code}: {reason.message}" for reason in told)),
        cells=tuple(
            _cell(cell, summary, decides=cell.key not in gone) for cell in summary.cells if cell.rate.n or cell.blocks
        ),
        findings=findings,
        exchanges=summary.exchanges,
        candidate_requests=summary.exchanges // (2 if summary.reference_used else 1),
        lost=summary.lost,
    )


def _undecided(summary: Summary, silences: Silences) -> dict[str, str]:
    """The cells that decide nothing, whatever failed in them, and why: an end was not there, or began anew."""
    anew = {reason.cell: f"{reason.code}: {reason.message}" for reason in summary.reasons if reason.code == "restarted"}
    return {cell.key: why for cell in summary.cells if (why := absent(cell, silences) or anew.get(cell.key, ""))}


def absent(cell: CellSummary, silences: Silences = _NO_SILENCES) -> str:
    """Which end was not there in a cell, in words; "" if both were.

    A server that is down, asks for another key, serves another model or is still loading answers nothing wrong. It is
    told from one that drops requests now and then by all N in flight having found no connection, or by no request
    being let in; a refused key is one at once. A process that stands still is told from one that hangs by the
    ``silences``: all N in flight timed out, and nothing else came either.
    """
    for name, arm in cell.arms.items():
        unreached, refused = sum(arm.error.get(how, 0) for how in _UNREACHED), arm.error.get("unauthorised", 0)
        if unreached >= max(cell.concurrency, 2):
            return f"outage: {unreached} requests {UNREACHED} to the {name}, so these answers decide nothing"
        if (silent := silences.get((cell.key, name), 0)) >= max(cell.concurrency, 2):
            return f"outage: {silent} requests timed out and the {name} {SILENT}: these answers decide nothing"
        if refused:
            return f"outage: the {name} refused the API key {refused} times, so these answers decide nothing"
        if 0 < arm.sent <= sum(arm.error.get(how, 0) for how in _NOT_LET_IN):
            return f"outage: the {name} let none of {arm.sent} requests in, so these answers decide nothing"
    return ""


def end_of(why: str) -> str:
    """The end that a reason for measuring nothing speaks of."""
    return "the reference" if "reference" in why else CANDIDATE


def _cell(cell: CellSummary, summary: Summary, *, decides: bool) -> CellCount:
    floor = cell.noise_floor
    judged = floor is not None and floor.judged and cell.role == "gated"
    service, paired = cell.service or _NO_PAIRS, cell.paired or _NO_PAIRS
    reference = cell.reference_rate
    return CellCount(
        key=cell.key,
        role=cell.role,
        candidate=cell.candidate,
        lm_head=cell.lm_head,
        concurrency=cell.concurrency,
        schedule=cell.schedule,
        counted=cell.status not in ("vacuous", "not-run") and cell.rate.n > 0 and decides,
        k=cell.rate.k,
        n=cell.rate.n,
        reference_k=reference.k if reference else 0,
        reference_n=reference.n if reference else 0,
        b=paired.b,
        c=paired.c,
        service_b=service.b,
        service_c=service.c,
        material_b=floor.b if floor and judged else 0,
        material_c=floor.c if floor and judged else 0,
        collapsed=any(reason.code == "acceptance-collapse" and reason.cell == cell.key for reason in summary.reasons),
        stale_p=_stale(cell),
        acceptance=cell.acceptance.length if cell.acceptance else None,
        tokens_per_second=cell.speed.candidate_tokens_per_second,
        reference_tokens_per_second=cell.speed.reference_tokens_per_second,
        seconds_p50=cell.speed.candidate_seconds,
    )


def _stale(cell: CellSummary) -> float | None:
    told = cell.acceptance.residue if cell.acceptance else None
    return None if told is None else told.p if told.halved else 1.0


def _findings(summary: Summary, schedule: str) -> Iterator[FindingCount]:
    for group in summary.findings:
        if group.arm == "candidate" and not group.waived:
            yield FindingCount(
                key=group.key,
                kind=group.kind,
                certainty=group.certainty,
                schedule=schedule,
                count=group.count,
                breaks=group.breaks_gate,
                example="" if summary.redacted else _example(group),
            )


def _example(group: FindingGroup) -> str:
    text = " ".join(group.example.summary.split())
    return text if len(text) <= _EXAMPLE else text[: _EXAMPLE - 1] + "…"
