"""What a stage is: its schedule on one endpoint, and the means to drive it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from fuzzer.events import Event
from fuzzer.history.records import AnyRecord, Arm, Phase, Prompt
from fuzzer.history.schedule import Release
from fuzzer.plan import Sampling
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.setting import Traits
from fuzzer.wire.client import Client

FILLER_TRIES = 100


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One drive phase on one endpoint; ``key`` is the same for the same plan and seed.

    ``part`` numbers the stages of a pass that comes in several; ``max_tokens`` None means the plan's. With
    a ``temperature`` all of it is sampled, and judged by nobody.
    """

    cell: str
    arm: Arm
    phase: Phase
    block: int
    concurrency: int
    releases: tuple[Release, ...]
    pass_index: int = 0
    part: int = 0
    logprobs: bool = False
    max_tokens: int | None = None
    temperature: float | None = None

    @property
    def key(self) -> str:
        """The identity of the stage in its run."""
        part = f".{self.part}" if self.part else ""
        return f"{self.cell}#{self.block}/{self.phase}{self.pass_index}{part}/{self.arm}"

    @property
    def victims(self) -> tuple[int, ...]:
        """The places of the judged requests in the stage."""
        sends = (send for release in self.releases for send in release.sends)
        return tuple(index for index, send in enumerate(sends) if send.role == "victim")


@dataclass(slots=True)
class Line:
    """An endpoint ready to be driven, what it tells of itself, and how often it has been sent each prompt."""

    name: str
    client: Client
    traits: Traits = field(default_factory=Traits)
    exposures: Counter[str] = field(default_factory=Counter)


class Prompts:
    """Where the driver takes prompts by id, and fresh filler; each is recorded at its first use."""

    def __init__(
        self,
        find: Callable[[str], Prompt],
        filler: Callable[[int], Prompt],
        memo: Memo,
        unfit: Callable[[Prompt], bool] = lambda _: False,
    ) -> None:
        self.find = find
        self._filler = filler
        self._unfit = unfit
        self._memo = memo

    def note(self, prompt: Prompt, record: Callable[[AnyRecord], None]) -> None:
        """Record a prompt that is about to be used, the first time."""
        if prompt.id not in self._memo.prompts:
            self._memo.prompts.add(prompt.id)
            record(prompt)

    def fresh_filler(self) -> Prompt:
        """A filler prompt that this run has not used, of a kind that the model can do: a runaway would outlast all."""
        prompt, self._memo.fillers = self._fit(self._memo.fillers)
        return prompt

    def fresh_neighbour(self) -> Prompt:
        """A prompt for a neighbour that a schedule plans; no other schedule of the run gets it."""
        prompt, self._memo.neighbours = self._fit(self._memo.neighbours)
        return prompt

    def _fit(self, index: int) -> tuple[Prompt, int]:
        for _ in range(FILLER_TRIES):
            prompt = self._filler(index)
            index += 1
            if not self._unfit(prompt):
                break
        return prompt, index


@dataclass(frozen=True, slots=True)
class Means:
    """What every stage of a run shares."""

    record: Callable[[AnyRecord], None]
    emit: Callable[[Event], None]
    memo: Memo
    prompts: Prompts
    sampling: Sampling
