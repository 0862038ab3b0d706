"""Calibration passes of made-up outputs, and what a reference says of them."""

from __future__ import annotations

from collections.abc import Sequence

from fuzzer.history.records import Arm, Exchange, TokenLogprob, Usage
from fuzzer.history.schedule import CacheTag
from fuzzer.history.scores import Scored, Scores, TokenScore
from fuzzer.judge.partings import Passes
from fuzzer.oracles.divergence import ALONE
from tests.oracles.factory import exchange


def output(
    prompt: str, ids: Sequence[int], arm: Arm, index: int, *, margin: float = 3.0, cached: int | None = None,
    tag: CacheTag | None = None,
) -> Exchange:  # fmt: skip
    """One output, every token so far above the next best."""
    made = exchange(
        prompt, " ".join(map(str, ids)), arm=arm, phase="calibration", pass_index=index, ids=ids, exposure=index + 1,
        logprobs=[
            TokenLogprob(token=f"{token} ", id=token, logprob=-0.1, top=((f"{token} ", -0.1), ("?", -0.1 - margin)))
            for token in ids
        ],
        tag=tag,
    )  # fmt: skip
    if cached is None or made.done is None:
        return made
    received = made.done.received.model_copy(update={"usage": Usage(cached_tokens=cached)})
    return made.model_copy(update={"done": made.done.model_copy(update={"received": received})})


def passes(prompt: str, arm: Arm, first: Sequence[int], second: Sequence[int], alone: Sequence[int] = ()) -> Passes:
    """Both passes at N, and the one alone if there is any."""
    made = {0: output(prompt, first, arm, 0), 1: output(prompt, second, arm, 1)}
    return made | ({ALONE: output(prompt, alone, arm, ALONE)} if alone else {})


def scored(exchange: Exchange, *regrets: float, start: int = 0) -> Scored:
    """An answer to the question what the reference thinks of an output."""
    ids = exchange.received.token_ids if exchange.received is not None else None
    tokens = tuple(
        TokenScore(id=token, token=f"{token} ", logprob=-0.1 - regret, best=-0.1, second=-0.3, rank=2 if regret else 1)
        for token, regret in zip((ids or ())[start:], regrets, strict=True)
    )
    return answer(exchange, Scores(start=start, tokens=tokens))


def refused(exchange: Exchange, why: str) -> Scored:
    """No answer to it."""
    return answer(exchange, Scores(detail=why))


def answer(exchange: Exchange, scores: Scores) -> Scored:
    """The record of an answer."""
    return Scored(key=exchange.key, cell="cell", block=0, endpoint="reference", sent_ns=0, end_ns=1, scores=scores)
