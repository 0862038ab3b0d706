"""Figures of speed and drafting that ``summary.json`` holds for each cell. Times are seconds, lengths tokens."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

MemoryKind = Literal["device", "process"]


class Figures(BaseModel):
    """What all parts of a summary are: fixed once made, and nothing in them that is not declared."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ResidueSummary(Figures):
    """Drafts of word lists before and after a long request on the same slot of the engine (``long-pairs``).

    ``before`` and ``after`` are draft tokens accepted in a list, on average over the lists of so many ``slots``; ``p``
    is the one-sided randomisation test of their fall.
    """

    slots: int
    before: float
    after: float
    p: float

    @property
    def halved(self) -> bool:
        """Whether less than half is accepted after it."""
        return self.after < self.before / 2


class AcceptanceSummary(Figures):
    """What the engine says of its drafting in this cell; lengths in tokens per verify step.

    ``by_position`` is, for each place in a draft, the share of the verify steps that accepted the token there.
    ``residue`` is told where requests can be pinned to slots, and word lists were drafted before a long request.
    """

    drafted: float
    accepted: float
    steps: float | None = None
    length: float | None = None
    seen: bool
    by_position: tuple[float, ...] = ()
    residue: ResidueSummary | None = None


class Quantiles(Figures):
    """Times in seconds over ``n`` answers: the median, and what 90 and 99 in 100 stay under."""

    n: int
    p50: float
    p90: float
    p99: float


class ArmSpeed(Figures):
    """How fast one arm answered.

    ``tokens_per_second`` counts all output tokens of the measured stages, filler and neighbours included, over the time
    of the stages. ``end_to_end`` is the time from sending to the last token, ``first_token`` to the first,
    ``inter_token`` the time between the two over the tokens but one; the last two are told of streamed answers only.
    """

    tokens_per_second: float | None = None
    end_to_end: Quantiles | None = None
    first_token: Quantiles | None = None
    inter_token: Quantiles | None = None


class SpeedUp(Figures):
    """The candidate's tokens per second of answering over the reference's, on the prompts that both answered.

    ``low`` and ``high`` are a two-sided bootstrap interval (BCa, Efron 1987) over clusters of requests that were in
    flight together; None with fewer than 10 of them.
    """

    value: float
    low: float | None = None
    high: float | None = None
    confidence: float
    pairs: int
    clusters: int


class Speed(Figures):
    """Median times of the measured exchanges in seconds, and output tokens per second over the measured stages.

    ``candidate`` and ``reference`` hold all of it, the six figures before them the most asked for.
    """

    candidate_seconds: float | None = None
    reference_seconds: float | None = None
    candidate_first_token: float | None = None
    reference_first_token: float | None = None
    candidate_tokens_per_second: float | None = None
    reference_tokens_per_second: float | None = None
    candidate: ArmSpeed | None = None
    reference: ArmSpeed | None = None
    speed_up: SpeedUp | None = None


class SampledSpeed(Figures):
    """Speed and acceptance at a temperature over 0, measured in blocks of their own that nothing is judged by."""

    candidate: str
    lm_head: str | None
    concurrency: int
    temperature: float
    speed: Speed
    acceptance: AcceptanceSummary | None = None
