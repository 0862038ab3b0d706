"""Summaries as a run would leave them: a pass, a fail with bleed, an inconclusive one, two lm_heads, no reference."""

from __future__ import annotations

import io
from typing import Literal

from fuzzer.finding import Certainty, Donor, Finding, Kind, dedupe_key
from fuzzer.history.records import Counters, Stage
from fuzzer.plan import Endpoint, Plan, Role, ScheduleName
from fuzzer.stats import clopper_pearson_upper, mcnemar, wilson
from fuzzer.summary import (
    AcceptanceSummary,
    Achieved,
    ArmCounts,
    Bound,
    CellStatus,
    CellSummary,
    Clusters,
    Comparison,
    EndpointSummary,
    FamilyCalibration,
    FindingGroup,
    Interval,
    MainDivergence,
    NoiseFloor,
    Paired,
    Preflight,
    Rate,
    Reason,
    Speed,
    Summary,
    UsedWaiver,
    VerdictName,
)

HOSTILE = (
    "\x1b[31mred\x1b]0;owned\x07\x00 <script>alert(1)</script> | a | b | `rm` ``` @everyone #1 "
    "[click](https://evil.example/x) ![i](http://evil.example/p.png) www.evil.example\r\n# heading\n---|---\n"
    "\u202egnp.exe\u202c\u200bzero\u2066 [bold]markup[/bold] [/oops] :tada: ]]> &amp; \ud800 \ufffe " + "x" * 10_000
)
SPAN = "KITE-7Q2M9XB4WD"
PRIVATE = "the gardener keeps eleven violet umbrellas in the attic"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def rate(k: int, n: int) -> Rate:
    low, high = wilson(k, n)
    return Rate(k=k, n=n, wilson=Interval(low=low, high=high))


