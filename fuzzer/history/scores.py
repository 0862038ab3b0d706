"""What a model thinks of a continuation that it was given: the raw material of regret."""

from __future__ import annotations

from typing import Literal

from fuzzer.history.messages import Record


class TokenScore(Record):
    """One given token under the scoring model, the same prefix before it. Log-probabilities are natural logs.

    ``best`` and ``second`` are the two largest log-probabilities at this place, ``rank`` is the token's place among all
    (1 is the best), where the engine tells. ``bounded``: the engine listed only better tokens, so that ``logprob`` is
    the most that it can be. None is for what the engine did not say.
    """

    id: int
    token: str = ""
    logprob: float | None = None
    best: float | None = None
    second: float | None = None
    rank: int | None = None
    bounded: bool = False

    @property
    def regret(self) -> float | None:
        """By how many nats the token lies below the best one, at least; None where it was not scored."""
        if self.logprob is None or self.best is None:
            return None
        return max(self.best - self.logprob, 0.0)

    @property
    def margin(self) -> float | None:
        """Best minus second best, nats: 0 is an exact tie."""
        return None if self.best is None or self.second is None else self.best - self.second


class Scores(Record):
    """A continuation, scored: the tokens from place ``start`` on. ``detail`` says why there are none."""

    start: int = 0
    tokens: tuple[TokenScore, ...] = ()
    detail: str = ""


class Scored(Record):
    """An end has been asked what it thinks of an output: the one of the exchange ``key``, of this cell and block.

    Nothing that is judged was asked of ``endpoint`` by this, and nothing was in flight there beside it.
    """

    type: Literal["scored"] = "scored"
    key: str
    cell: str
    block: int
    endpoint: str
    sent_ns: int
    end_ns: int
    scores: Scores
