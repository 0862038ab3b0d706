"""The counts of a run, cell by cell: what was measured, paired, clustered and achieved. No texts are kept."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from fuzzer.history.records import Arm, Exchange, Stage
from fuzzer.judge.grading import Outcome, grade_exchange, outcome
from fuzzer.oracles.context import Context
from fuzzer.oracles.divergence import first_divergence, matched
from fuzzer.oracles.health import Acceptance, acceptance, restarted
from fuzzer.plan import Cell
from fuzzer.summary import Achieved, ArmCounts


@dataclass(slots=True)
class ArmTally:
    """One arm of a cell."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)
    error: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    judged: int = 0
    seconds: array[float] = field(default_factory=lambda: array("d"))
    first: array[float] = field(default_factory=lambda: array("d"))
    tokens: int = 0
    stage_seconds: float = 0.0
    shares: array[float] = field(default_factory=lambda: array("d"))
    least: int = 0
    most: int = 0
    running: array[float] = field(default_factory=lambda: array("d"))
    drafts: float = 0.0
    drafted: float = 0.0
    accepted: float = 0.0
    counted: bool = False
    restarted: bool = False

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
        received = exchange.received
        if received is None or received.outcome != "ok":
            return
        self.counts["completed"] += 1
        self.seconds.append((received.end_ns - exchange.sent.sent_ns) / 1e9)
        if received.first_ns is not None:
            self.first.append((received.first_ns - exchange.sent.sent_ns) / 1e9)
        if received.usage is not None and received.usage.completion_tokens:
            self.tokens += received.usage.completion_tokens
        if received.draft is not None and not self.counted:
            self.drafted += received.draft.drafted
            self.accepted += received.draft.accepted
            self.drafts += received.draft.steps or 0

    def add_stage(self, stage: Stage) -> None:
        """Count one stage's concurrency, time and the engine's own counters around it."""
        self.shares.append(stage.share_at_n)
        self.stage_seconds += stage.seconds
        self.least = min(self.least or stage.min_in_flight, stage.min_in_flight)
        self.most = max(self.most, stage.max_in_flight)
        self.running.extend(stage.server_running)
        grown = acceptance(stage.before, stage.after)
        if grown is not None:
            if not self.counted:  # the engine's counters are complete; per-reply counts beside them would count twice
                self.counted, self.drafts, self.drafted, self.accepted = True, 0.0, 0.0, 0.0
            self.drafts += grown.drafts
            self.drafted += grown.drafted
            self.accepted += grown.accepted
        elif stage.before is not None and stage.after is not None:
            self.restarted = self.restarted or restarted(stage.before, stage.after)

    @property
    def drafted_per_token(self) -> float | None:
        """Draft tokens per output token of the measured exchanges, or None where no tokens were counted."""
        return self.drafted / self.tokens if self.tokens else None

    def acceptance(self) -> Acceptance | None:
        """The engine's drafting over the measured stages, or None where it told nothing."""
        if not self.counted and not self.drafted:
            return None
        return Acceptance(drafts=self.drafts, drafted=self.drafted, accepted=self.accepted)

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
        )


@dataclass(slots=True)
class _Round:
    """One pair of the paired tests."""

    candidate: bool = False
    reference: bool = False
    candidate_error: bool = False
    reference_error: bool = False


@dataclass(slots=True)
class CellTally:
    """One cell.

    ``outcomes`` maps (prompt, copy) to whether the candidate failed, for pairing across cells; ``prompts`` counts those
    that the closed blocks took from the cell's level.
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
    outcomes: dict[tuple[str, int], bool] = field(default_factory=dict)
    blocks: int = 0
    prompts: int = 0

    @property
    def k(self) -> int:
        """Failures that the bound counts: answers, or rounds where replicas share a prompt."""
        return sum(self.clusters.values()) if self.by_round else self.candidate.failures

    @property
    def n(self) -> int:
        """Judged units of the bound: answers, or rounds where replicas share a prompt."""
        return len(self.clusters) if self.by_round else self.candidate.judged

    @property
    def by_round(self) -> bool:
        """Replicas share their prompt, so that only a round is a fresh draw from the prompt population."""
        return self.cell.schedule == "replicas"

    def add_block(
        self,
        measured: dict[Arm, Sequence[Exchange]],
        context: Context,
        control: dict[tuple[str, int], bool] | None,
    ) -> None:
        """Count a block. ``control`` holds the level-1 outcomes that stand in where there is no reference."""
        self.blocks += 1
        rounds: dict[int, _Round] = {}
        references = {exchange.sent.index: exchange for exchange in measured.get("reference", ())}
        copies: Counter[str] = Counter()
        for exchange in measured.get("candidate", ()):
            pair = references.get(exchange.sent.index)
            identity = (exchange.sent.prompt, copies[exchange.sent.prompt])
            copies[exchange.sent.prompt] += 1
            self._add_pair(exchange, pair, identity, context, control, rounds)
        for found in rounds.values():
            self.b += found.candidate and not found.reference
            self.c += found.reference and not found.candidate
            self.service_b += found.candidate_error and not found.reference_error
            self.service_c += found.reference_error and not found.candidate_error

    def _add_pair(
        self,
        exchange: Exchange,
        pair: Exchange | None,
        identity: tuple[str, int],
        context: Context,
        control: dict[tuple[str, int], bool] | None,
        rounds: dict[int, _Round],
    ) -> None:
        side = grade_exchange(exchange, context.grade)
        other = grade_exchange(pair, context.grade) if pair is not None else None
        prompt = context.prompt(exchange)
        checkable = prompt is None or prompt.checkable
        result = outcome(side, other, checkable=checkable)
        self.candidate.add(exchange, result)
        if result.judged:
            self.outcomes[identity] = result.failed
            cluster = (exchange.sent.block, exchange.sent.round if exchange.sent.round is not None else -1)
            self.clusters[cluster] = self.clusters.get(cluster, False) or result.failed
        if pair is not None and other is not None:
            against = outcome(other, side, checkable=checkable)
            self.reference.add(pair, against)
            self._discordant(exchange, result, against, rounds)
            self._compare(exchange, pair)
        elif control is not None and (identity[0], 0) in control and result.judged:
            found = rounds.setdefault(self._unit(exchange), _Round())
            found.candidate |= result.failed
            found.reference |= control[identity[0], 0]

    def _unit(self, exchange: Exchange) -> int:
        """What a pair is: an exchange, or the whole round where replicas share a prompt and fail together."""
        sent = exchange.sent
        return sent.round if self.by_round and sent.round is not None else sent.index

    def _discordant(self, exchange: Exchange, result: Outcome, against: Outcome, rounds: dict[int, _Round]) -> None:
        if "lost" in (result.state, against.state):
            return
        found = rounds.setdefault(self._unit(exchange), _Round())
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

    def medians(self, arm: ArmTally) -> tuple[float | None, float | None, float | None]:
        """Median seconds, median seconds to the first token, and output tokens per second of the stages."""
        return (
            median(arm.seconds) if arm.seconds else None,
            median(arm.first) if arm.first else None,
            arm.tokens / arm.stage_seconds if arm.tokens and arm.stage_seconds else None,
        )
