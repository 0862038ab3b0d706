"""What ``summary.json`` holds: the verdict and every number behind it, for people and machines.

Changes are additive only; ``schema_version`` grows when a field's meaning changes. Rates are shares from 0 to 1, times
are seconds, lengths are tokens.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from fuzzer.figures import AcceptanceSummary as AcceptanceSummary
from fuzzer.figures import ArmSpeed as ArmSpeed
from fuzzer.figures import Figures as _Model
from fuzzer.figures import MemoryKind as MemoryKind
from fuzzer.figures import Quantiles as Quantiles
from fuzzer.figures import SampledSpeed as SampledSpeed
from fuzzer.figures import Speed as Speed
from fuzzer.figures import SpeedUp as SpeedUp
from fuzzer.finding import Certainty, Finding, Kind
from fuzzer.noise import NoiseFloor as NoiseFloor
from fuzzer.plan import Role, ScheduleName, Waiver

SCHEMA_VERSION = 1

VerdictName = Literal["pass", "fail", "inconclusive", "unavailable", "interrupted"]
CellStatus = Literal["pass", "fail", "open", "vacuous", "informational", "not-run"]
ReasonCode = Literal[
    "passed",
    "certain-finding",
    "wrong-rate",
    "worse-than-reference",
    "service-failures",
    "material-divergence",
    "acceptance-collapse",
    "stale-drafts",
    "bound-open",
    "no-speculation",
    "concurrency-not-reached",
    "too-few-judged",
    "not-comparable",
    "truncated",
    "reference-faulty",
    "shared-service-failures",
    "budget",
    "restarted",
    "changed",
    "rate-limited",
    "other-traffic",
    "unavailable",
    "interrupted",
]

CheckCode = Literal[
    "swapped",
    "same-endpoint",
    "no-speculation",
    "reference-speculates",
    "different-model",
    "different-weights",
    "different-template",
    "context-length",
    "different-engine",
    "different-version",
    "slots",
    "temperature-ignored",
    "not-repeatable",
    "max-tokens-ignored",
    "stop-ignored",
    "stream-differs",
    "stream-fails",
    "generation-defaults",
    "stale-counters",
    "no-drafting",
    "rate-limited",
    "clock",
]
ProbeName = Literal["temperature", "max-tokens", "stop", "stream", "neutral", "seed"]


class Reason(_Model):
    """One reason for the verdict, in words; ``cell`` is empty where it concerns the whole run."""

    code: ReasonCode
    cell: str = ""
    message: str


class EndpointSummary(_Model):
    """Who stood at one end, as far as it told.

    ``kv_tokens`` is the size of its KV cache and ``kv_block`` that of a block of it, in tokens; ``memory_bytes`` what
    it held in memory when the run began: on one device, or in the process that serves HTTP.
    ``clock_seconds`` is how far its clock was ahead of ours.
    """

    name: str
    role: Literal["candidate", "reference"]
    url: str
    engine: str
    model: str | None = None
    fingerprint: str | None = None
    lm_head: str | None = None
    speculation: bool | None = None
    context_length: int | None = None
    slots: int | None = None
    kv_tokens: int | None = None
    kv_block: int | None = None
    memory_bytes: int | None = None
    memory_kind: MemoryKind | None = None
    clock_seconds: float | None = None
    dropped_parameters: tuple[str, ...] = ()

    @property
    def lasting(self) -> EndpointSummary:
        """All of it that stays as it is from one day to the next, as long as nobody changes the server."""
        return self.model_copy(update={"memory_bytes": None, "clock_seconds": None})


class Check(_Model):
    """Something about one end, or a pair of ends, that speaks against comparing them.

    A blocking one makes the run inconclusive before it starts: the comparison would be unfair. ``change`` says what to
    do about it, ``end`` whom it concerns ("candidate", "reference fp8"; "" for the pair).
    """

    code: CheckCode
    severity: Literal["blocking", "warning"]
    message: str
    change: str = ""
    end: str = ""

    @property
    def text(self) -> str:
        """All of it in one sentence."""
        said = f"{self.end}: {self.message}" if self.end else self.message
        return f"{said}; {self.change}" if self.change else said


class Probed(_Model):
    """What one end was asked in preflight to see whether it heeds a parameter, and what came of it.

    ``bad``: it does not heed it. ``odd``: not quite, or only some replies show it. ``unknown``: nothing could be seen.
    """

    end: str
    probe: ProbeName
    result: Literal["ok", "odd", "bad", "unknown"]
    detail: str = ""


class Preflight(_Model):
    """Whether the two ends can be compared, before the run; ``problems`` and ``warnings`` are the checks in words."""

    comparable: bool
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    probes: tuple[Probed, ...] = ()
    truncated_share: float = 0.0
    seconds_per_request: float | None = None
    planned_requests: int = 0
    planned_seconds: float | None = None


class Interval(_Model):
    """Lower and upper end of an interval, from 0 to 1."""

    low: float
    high: float


class Rate(_Model):
    """``k`` failures of ``n`` judged answers, with the two-sided Wilson interval for the eye."""

    k: int
    n: int
    wilson: Interval | None = None


class Bound(_Model):
    """The one-sided bound that the policy goes by."""

    value: float
    sided: Literal["upper"] = "upper"
    method: Literal["clopper-pearson"] = "clopper-pearson"
    confidence: float
    unit: Literal["request", "round", "prompt"] = "request"


class ArmCounts(_Model):
    """What became of one arm's measured exchanges; ``wrong`` by sub-kind, ``unjudged`` by reason, ``error`` by kind."""

    sent: int = 0
    completed: int = 0
    right: int = 0
    verbose: int = 0
    wrong: dict[str, int] = Field(default_factory=dict)
    unjudged: dict[str, int] = Field(default_factory=dict)
    error: dict[str, int] = Field(default_factory=dict)
    lost: int = 0


