"""What a soak leaves behind: ``night.json`` holds its verdict and every number behind it, leg by leg.

A soak is a row of *legs*: gates of a fixed size, each with its own run directory, seed and traffic. A *boot* is the
life of the candidate's process; legs carry the number of theirs, from 1. Changes are additive only. Rates are shares
from 0 to 1, times are seconds, moments are ISO 8601 in UTC. A night holds thousands of legs and cells: dataclasses with
slots take a tenth of a model's memory.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from fuzzer.figures import Figures
from fuzzer.finding import Certainty, Kind
from fuzzer.plan import Role, ScheduleName
from fuzzer.summary import VerdictName

NIGHT = "night.json"
SOAK = "soak.json"  # the plan that the legs are made from
LEDGER = "soak.jsonl"  # what has happened
LEGS = "legs"  # a run directory for each
NIGHT_VERSION = 1

Purpose = Literal["sweep", "anchor"]
Why = Literal["rotation", "findings", "anchor"]
NightCode = Literal[
    "passed",
    "certain-finding",
    "wrong-rate",
    "worse-than-reference",
    "service-failures",
    "material-divergence",
    "acceptance-collapse",
    "stale-drafts",
    "drift",
    "bad-boot",
    "bound-open",
    "leg-undecided",
    "outage",
    "interrupted",
    "disk",
]

_STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class CellCount:
    """One cell of one leg: counts alone, so that legs add up.

    The candidate failed ``k`` of ``n`` judged answers, the reference ``reference_k`` of ``reference_n``; of the pairs
    ``b`` failed on the candidate only and ``c`` on the reference only. ``service_*`` are such pairs for failed
    requests, ``material_*`` for prompts that part by more than rounding explains. ``acceptance`` is in tokens a verify
    step, ``stale_p`` the p of drafts that outlive their requests (1 where they did not fall to half, None untested). A
    cell that is not ``counted`` (its batch never filled, the server restarted in it ...) decides nothing.
    """

    key: str
    role: Role
    candidate: str
    lm_head: str | None
    concurrency: int
    schedule: ScheduleName
    counted: bool
    k: int
    n: int
    reference_k: int = 0
    reference_n: int = 0
    b: int = 0
    c: int = 0
    service_b: int = 0
    service_c: int = 0
    material_b: int = 0
    material_c: int = 0
    collapsed: bool = False
    stale_p: float | None = None
    acceptance: float | None = None
    tokens_per_second: float | None = None
    reference_tokens_per_second: float | None = None
    seconds_p50: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class FindingCount:
    """The findings of one dedupe key in one leg; ``breaks`` if the leg failed for it. ``example`` is one line."""

    key: str
    kind: Kind
    certainty: Certainty
    schedule: str
    count: int
    breaks: bool = False
    example: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, config=_STRICT)
class Leg:
    """One leg that has ended.

    ``first_request`` is how many requests the candidate's boot had got from us when the leg began, ``active`` how long
    the soak had been at work when it ended, in seconds. ``reasons`` are the gate's own, in words.
    """

    number: int
    run_id: str
    purpose: Purpose
    why: Why
    schedule: ScheduleName
    concurrency: int
    families: tuple[str, ...] = ()
    seed: int
    boot: int
    started: str
    ended: str
    active: float
    first_request: int
    verdict: VerdictName
    exit_status: int
    reasons: tuple[str, ...] = ()
    cells: tuple[CellCount, ...] = ()
    findings: tuple[FindingCount, ...] = ()
    exchanges: int = 0
    candidate_requests: int = 0
    lost: int = 0


class Boot(Figures):
    """One life of the candidate's process, as far as it can be told; ``why`` says how it was noticed.

    ``k`` of ``n`` judged answers failed in its legs; ``p`` is the one-sided exact test of this boot against all others,
    adjusted for the number of boots (None with one boot).
    """

    number: int
    since: str
    why: str
    legs: int = 0
    k: int = 0
    n: int = 0
    p: float | None = None
    bad: bool = False


class Drift(Figures):
    """Whether answers fail more often later in a boot's life (Cochran-Armitage, one-sided), over ``legs`` legs.

    ``early`` and ``late`` are (failed, judged) in the first and in the second half of them. ``on`` says which legs:
    those of the anchor set alone, or all.
    """

    on: Literal["anchors", "all"]
    candidate: str
    legs: int
    p: float | None
    early: tuple[int, int]
    late: tuple[int, int]
    flagged: bool = False


class Outage(Figures):
    """A time in which an end could not be measured; ``seconds`` of it had passed when it ended, or until now."""

    end: str
    since: str
    seconds: float
    why: str


class NightCell(Figures):
    """All legs' counts of one cell together, those of the anchor set once, and what was decided for it.

    ``upper`` and ``lower`` are one-sided exact bounds of the failure rate at the policy's confidence, ``p`` the paired
    test against the reference, adjusted over the night's cells.
    """

    key: str
    candidate: str
    lm_head: str | None
    concurrency: int
    schedule: ScheduleName
    role: Role
    legs: int
    k: int
    n: int
    reference_k: int
    reference_n: int
    upper: float
    lower: float
    p: float | None = None
    material_b: int = 0
    material_c: int = 0
    p_material: float | None = None
    service_b: int = 0
    service_c: int = 0
    p_service: float | None = None
    acceptance: float | None = None
    tokens_per_second: float | None = None
    reference_tokens_per_second: float | None = None
    status: Literal["pass", "fail", "open"] = "open"
    reasons: tuple[str, ...] = ()


class NightFinding(Figures):
    """All findings of one dedupe key in the night; ``first`` and ``last`` name legs. ``bundle`` is a path in it."""

    key: str
    kind: Kind
    certainty: Certainty
    schedule: str
    count: int
    legs: int
    first: int
    last: int
    first_seen: str
    last_seen: str
    breaks: bool = False
    bundle: str = ""
    example: str = ""


class NightReason(Figures):
    """One reason for the night's verdict; ``cell`` is empty where it concerns the whole night."""

    code: NightCode
    cell: str = ""
    message: str


class Night(Figures):
    """The whole of ``night.json``.

    ``active`` is the time at work without the pauses between processes. ``dropped`` legs have lost their bulk history
    to the disk limit; their counts and findings stand.
    """

    night_version: int = NIGHT_VERSION
    tool: str = "specfuzz"
    tool_version: str
    night_id: str
    started: str
    ended: str
    active: float
    verdict: VerdictName
    exit_status: int
    reasons: tuple[NightReason, ...]
    scope: str
    plan_hash: str
    seed: int
    max_wrong_rate: float
    confidence: float
    reference_used: bool
    cells: tuple[NightCell, ...] = ()
    findings: tuple[NightFinding, ...] = ()
    boots: tuple[Boot, ...] = ()
    drifts: tuple[Drift, ...] = ()
    outages: tuple[Outage, ...] = ()
    legs: tuple[Leg, ...] = ()
    exchanges: int = 0
    judged: int = 0
    lost: int = 0
    processes: int = 1
    dropped: tuple[int, ...] = Field(default=())
    bytes_kept: int = 0
