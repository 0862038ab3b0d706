"""The counts of a run, cell by cell: what was measured, paired, clustered and achieved. No texts are kept."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Literal

from fuzzer.history.records import Arm, Counters, Exchange, Stage
from fuzzer.judge.grading import LIMITED, Outcome, grade_exchange, outcomes
from fuzzer.judge.residue import Residue
from fuzzer.judge.speeds import Race, Times, race
from fuzzer.oracles.context import Context
from fuzzer.oracles.divergence import first_divergence, matched
from fuzzer.oracles.health import Acceptance, acceptance, restarted
from fuzzer.plan import Cell
from fuzzer.shapes import SHAPES
from fuzzer.summary import Achieved, ArmCounts


@dataclass(slots=True)
class Drafting:
    """Verify steps, draft tokens and accepted draft tokens."""

    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0

    def add(self, drafts: float, drafted: float, accepted: float) -> None:
        """Count some more."""
        self.drafts += drafts
        self.drafted += drafted
        self.accepted += accepted


@dataclass(slots=True)
class Server:
    """What the engine's other counters gained over the measured stages; None where it does not tell.

    Prefix-cache counts are prompt tokens. ``accepted_at`` counts accepted draft tokens by their place in the draft.
    """

    preemptions: float | None = None
    queries: float | None = None
    hits: float | None = None
    accepted_at: tuple[float, ...] = ()

    def add(self, before: Counters, after: Counters) -> None:
        """Count a stage during which the engine did not restart."""
        self.preemptions = _plus(self.preemptions, before.preemptions, after.preemptions)
        self.queries = _plus(self.queries, before.prefix_queries, after.prefix_queries)
        self.hits = _plus(self.hits, before.prefix_hits, after.prefix_hits)
        if after.accepted_at is not None:
            pairs = zip_longest(before.accepted_at or (), after.accepted_at, fillvalue=0.0)
            gained = [max(last - first, 0.0) for first, last in pairs]
            self.accepted_at = tuple(map(sum, zip_longest(self.accepted_at, gained, fillvalue=0.0)))

    @property
    def hit_rate(self) -> float | None:
        """The share of prompt tokens that the prefix cache held, from 0 to 1."""
        return min(self.hits / self.queries, 1.0) if self.hits is not None and self.queries else None


def _plus(so_far: float | None, first: float | None, last: float | None) -> float | None:
    return so_far if last is None else (so_far or 0.0) + max(last - (first or 0.0), 0.0)


@dataclass(slots=True)
class ArmTally:
    """One arm of a cell.

    ``changed`` says what its server called itself otherwise than before, ``limited`` counts requests that it refused by
    number (HTTP 429), neighbours and filler included, ``others`` those of somebody else's that ran before a stage,
    ``turns`` the earlier turns of conversations.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    error: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    judged: int = 0
    times: Times = field(default_factory=Times)
    tokens: int = 0
    shares: array[float] = field(default_factory=lambda: array("d"))
    least: int = 0
    most: int = 0
    running: array[float] = field(default_factory=lambda: array("d"))
    waiting: float = 0.0
    histogram: Counter[int] = field(default_factory=Counter)
    pool_usage: float | None = None
    deviations: Counter[str] = field(default_factory=Counter)
    worst_late_ms: float = 0.0
    replies: Drafting = field(default_factory=Drafting)
    engine: Drafting = field(default_factory=Drafting)
    server: Server = field(default_factory=Server)
    generated: float = 0.0
    counted: bool = False
    restarted: bool = False
    changed: str = ""
    limited: int = 0
    others: int = 0
    turns: int = 0
    crowded: bool = False
    residue: Residue = field(default_factory=Residue)

    def add(self, exchange: Exchange, result: Outcome) -> None:
        """Count one measured exchange."""
        self.counts["sent"] += 1
        self.counts[result.state] += 1
        if result.state == "wrong":
            self.wrong[result.sub_kind] += 1
        elif result.state == "unjudged":
            self.unjudged[result.sub_kind] += 1
        elif result.state == "error":
            self.error[result.sub_kind] += 1
        self.judged += result.judged
        self.failures += result.failed
        self.time(exchange)

    def time(self, exchange: Exchange) -> None:
        """Count the times, tokens and drafts of one exchange."""
        received = exchange.received
        if received is None or received.outcome != "ok":
            return
        self.counts["completed"] += 1
        self.times.add(exchange)
        if received.usage is not None and received.usage.completion_tokens:
            self.tokens += received.usage.completion_tokens
        if received.draft is not None:
            self.replies.add(received.draft.steps or 0, received.draft.drafted, received.draft.accepted)

    def add_stage(self, stage: Stage) -> None:
        """Count one stage's concurrency, time and the engine's own counters around it."""
        self.shares.append(stage.share_at_n)
        self.times.stage_seconds += stage.seconds
        self.least = min(self.least or stage.min_in_flight, stage.min_in_flight)
        self.most = max(self.most, stage.max_in_flight)
        self.running.extend(stage.server_running)
        self.waiting = max(self.waiting, stage.server_waiting or 0.0)
        self.histogram.update({count: round(seconds * 1e9) for count, seconds in stage.histogram.items()})
        if stage.pool_usage is not None:
            self.pool_usage = max(self.pool_usage or 0.0, stage.pool_usage)
        deviations = stage.deviations.model_dump()
        self.worst_late_ms = max(self.worst_late_ms, deviations.pop("worst_late_ms", 0.0))
        self.deviations.update(deviations)
        if stage.before is not None and stage.after is not None and not restarted(stage.before, stage.after):
            self.server.add(stage.before, stage.after)
        grown = acceptance(stage.before, stage.after)
        if grown is not None:
            self.counted = True
            self.engine.add(grown.drafts, grown.drafted, grown.accepted)
            self.generated += _grown(stage)
        elif stage.before is not None and stage.after is not None:
            self.restarted = self.restarted or restarted(stage.before, stage.after)

    @property
    def _seen(self) -> Drafting:
        """The engine's own counters, which are complete, or what the replies told where it has none."""
        return self.engine if self.counted else self.replies

    @property
    def drafts(self) -> float:
        """Verify steps over the measured stages."""
        return self._seen.drafts

    @property
    def drafted(self) -> float:
        """Draft tokens over the measured stages."""
        return self._seen.drafted

    @property
    def accepted(self) -> float:
        """Accepted draft tokens over the measured stages."""
        return self._seen.accepted

    @property
    def drafted_per_token(self) -> float | None:
        """Draft tokens per output token, or None where no tokens were counted."""
        tokens = self.generated if self.counted and self.crowded else self.tokens
        return self.drafted / tokens if tokens else None

    def acceptance(self) -> Acceptance | None:
        """The drafting of the measured exchanges, or None where it is not told apart from that of neighbours."""
        seen = self.replies if self.crowded else self._seen
        if not seen.drafted and (self.crowded or not self.counted):
            return None
        return Acceptance(drafts=seen.drafts, drafted=seen.drafted, accepted=seen.accepted)

    def summary(self) -> ArmCounts:
        """The arm for ``summary.json``."""
        counts = self.counts
        return ArmCounts(
            sent=counts["sent"],
            completed=counts["completed"],
            right=counts["right"],
            verbose=counts["verbose"],
            wrong=dict(self.wrong),
            unjudged=dict(self.unjudged),
            error=dict(self.error),
            lost=counts["lost"],
        )

    def achieved(self) -> Achieved | None:
        """The concurrency achieved, or None before any stage."""
        if not self.shares:
            return None
        return Achieved(
            share_at_n=sum(self.shares) / len(self.shares),
            min=self.least,
            max=self.most,
            server_running=max(self.running) if self.running else None,
            histogram={count: ns / 1e9 for count, ns in sorted(self.histogram.items())},
            server_histogram=dict(sorted(Counter(map(int, self.running)).items())),
            pool_usage=self.pool_usage,
            preemptions=self.server.preemptions,
            prefix_hit_rate=self.server.hit_rate,
            deviations=dict(self.deviations),
            worst_late_ms=self.worst_late_ms,
        )


