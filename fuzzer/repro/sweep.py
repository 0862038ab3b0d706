"""``specfuzz repro``: a preset's traffic, leg by leg, until one fails; then fresh replays, a reduction and a bundle.

Each leg is a gate of its own: calibrated prompts, matched concurrency, the speculation-off control where a reference is
given. It stops at the first leg that fails, and confirms what it found on fresh requests before it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fuzzer.events import Listener
from fuzzer.manifest import read_manifest
from fuzzer.plan import Plan
from fuzzer.repro.acceptance import Budget
from fuzzer.repro.bundle import Bundle, Tally, name_of
from fuzzer.repro.collect import BUNDLES, collect
from fuzzer.repro.issue import Tracker
from fuzzer.repro.presets import Leg, Preset, Told
from fuzzer.repro.reduce import reduce
from fuzzer.repro.secrets import known_secrets
from fuzzer.repro.writing import write
from fuzzer.run import Run, gate
from fuzzer.shapes import SHAPES
from fuzzer.stats.intervals import rule_out
from fuzzer.summary import Rate, Summary

Outcome = Literal["reproduced", "not reproduced", "too weak", "interrupted", "unavailable"]
EXITS: dict[Outcome, int] = {
    "reproduced": 1,
    "not reproduced": 0,
    "too weak": 3,
    "unavailable": 4,
    "interrupted": 130,
}
INTERRUPTED = EXITS["interrupted"]
TRIED = 3  # bundles of a failing leg that are replayed until one shows again
_SIZE = ("bound-open", "too-few-judged")  # reasons that may speak of the sample's size alone


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: what was asked, wrong answers of judged ones, and the same of the public report."""

    what: str
    here: Rate | None = None
    told: Told | None = None


@dataclass(slots=True)
class Reproduction:
    """What came of a preset; ``bundle`` is where the smallest one was written."""

    outcome: Outcome
    why: str
    lines: list[Line] = field(default_factory=list)
    run: Run | None = None
    bundle: Path | None = None
    reduced: Bundle | None = None
    confirmed: Tally | None = None

    @property
    def exit_status(self) -> int:
        """The command's."""
        return EXITS[self.outcome]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asked for beside the preset."""

    out: Path
    budget: Budget
    requests: int | None = None
    tracker: Tracker | None = None
    launch_command: str = ""


def plan_of(base: Plan, preset: Preset, leg: Leg, requests: int | None) -> Plan:
    """The gate of one leg: the user's endpoints, sampling and families, the preset's traffic."""
    judged = max(1, (requests or leg.requests) // SHAPES[leg.schedule].copies(leg.concurrency))
    policy = base.policy.model_copy(
        update={"requests": judged, "control_requests": min(preset.serial, requests or preset.serial)}
    )
    fields = {
        "concurrency": (1, leg.concurrency) if leg.concurrency > 1 else (1,),
        "schedules": (leg.schedule,),
        "families": base.families or (() if base.corpora else preset.families),
        "policy": policy,
    }
    return Plan.model_validate(dict(base) | fields)


async def reproduce(
    base: Plan, preset: Preset, wanted: Wanted, listeners: Callable[[], Sequence[Listener]], tell: Callable[[str], None]
) -> Reproduction:
    """Sweep, stop at the first significant failure, confirm, shrink, bundle. Raises UsageError, UnavailableError."""
    lines: list[Line] = [Line(told.what, told=told) for told in preset.told]
    weak: list[str] = []
    for number, leg in enumerate(preset.legs, 1):
        tell(f"== {preset.name}, part {number} of {len(preset.legs)}: {leg.title} ==")
        plan = plan_of(base, preset, leg, wanted.requests)
        run = await gate(plan, out=wanted.out, listeners=listeners())
        lines += _lines(run.summary, leg)
        status = INTERRUPTED if read_manifest(run.directory).interrupted else run.summary.exit_status
        if status == 1:
            return await _found(plan, run, wanted, lines, tell)
        if status == INTERRUPTED:
            why = f"go on with the run alone: specfuzz resume {run.directory}; or begin again with the same command"
            return Reproduction("interrupted", why, lines, run)
        if status == EXITS["unavailable"]:
            return Reproduction("unavailable", _why(run.summary), lines, run)
        if why := _weak(run.summary, plan.policy.requests or 1):
            weak.append(f"{leg.title}: {why}")
    if weak:
        return Reproduction("too weak", "; ".join(weak), lines)
    return Reproduction("not reproduced", _power(lines), lines)


def _why(summary: Summary) -> str:
    return "; ".join(reason.message for reason in summary.reasons)


def _weak(summary: Summary, wanted: int) -> str:
    """Why a leg that did not fail says nothing; "" where it shows what its size can show."""
    if summary.exit_status == 0:
        return ""
    gated = [cell for cell in summary.cells if cell.role == "gated"]
    others = [reason.message for reason in summary.reasons if reason.code not in _SIZE]
    if not others and all(cell.rate.n >= wanted for cell in gated):
        failures = sum(cell.rate.k for cell in gated)
        return f"{failures} answers were wrong, too few to be sure; ask for more: --requests" if failures else ""
    return "; ".join(others) or _why(summary)


def _power(lines: Sequence[Line]) -> str:
    clean = [line.here for line in lines if line.here is not None and line.here.n and not line.told]
    largest = max((rate.n for rate in clean), default=0)
    if not largest:
        return "no failure was significant"
    most = 100 * rule_out(largest)
    return f"no failure was significant; {largest} answers without one rule out a rate above {most:.2g} %"


def _lines(summary: Summary, leg: Leg) -> list[Line]:
    """The run's own lines: the control alone, the candidate at N, and the reference at N."""
    found = []
    for cell in summary.cells:
        head = f", {cell.lm_head} lm_head" if cell.lm_head else ""
        where = "one at a time" if cell.concurrency == 1 else f"concurrency {cell.concurrency}, {leg.title}"
        found.append(Line(f"speculation on, {where}{head}", cell.rate))
        if cell.reference_rate is not None and cell.role == "gated":
            found.append(Line(f"speculation off, {where}{head}", cell.reference_rate))
    return found


