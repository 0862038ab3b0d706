"""Sends cohorts to one endpoint and has the run's own oracles judge what comes back.

Each trial has a judge of its own, which knows the prompts of its cohort and no others: content of a request that is not
in the cohort cannot be laid at its door. The reference's recorded replies stand in for a second endpoint.
"""

from __future__ import annotations

import itertools
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from fuzzer.errors import UnavailableError
from fuzzer.finding import Finding
from fuzzer.history.messages import Message
from fuzzer.history.records import AnyRecord, Arm, Block, Done, Exchange, Opened, Prompt, Sent
from fuzzer.history.schedule import Release, Scheduled, Send
from fuzzer.judge import Judge
from fuzzer.plan import Endpoint, Plan, Sampling
from fuzzer.preflight import End, open_end
from fuzzer.prompts.pool import PromptPool
from fuzzer.repro.alike import kind_of, same_kind
from fuzzer.repro.cohort import Cohort
from fuzzer.summary import EndpointSummary
from fuzzer.traffic.driver import Driver, Prompts, StageSpec
from fuzzer.traffic.memo import Memo
from fuzzer.wire.params import Params

CELL = "replay"
ARM: Arm = "candidate"
_AT_ONCE = 8  # replays that are sent in one stage
_QUESTION = (Message(role="user", content="Say OK."),)
_WASHED = 4  # unrelated requests that are sent together


@dataclass(frozen=True, slots=True)
class Played:
    """One replay: the judged places that failed as the finding says, other kinds that showed, and an example."""

    failed: tuple[int, ...]
    others: frozenset[str]
    findings: tuple[Finding, ...] = ()
    exchanges: tuple[Exchange, ...] = ()


@dataclass(slots=True)
class Spent:
    """What replays have cost so far."""

    replays: int = 0
    requests: int = 0


@dataclass(slots=True)
class Player:
    """One endpoint made ready, and what was spent on it."""

    end: End
    spent: Spent = field(default_factory=Spent)

    @property
    def summary(self) -> EndpointSummary:
        """Who was asked."""
        return self.end.summary()

    async def wash(self, prompts: Sequence[Prompt], sampling: Sampling, key: int) -> None:
        """Send unrelated requests, so that the server holds nothing any more that earlier replays left."""
        memo = Memo()
        known = {prompt.id: prompt for prompt in prompts}
        driver = Driver(
            record=lambda _: None,
            emit=lambda _: None,
            memo=memo,
            prompts=Prompts(known.__getitem__, _no_filler, memo),
            sampling=sampling,
        )
        releases = tuple(
            Release(width=len(group), chains=tuple((Send(prompt=name),) for name in group))
            for group in (tuple(known)[start : start + _WASHED] for start in range(0, len(known), _WASHED))
        )
        cell = f"{self.end.endpoint.name}/wash"
        await driver.drive(StageSpec(cell, ARM, "warmup", key, _WASHED, releases), self.end.line)
        self.spent.requests += len(known)

    def trial(self, cohort: Cohort, known: Finding) -> Trial:
        """A fresh series of replays of one cohort."""
        return Trial(self, cohort, known)


@asynccontextmanager
async def playing(endpoint: Endpoint, sampling: Sampling) -> AsyncIterator[Player]:
    """An endpoint, asked who it is and what it takes, and then a plain question.

    Raises UnavailableError where it cannot be reached, or refuses that: then no replay would tell anything.
    """
    if endpoint.name == "reference":  # no candidate may be called so, and this one is asked like a candidate
        endpoint = endpoint.model_copy(update={"name": "control"})
    plan = Plan(candidates=(endpoint,), sampling=sampling)
    async with AsyncExitStack() as stack:
        player = Player(await open_end(stack, plan, PromptPool.of(plan), ARM, endpoint))
        await _willing(player, sampling)
        yield player


async def _willing(player: Player, sampling: Sampling) -> None:
    params = Params(max_tokens=8, stream=sampling.stream, thinking=sampling.thinking)
    reply = await player.end.client.ask(_QUESTION, params)
    player.spent.requests += 1
    if refuses(reply.http_status):
        raise UnavailableError(
            f"{player.end.title} at {player.end.endpoint.url} refuses a plain request ({reply.detail}); "
            f"look at --model ({player.end.client.endpoint.model}), --api-key-env and --header"
        )


def refuses(status: object) -> bool:
    """Whether an HTTP status blames the request; 408 and 429 blame the server's load."""
    return isinstance(status, int) and 400 <= status < 500 and status not in (408, 429)