def _grown(stage: Stage) -> float:
    """Tokens that the engine generated over a stage, as it counts them."""
    before, after = stage.before, stage.after
    if before is None or after is None or after.generated_tokens is None:
        return 0.0
    return after.generated_tokens - (before.generated_tokens or 0.0)


@dataclass(slots=True)
class _Unit:
    """One pair of the paired tests."""

    candidate: bool = False
    reference: bool = False
    candidate_error: bool = False
    reference_error: bool = False


@dataclass(slots=True)
class CellTally:
    """One cell.

    ``outcomes`` maps (prompt, copy) to whether the candidate failed, for pairing across cells; ``prompts`` counts those
    that the closed blocks took from the cell's level. ``clusters`` are the victims of one release (which is the whole
    block where N stay in flight); ``groups`` are the copies of one prompt in one block, where a schedule sends copies.
    """

    cell: Cell
    candidate: ArmTally = field(default_factory=ArmTally)
    reference: ArmTally = field(default_factory=ArmTally)
    b: int = 0
    c: int = 0
    service_b: int = 0
    service_c: int = 0
    service_shared: int = 0
    compared: int = 0
    differ: int = 0
    unmatched: int = 0
    clusters: dict[tuple[int, int], bool] = field(default_factory=dict)
    groups: dict[tuple[int, str], bool] = field(default_factory=dict)
    outcomes: dict[tuple[str, int], bool] = field(default_factory=dict)
    race: Race = field(default_factory=Race)
    blocks: int = 0
    prompts: int = 0

    def __post_init__(self) -> None:
        self.candidate.crowded = self.reference.crowded = SHAPES[self.cell.schedule].crowded

    def arm(self, arm: Arm) -> ArmTally:
        """The tally of one arm."""
        return self.candidate if arm == "candidate" else self.reference

    @property
    def upset(self) -> bool:
        """Whether a server was not the same all the time, or would not take the load: such a cell decides nothing."""
        arms = (self.candidate, self.reference)
        return any(arm.restarted or arm.changed or arm.limited or arm.others for arm in arms)

    @property
    def k(self) -> int:
        """Failures that the bound counts: answers, or prompts where they come in copies."""
        return sum(self.groups.values()) if self.by_prompt else self.candidate.failures

    @property
    def n(self) -> int:
        """Judged units of the bound: answers, or prompts where they come in copies."""
        return len(self.groups) if self.by_prompt else self.candidate.judged

    @property
    def by_prompt(self) -> bool:
        """Copies of a prompt share it, so that only all of them together are a fresh draw from the population."""
        return SHAPES[self.cell.schedule].copies(self.cell.concurrency) > 1

    @property
    def unit(self) -> Literal["request", "round", "prompt"]:
        """What ``k`` and ``n`` count."""
        if not self.by_prompt:
            return "request"
        return "round" if self.cell.schedule == "replicas" else "prompt"

    def add_block(
        self,
        measured: Mapping[Arm, Sequence[Exchange]],
        context: Context,
        control: dict[tuple[str, int], bool] | None,
    ) -> None:
        """Count a block. ``control`` holds the level-1 outcomes that stand in where there is no reference."""
        self.blocks += 1
        units: dict[int | str, _Unit] = {}
        copies: Counter[str] = Counter()
        for exchange, pair in race(measured, self.race):
            identity = (exchange.sent.prompt, copies[exchange.sent.prompt])
            copies[exchange.sent.prompt] += 1
            self._add_pair(exchange, pair, identity, context, control, units)
        for found in units.values():
            self.b += found.candidate and not found.reference
            self.c += found.reference and not found.candidate
            self.service_b += found.candidate_error and not found.reference_error
            self.service_c += found.reference_error and not found.candidate_error

    def add_times(self, measured: Mapping[Arm, Sequence[Exchange]]) -> None:
        """Time a block that nothing is judged by."""
        race(measured, self.race)
        for arm, exchanges in measured.items():
            for exchange in exchanges:
                self.arm(arm).time(exchange)

    def _add_pair(
        self,
        exchange: Exchange,
        pair: Exchange | None,
        identity: tuple[str, int],
        context: Context,
        control: dict[tuple[str, int], bool] | None,
        units: dict[int | str, _Unit],
    ) -> None:
        side = grade_exchange(exchange, context.grade)
        other = grade_exchange(pair, context.grade) if pair is not None else None
        prompt = context.prompt(exchange)
        checkable = prompt is None or prompt.checkable
        result, against = outcomes(side, other, checkable=checkable, plain=exchange.sent.plain)
        self.candidate.add(exchange, result)
        if result.judged:
            self.outcomes[identity] = result.failed
            cluster = (exchange.sent.block, exchange.sent.round if exchange.sent.round is not None else -1)
            self.clusters[cluster] = self.clusters.get(cluster, False) or result.failed
            if self.by_prompt:
                group = (exchange.sent.block, exchange.sent.prompt)
                self.groups[group] = self.groups.get(group, False) or result.failed
        if pair is not None and against is not None:
            self.reference.add(pair, against)
            self._discordant(exchange, result, against, units)
            self._compare(exchange, pair)
        elif control is not None and (identity[0], 0) in control and result.judged:
            found = units.setdefault(self._unit(exchange), _Unit())
            found.candidate |= result.failed
            found.reference |= control[identity[0], 0]

    def note(self, batch: Sequence[Exchange]) -> None:
        """Count, of all that a block sent: tokens, the drafts of word lists, and what a rate limit has refused."""
        for exchange in batch:
            arm = self.arm(exchange.sent.arm)
            arm.times.count(exchange)
            arm.residue.add(exchange)
            arm.turns += exchange.sent.turn is not None
            if exchange.received is not None and exchange.received.rate_limited:
                arm.limited += 1

    def _unit(self, exchange: Exchange) -> int | str:
        """What a pair is: an exchange, or all copies of a prompt, which fail together."""
        return exchange.sent.prompt if self.by_prompt else exchange.sent.index

    def _discordant(self, exchange: Exchange, result: Outcome, against: Outcome, units: dict[int | str, _Unit]) -> None:
        if "lost" in (result.state, against.state) or LIMITED in (result.sub_kind, against.sub_kind):
            return
        found = units.setdefault(self._unit(exchange), _Unit())
        found.candidate |= result.failed
        found.reference |= against.failed
        found.candidate_error |= result.state == "error"
        found.reference_error |= against.state == "error"
        self.service_shared += result.state == against.state == "error"

    def _compare(self, exchange: Exchange, pair: Exchange) -> None:
        if not (exchange.ok and pair.ok):
            return
        if matched(exchange, pair) is not None:
            self.unmatched += 1
            return
        self.compared += 1
        self.differ += first_divergence(exchange, pair) is not None