async def _found(plan: Plan, run: Run, wanted: Wanted, lines: list[Line], tell: Callable[[str], None]) -> Reproduction:
    """Confirm on fresh requests, reduce, and write the smaller bundle beside the run's own."""
    manifest = read_manifest(run.directory)
    secrets = known_secrets(plan)
    bundles = collect(run.directory, manifest, run.summary, launch_command=wanted.launch_command)
    found = Reproduction("too weak", "", lines, run)
    for bundle in bundles:
        write(bundle, run.directory / BUNDLES, secrets=secrets, tracker=wanted.tracker)
    if not bundles:
        found.outcome, found.why = (
            "reproduced",
            f"it failed, by counts that no single exchange shows: {_why(run.summary)}",
        )
        return found
    reference = plan.reference_of(plan.candidates[0].name)
    tried = []
    for bundle in bundles[:TRIED]:
        tell(f"== fresh requests for {bundle.key} ==")
        endpoint = plan.endpoint("candidate", bundle.finding.endpoint)
        reduced = await reduce(bundle, endpoint, reference, wanted.budget, tell=tell)
        if reduced.baseline.n:
            found.confirmed = reduced.baseline
        if reduced.bundle is not None and reduced.bundle.shrunk is not None:
            name = f"{name_of(bundle)}-shrunk"
            found.bundle = write(
                reduced.bundle, run.directory / BUNDLES, secrets=secrets, tracker=wanted.tracker, name=name
            )
            found.reduced = reduced.bundle
            found.confirmed = reduced.bundle.shrunk.filled or reduced.baseline
            found.outcome = "reproduced"
            found.why = f"{bundle.key}; {reduced.bundle.shrunk.sentence}"
            return found
        tried.append(f"{bundle.key}: {reduced.why}")
    found.why = f"it failed in the run, and was not seen again: {'; '.join(tried)}"
    return found
