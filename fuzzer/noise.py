"""What a summary says of divergence at one level: the noise floor, regrets, and how far each end strays from itself."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RegretSummary(_Model):
    """Every token of the candidate's calibration outputs under the reference, the same prefix before it; nats.

    Of ``outputs``, ``parted`` leave the reference's and ``scored`` of those were scored by it from there on. ``tokens``
    were judged: those that the reference said itself have no regret, ``not_best`` have some. ``bins`` count regrets up
    to each of ``edges``, and above the last. ``own_*`` are the reference's own tokens, scored all the same: whole
    outputs that part from nothing (``own_outputs``), shared beginnings, and its other passes. The band comes from those
    and from the gaps of the reference's passes. Regrets decide what is material where ``used``; ``note`` says why not.
    """

    used: bool = False
    note: str = ""
    outputs: int = 0
    parted: int = 0
    scored: int = 0
    tokens: int = 0
    not_best: int = 0
    worst: float = 0.0
    edges: tuple[float, ...] = ()
    bins: tuple[int, ...] = ()
    own_outputs: int = 0
    own_tokens: int = 0
    own_not_best: int = 0
    own_worst: float = 0.0
    benign_flips: int = 0
    band_tie: float
    band_material: float
    band_source: str


class Strays(_Model):
    """How often one end leaves its own output: N in another order, or N against alone ("for information").

    ``differ`` of ``n`` prompts; ``widest`` is the largest gap of those in nats. ``cache`` is what the prefix cache held
    of the two prompts, as the engine tells.
    """

    arm: Literal["candidate", "reference"]
    against: Literal["itself", "alone"]
    cache: Literal["warm", "cold", "mixed", "untold"]
    n: int
    differ: int
    widest: float | None = None


class NoiseFloor(_Model):
    """Divergence at this concurrency, over calibration passes with log-probabilities (``n`` prompts compared).

    ``reference`` and ``candidate`` are the prompts whose output differs: reference against itself in another order,
    candidate against reference; ``b`` prompts are material on the candidate only, ``c`` in the floor only: by regret
    where both sides were scored, else by the smaller gap. The band's thresholds (for gaps) are in nats. ``ties`` of
    ``tie_tokens`` tokens of the reference had two best alternatives that were exactly equal.
    """

    n: int
    reference: int
    candidate: int
    reference_material: int = 0
    candidate_material: int = 0
    b: int = 0
    c: int = 0
    grey: int = 0
    near_tie: int = 0
    untriaged: int = 0
    unmatched: int = 0
    benign_flips: int = 0
    band_tie: float
    band_material: float
    band_source: str
    p: float | None = None
    p_adjusted: float | None = None
    judged: bool = True
    note: str = ""
    ties: int = 0
    tie_tokens: int = 0
    regret: RegretSummary | None = None
    strays: tuple[Strays, ...] = ()