class Achieved(_Model):
    """The concurrency achieved; ``share_at_n`` is the share of the time at the profile, or of it which met at barriers.

    ``histogram`` maps a number in flight at the client to seconds, ``server_histogram`` a number running at the server
    to the samples that said so while N were in flight. ``pool_usage`` is the largest share of the KV pool seen in use.
    ``deviations`` counts departures from the schedule by kind, the latest request left ``worst_late_ms`` too late.
    ``preemptions`` is how many requests the engine put back, ``prefix_hit_rate`` the share of prompt tokens that its
    prefix cache held; None where it does not tell.
    """

    share_at_n: float
    min: int
    max: int
    server_running: float | None = None
    histogram: dict[int, float] = Field(default_factory=dict)
    server_histogram: dict[int, int] = Field(default_factory=dict)
    pool_usage: float | None = None
    deviations: dict[str, int] = Field(default_factory=dict)
    worst_late_ms: float = 0.0
    preemptions: float | None = None
    prefix_hit_rate: float | None = None


class Paired(_Model):
    """Exact McNemar: ``b`` pairs failed on the candidate only, ``c`` on the control only; p is one-sided."""

    b: int
    c: int
    p: float
    p_adjusted: float | None = None
    unit: str
    against: str


class Clusters(_Model):
    """Clusters (rounds, or blocks in a closed loop) and those with a failure, with the bound at their level."""

    unit: Literal["round", "block"]
    n: int
    failed: int
    bound: float


class MainDivergence(_Model):
    """Outputs that differ between matched measured exchanges (no log-probabilities asked, so not triaged)."""

    n: int
    differ: int
    unmatched: int = 0


class CellSummary(_Model):
    """One cell: what was measured, how sure it is, and what was decided."""

    key: str
    role: Role
    candidate: str
    lm_head: str | None
    concurrency: int
    schedule: ScheduleName
    status: CellStatus
    reasons: tuple[str, ...] = ()
    rate: Rate
    reference_rate: Rate | None = None
    arms: dict[Literal["candidate", "reference"], ArmCounts]
    achieved: dict[Literal["candidate", "reference"], Achieved] = Field(default_factory=dict)
    bound: Bound | None = None
    paired: Paired | None = None
    service: Paired | None = None
    clusters: Clusters | None = None
    divergence: MainDivergence | None = None
    noise_floor: NoiseFloor | None = None
    acceptance: AcceptanceSummary | None = None
    speed: Speed = Speed()
    blocks: int = 0
    stopped_early: bool = False
    sequential: bool = False
    sprt: Literal["pass", "fail", "open"] | None = None
    requests_needed: int = 0


class Comparison(_Model):
    """Two candidates (often two lm_head precisions) on the same prompts at the same concurrency and schedule."""

    concurrency: int
    schedule: ScheduleName
    left: str
    right: str
    left_lm_head: str | None
    right_lm_head: str | None
    left_rate: Rate
    right_rate: Rate
    b: int
    c: int
    p_two_sided: float
    unit: str


class FindingGroup(_Model):
    """All findings of one dedupe key; ``certainty`` is the strongest, ``example`` the first of that certainty.

    ``counts`` says how many of them each of ``cells`` holds, calibration and preflight as cells of their own.
    """

    key: str
    kind: Kind
    sub_kind: str
    certainty: Certainty
    count: int
    arm: Literal["candidate", "reference"]
    also_on_reference: bool = False
    breaks_gate: bool = False
    waived: bool = False
    cells: tuple[str, ...] = ()
    counts: dict[str, int] = Field(default_factory=dict)
    example: Finding


class UsedWaiver(Waiver):
    """A waiver, and how many findings it let pass."""

    used: int = 0


class FamilyCalibration(_Model):
    """What calibration kept of one family and level.

    ``recalled`` of the tried were answered alone in an earlier run; ``left_out`` says why the form was asked no more.
    """

    family: str
    level: str
    tried: int
    kept: int
    wrong_alone: int = 0
    wrong_at_n_only: int = 0
    recalled: int = 0
    left_out: str = ""

    def plus(self, other: FamilyCalibration) -> FamilyCalibration:
        """Both together; what was said of the form by the first stands."""
        counts = ("tried", "kept", "wrong_alone", "wrong_at_n_only", "recalled")
        return self.model_copy(update={name: getattr(self, name) + getattr(other, name) for name in counts})


class Summary(_Model):
    """The whole of ``summary.json``; ``merged`` names the runs that were put together, if any were.

    ``p50_concurrency`` is the level that the user runs at, if they said so; ``sampled`` is measured if asked for.
    """

    schema_version: int = SCHEMA_VERSION
    tool: str = "specfuzz"
    tool_version: str
    run_id: str
    started: str
    seconds: float
    verdict: VerdictName
    exit_status: int
    reasons: tuple[Reason, ...]
    scope: str
    plan_hash: str
    seed: int
    reference_used: bool
    max_wrong_rate: float
    confidence: float
    preflight: Preflight | None = None
    endpoints: tuple[EndpointSummary, ...] = ()
    cells: tuple[CellSummary, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    findings: tuple[FindingGroup, ...] = ()
    waivers: tuple[UsedWaiver, ...] = ()
    calibration: tuple[FamilyCalibration, ...] = ()
    vacuity: tuple[str, ...] = ()
    exchanges: int = 0
    lost: int = 0
    resumed: int = 0
    redacted: bool = False
    p50_concurrency: int | None = None
    sampled: tuple[SampledSpeed, ...] = ()
    merged: tuple[str, ...] = ()
