"""The scoring phase: an end is asked, output by output, how likely it thinks what was said.

Nothing is judged here and nothing else is in flight. It touches the state of the end that scores only where that does
no harm: every prompt has been sent to both ends by then, so that their prefix caches hold it, or hold it under salts of
its own; what scoring adds is a continuation that no other prompt begins with. So no exposure is counted. An engine that
refuses costs two requests a block, and the run goes on without.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuzzer.events import StageStarted
from fuzzer.history.records import Exchange
from fuzzer.history.scores import Scored, Scores
from fuzzer.traffic.stage import Line, Means
from fuzzer.wire.clock import now_ns
from fuzzer.wire.params import Params
from fuzzer.wire.scoring import Scorer, can_score

PATIENCE = 2  # failures that end the phase, as long as nothing was scored
_ENDLESS = 1_000_000


async def score(outputs: Sequence[tuple[Exchange, int]], line: Line, means: Means) -> None:
    """Have these outputs scored from these places on, one at a time, and record the answers.

    What an earlier process of the run got is not asked for again. Raises nothing for what a server does.
    """
    if not outputs:
        return
    client, sampling, first = line.client, means.sampling, outputs[0][0].sent
    means.emit(StageStarted(first.cell, "reference", "scoring", first.block, len(outputs), 1))
    patience = PATIENCE if can_score(client.dialect.engine) else 1
    plain = Params(max_tokens=1)
    async with Scorer(client.endpoint, client.dialect, params=plain, timeout=sampling.timeout) as scorer:
        for exchange, start in outputs:
            known = means.memo.scored.get(exchange.key)
            if known is None:
                known = await _scored(exchange, start, scorer, line, means)
                means.record(known)
                means.memo.add(known)
            patience = patience - 1 if not known.scores.tokens else _ENDLESS
            if patience == 0:
                return


async def _scored(exchange: Exchange, start: int, scorer: Scorer, line: Line, means: Means) -> Scored:
    sent = exchange.sent
    began = now_ns()
    return Scored(
        key=exchange.key,
        cell=sent.cell,
        block=sent.block,
        endpoint=line.name,
        sent_ns=began,
        scores=await _asked(exchange, start, scorer, means),
        end_ns=now_ns(),
    )


async def _asked(exchange: Exchange, start: int, scorer: Scorer, means: Means) -> Scores:
    sent, sampling, prompt = exchange.sent, means.sampling, means.prompts.find(exchange.sent.prompt)
    ids = exchange.received.token_ids if exchange.received is not None else None
    if not ids and can_score(scorer.dialect.engine):
        return Scores(detail=f"the {sent.arm} does not tell the ids of its tokens")
    asked = Params(
        max_tokens=1,
        cache=sent.cache,
        salt=f"{exchange.key}/scored" if sent.cache == "cold" else "",
        seed=sampling.seed,
        thinking=prompt.wants.thinking or sampling.thinking,
    )
    return await scorer.score(prompt.messages, ids or (), start=start, params=asked)