def cell(
    k: int = 0,
    n: int = 336,
    *,
    candidate: str = "candidate",
    lm_head: str | None = "nvfp4",
    concurrency: int = 8,
    schedule: ScheduleName = "closed-loop",
    role: Role = "gated",
    status: CellStatus = "pass",
    reference: tuple[int, int] | None = (0, 336),
    b: int | None = None,
    c: int | None = None,
    sequential: bool = True,
    share: float = 0.998,
    seen: bool = True,
    reasons: tuple[str, ...] = (),
) -> CellSummary:
    wrong = {"wrong-last-message": k - k // 4, "runaway": k // 4} if k > 3 else ({"wrong-last-message": k} if k else {})
    arms: dict[Literal["candidate", "reference"], ArmCounts] = {
        "candidate": ArmCounts(sent=n, completed=n, right=n - k - n // 20, verbose=n // 20, wrong=wrong)
    }
    achieved: dict[Literal["candidate", "reference"], Achieved] = {
        "candidate": Achieved(share_at_n=share, min=concurrency, max=concurrency, server_running=concurrency - 0.1)
    }
    if reference is not None:
        bad, sent = reference
        arms["reference"] = ArmCounts(
            sent=sent, completed=sent, right=sent - bad, wrong={"dropped-constraint": bad} if bad else {}
        )
        achieved["reference"] = Achieved(share_at_n=0.997, min=concurrency, max=concurrency)
    only = (k if b is None else b, (reference[0] if reference else 0) if c is None else c)
    gated = role == "gated"
    return CellSummary(
        key=f"{candidate}/{lm_head or 'unstated'}/c{concurrency}/{schedule}",
        role=role,
        candidate=candidate,
        lm_head=lm_head,
        concurrency=concurrency,
        schedule=schedule,
        status=status,
        reasons=reasons,
        rate=rate(k, n),
        reference_rate=rate(*reference) if reference else None,
        arms=arms,
        achieved=achieved,
        bound=Bound(value=clopper_pearson_upper(k, n), confidence=0.95) if n else None,
        paired=Paired(
            b=only[0],
            c=only[1],
            p=mcnemar(*only, alternative="greater"),
            p_adjusted=min(1.0, 2 * mcnemar(*only, alternative="greater")),
            unit="prompt",
            against="reference" if reference else "control",
        ),
        service=Paired(b=0, c=0, p=1.0, unit="prompt", against="reference") if reference else None,
        clusters=Clusters(unit="block", n=n // 48, failed=min(k, n // 48), bound=0.35) if n >= 48 else None,
        divergence=MainDivergence(n=n, differ=n // 12, unmatched=2) if reference else None,
        noise_floor=NoiseFloor(
            n=96,
            reference=11,
            candidate=14,
            reference_material=0,
            candidate_material=1,
            grey=2,
            near_tie=11,
            band_tie=0.13,
            band_material=0.5,
            band_source="defaults for bf16",
            p=0.5,
            p_adjusted=1.0,
        )
        if reference and gated
        else None,
        acceptance=AcceptanceSummary(drafted=8000, accepted=3750, steps=1000, length=4.75 if seen else None, seen=seen),
        speed=Speed(candidate_seconds=1.84, reference_seconds=3.02),
        blocks=n // 48,
        stopped_early=sequential and gated,
        sequential=sequential and gated,
        sprt=("pass" if status == "pass" else "fail" if status == "fail" else "open") if sequential and gated else None,
        requests_needed=331,
    )


def finding(
    kind: Kind,
    sub_kind: str,
    summary: str,
    *,
    certainty: Certainty = "certain",
    at: str = "candidate/nvfp4/c8/closed-loop",
    detail: str = "",
    donor: Donor | None = None,
    evidence: str = "",
) -> Finding:
    return Finding(
        key=dedupe_key(kind, sub_kind, "candidate", detail),
        kind=kind,
        sub_kind=sub_kind,
        certainty=certainty,
        arm="candidate",
        endpoint="candidate",
        cell=at,
        phase="measure",
        exchange=f"{at}/b0/candidate/17",
        prompt="p000017",
        summary=summary,
        evidence={"answer": evidence, "nested": {evidence[:40]: 1}, "token_ids": [3, 1, 4]} if evidence else {},
        donor=donor,
    )


def group(example: Finding, count: int = 1, *, breaks_gate: bool = False, waived: bool = False) -> FindingGroup:
    return FindingGroup(
        key=example.key,
        kind=example.kind,
        sub_kind=example.sub_kind,
        certainty=example.certainty,
        count=count,
        arm=example.arm,
        breaks_gate=breaks_gate,
        waived=waived,
        cells=(example.cell,),
        example=example,
    )


def bleed(text: str = f"the answer holds '{SPAN}', a canary of p000012", span: str = SPAN) -> Finding:
    donor = Donor(prompt="p000012", exchange="measure/b0/12", channel="history", span=span, when="concurrent")
    return finding("bleed", "concurrent", text, detail="history", donor=donor, evidence=text)


def summary(
    verdict: VerdictName,
    exit_status: int,
    reasons: tuple[Reason, ...],
    cells: tuple[CellSummary, ...],
    *,
    findings: tuple[FindingGroup, ...] = (),
    comparisons: tuple[Comparison, ...] = (),
    endpoints: tuple[EndpointSummary, ...] | None = None,
    reference_used: bool = True,
    vacuity: tuple[str, ...] = (),
    redacted: bool = False,
) -> Summary:
    return Summary(
        tool_version="0.1.0",
        run_id="20261104-101500-5f3a",
        started="2026-11-04T10:15:00+00:00",
        seconds=734.0,
        verdict=verdict,
        exit_status=exit_status,
        reasons=reasons,
        scope="One boot of each server, greedy, constraint prompts in English, at concurrency 1 and 8; says nothing of "
        "other prompts, other lengths or other loads.",
        plan_hash="1f0c8a77e3b2d945",
        seed=7,
        reference_used=reference_used,
        max_wrong_rate=0.01,
        confidence=0.95,
        preflight=Preflight(
            comparable=True,
            warnings=("the reference does not say which lm_head it runs: taken to be the candidate's",),
            truncated_share=0.0,
            seconds_per_request=1.9,
            planned_requests=1700,
            planned_seconds=800.0,
        ),
        endpoints=endpoints or pair(),
        cells=cells,
        comparisons=comparisons,
        findings=findings,
        waivers=(
            UsedWaiver(key="corruption/loop@candidate", reason="issue 123, harmless", expires="2026-12-31", used=2),
        ),
        calibration=(
            FamilyCalibration(family="sort", level="easy", tried=60, kept=60),
            FamilyCalibration(family="table", level="hard", tried=60, kept=41, wrong_alone=17, wrong_at_n_only=2),
        ),
        vacuity=vacuity,
        exchanges=1702,
        redacted=redacted,
    )


def pair(lm_head: str = "nvfp4") -> tuple[EndpointSummary, ...]:
    return (
        EndpointSummary(
            name="candidate", role="candidate", url="http://gpu-1.internal:8000", engine="vllm 0.12.1",
            model="Qwen/Qwen3-8B", fingerprint="fp_1", lm_head=lm_head, speculation=True, context_length=32768, slots=8,
            dropped_parameters=("min_p",),
        ),
        EndpointSummary(
            name="reference", role="reference", url="http://gpu-2.internal:8000", engine="vllm 0.12.1",
            model="Qwen/Qwen3-8B", lm_head=lm_head, speculation=False, context_length=32768,
        ),
    )  # fmt: skip


def control() -> CellSummary:
    return cell(0, 60, concurrency=1, role="control", status="informational", reference=(0, 60))


def passing() -> Summary:
    return summary(
        "pass",
        0,
        (Reason(code="passed", message="every gated cell was judged and every bound of the policy is met"),),
        (control(), cell(), cell(schedule="burst-solo", n=603, k=1, reference=(1, 603))),
    )


def failing() -> Summary:
    """A wrong rate over the limit, bleed with a donor, and text that attacks whatever shows it."""
    at = "candidate/nvfp4/c8/closed-loop"
    wrong = finding("wrong-answer", "wrong-last-message", HOSTILE, certainty="likely", evidence=HOSTILE)
    waived = finding("corruption", "loop", "'na' 512 times", certainty="likely")
    return summary(
        "fail",
        1,
        (
            Reason(code="certain-finding", cell=at, message="bleed/concurrent/history@candidate: 3 times here"),
            Reason(code="wrong-rate", cell=at, message="9 of 48 answers failed: above 0.001, estimate 18.75%"),
            Reason(code="worse-than-reference", cell=at, message="9 prompts failed on the candidate only, 0 on the "
                   "reference only: p = 0.002"),
        ),
        (
            control(),
            cell(9, 48, status="fail", reference=(0, 48), reasons=("wrong-rate", "certain-finding")),
            cell(schedule="burst-solo"),
        ),
        findings=(
            group(bleed(HOSTILE, HOSTILE), 3, breaks_gate=True),
            group(wrong, 9),
            group(waived, 2, waived=True),
        ),
    )  # fmt: skip


def inconclusive() -> Summary:
    at = "candidate/nvfp4/c8/closed-loop"
    return summary(
        "inconclusive",
        3,
        (
            Reason(code="no-speculation", cell=at, message="no draft was counted on the candidate while 8 were in "
                   "flight; is the drafter switched on?"),
            Reason(code="bound-open", cell="candidate/nvfp4/c8/burst-solo", message="4 of 1,332: neither test ended"),
        ),
        (
            control(),
            cell(status="vacuous", seen=False, share=0.71),
            cell(4, 1332, schedule="burst-solo", status="open", reference=(1, 1332)),
        ),
        vacuity=("drafting was not seen at concurrency 8, closed-loop",),
    )  # fmt: skip


def two_heads() -> Summary:
    """The public case: 111 of 304 with a packed-FP4 lm_head, 1 of 304 with BF16."""
    at = "fp4/nvfp4/c8/closed-loop"
    return summary(
        "fail",
        1,
        (Reason(code="wrong-rate", cell=at, message="111 of 304 answers failed: above 0.001, estimate 36.51%"),),
        (
            cell(111, 304, candidate="fp4", status="fail", reference=(0, 304)),
            cell(1, 304, candidate="bf16", lm_head="bf16", status="open", reference=(0, 304)),
        ),
        comparisons=(
            Comparison(
                concurrency=8,
                schedule="closed-loop",
                left="fp4",
                right="bf16",
                left_lm_head="nvfp4",
                right_lm_head="bf16",
                left_rate=rate(111, 304),
                right_rate=rate(1, 304),
                b=111,
                c=1,
                p_two_sided=mcnemar(111, 1),
                unit="prompt",
            ),
        ),
        findings=(group(finding("wrong-answer", "wrong-last-message", "answers p000012", certainty="likely"), 84),),
    )


def no_reference() -> Summary:
    return summary(
        "pass",
        0,
        (Reason(code="passed", message="every gated cell met its bound, against the candidate alone as control"),),
        (
            cell(0, 336, concurrency=1, role="control", status="informational", reference=None),
            cell(reference=None, b=0, c=0),
        ),
        endpoints=pair()[:1],
        reference_used=False,
    )


def secret() -> Summary:
    """A redacted run whose findings still hold text: answers, spans, evidence, and a reason that quotes one."""
    found = bleed(f"answers {PRIVATE!r}", PRIVATE)
    reason = Reason(code="certain-finding", cell=found.cell, message=f"bleed of {PRIVATE!r}, 3 times")
    return summary(
        "fail",
        1,
        (reason,),
        (cell(9, 48, status="fail", reference=(0, 48), reasons=(f"holds {PRIVATE}",)),),
        findings=(group(found, 3, breaks_gate=True),),
        redacted=True,
    )


def everything() -> tuple[Summary, ...]:
    return (passing(), failing(), inconclusive(), two_heads(), no_reference(), secret())


def stage(*, drafts: float, accepted: float) -> Stage:
    """A stage on the candidate whose engine counted so many verify steps and accepted tokens."""
    before = Counters(at_ns=0, drafts=10.0, draft_tokens=50.0, accepted_tokens=20.0)
    after = Counters(at_ns=1, drafts=10 + drafts, draft_tokens=50 + 5 * drafts, accepted_tokens=20 + accepted)
    return Stage(
        key="s", cell="candidate/nvfp4/c8/closed-loop", arm="candidate", endpoint="candidate", phase="measure", block=0,
        concurrency=8, share_at_n=1.0, min_in_flight=8, max_in_flight=8, seconds=1.0, before=before, after=after,
    )  # fmt: skip


def plan() -> Plan:
    return Plan(
        candidates=(Endpoint(name="candidate", url="http://127.0.0.1:8000", lm_head="nvfp4"),),
        references=(Endpoint(name="reference", url="http://127.0.0.1:8001"),),
    )