class Trial:
    """Replays of one cohort, judged together; what an earlier one left at the server is there for the next."""

    def __init__(self, player: Player, cohort: Cohort, known: Finding) -> None:
        self.cohort = cohort
        self.played: list[Played] = []
        self._player = player
        self._known = known
        self._plan = Plan(candidates=(player.end.endpoint,), sampling=cohort.sampling)
        self._records: list[AnyRecord] = []
        self._findings: list[Finding] = []
        self._judge = Judge(self._plan, self._findings.append)
        self._feed(Opened(run_id=CELL, at_ns=0))
        for prompt in cohort.prompts:
            self._feed(prompt)
        memo = Memo(prompts=set(cohort.asked))
        self._driver = Driver(
            record=self._record,
            emit=lambda _: None,
            memo=memo,
            prompts=Prompts(cohort.asked.__getitem__, _no_filler, memo),
            sampling=cohort.sampling,
        )
        self._blocks = 0
        self._salt, self._numbers = secrets.token_hex(6), itertools.count()

    @property
    def failures(self) -> int:
        """How many replays showed the finding."""
        return sum(bool(played.failed) for played in self.played)

    @property
    def struck(self) -> Counter[int]:
        """How often each place showed it."""
        return Counter(place for played in self.played for place in played.failed)

    async def run(self, times: int) -> list[Played]:
        """Send the cohort so many times, one replay after another."""
        got: list[Played] = []
        while len(got) < times:
            got += await self._stage(min(_AT_ONCE, times - len(got)))
        return got

    async def _stage(self, times: int) -> list[Played]:
        cohort = self.cohort
        spec = StageSpec(
            cell=f"{self._player.end.endpoint.name}/{CELL}",
            arm=ARM,
            phase="measure",
            block=self._blocks,
            concurrency=cohort.width,
            releases=tuple(
                release for _ in range(times) for release in cohort.salted(f"{self._salt}-{next(self._numbers)}")
            ),
            logprobs=cohort.logprobs,
        )
        self._records, self._findings[:] = [], []
        await self._driver.drive(spec, self._player.end.line)
        self._blocks += 1
        exchanges = self._fed()
        self._feed(Block(cell=spec.cell, block=spec.block, judged_prompts=()))
        played = [self._judged(number, exchanges) for number in range(times)]
        self.played += played
        self._player.spent.replays += times
        self._player.spent.requests += len(exchanges)
        return played

    def _fed(self) -> dict[int, Exchange]:
        """Feed what was recorded to the judge, each request beside the reference's recorded reply to it."""
        exchanges: dict[int, Exchange] = {}
        sent: dict[str, Sent] = {}
        for record in self._records:
            self._feed(record)
            if isinstance(record, Sent):
                sent[record.key] = record
                self._pair(record)
            elif isinstance(record, Done):
                exchanges[sent[record.key].index] = Exchange(sent=sent[record.key], done=record)
        return exchanges

    def _pair(self, sent: Sent) -> None:
        right = self.cohort.right[sent.index % self.cohort.size]
        if right is None:
            return
        key = f"{sent.key}/recorded"
        self._feed(sent.model_copy(update={"key": key, "arm": "reference"}))
        received = right.model_copy(update={"end_ns": sent.sent_ns + 1, "first_ns": None})
        self._feed(Done(key=key, min_in_flight=sent.in_flight, max_in_flight=sent.in_flight, received=received))

    def _judged(self, number: int, exchanges: dict[int, Exchange]) -> Played:
        size = self.cohort.size
        keys = {exchanges[number * size + place].key: place for place in self.cohort.judged}
        own = [finding for finding in self._findings if finding.arm == ARM and finding.exchange in keys]
        alike = [finding for finding in own if same_kind(self._known, finding)]
        failed = {keys[finding.exchange] for finding in alike if finding.exchange is not None}
        return Played(
            failed=tuple(sorted(failed)),
            others=frozenset(kind_of(finding) for finding in own if kind_of(finding) != kind_of(self._known)),
            findings=tuple(own),
            exchanges=tuple(exchanges[number * size + place] for place in range(size)) if alike or size == 1 else (),
        )

    def _record(self, record: AnyRecord) -> None:
        if not isinstance(record, Scheduled):
            self._records.append(record)

    def _feed(self, record: AnyRecord) -> None:
        self._judge.feed(record)


def _no_filler(index: int) -> Prompt:
    raise LookupError(f"a cohort needs no filler, and the {index}-th was asked for")
