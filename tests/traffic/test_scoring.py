"""The scoring phase: one question at a time, recorded, never asked twice; whoever cannot answer is left alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from fuzzer.history.records import AnyRecord, Block, Exchange, Message, Prompt
from fuzzer.history.scores import Scored
from fuzzer.plan import Endpoint, Engine, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving as simulated
from fuzzer.traffic.memo import Memo
from fuzzer.traffic.scoring import PATIENCE, score
from fuzzer.traffic.stage import Line, Means, Prompts
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params
from tests.oracles.factory import exchange
from tests.wire.servers import Request, http, serving

pytestmark = pytest.mark.anyio


def prompt(name: str) -> Prompt:
    asked = Message(role="user", content=f"What is the code word? The code word is {name.upper()}.")
    return Prompt(id=name, family="code-word", level="easy", messages=(asked,), answer=name.upper())


class Desk:
    """A run's means, and what was recorded through them."""

    def __init__(self) -> None:
        self.records: list[AnyRecord] = []
        self.memo = Memo()
        prompts = Prompts(prompt, prompt_of_filler, self.memo)
        self.means = Means(self.records.append, lambda _: None, self.memo, prompts, Sampling(timeout=20))

    @property
    def scored(self) -> list[Scored]:
        return [record for record in self.records if isinstance(record, Scored)]


def prompt_of_filler(index: int) -> Prompt:
    return prompt(f"f{index:06d}")


@asynccontextmanager
async def line(url: str, engine: Engine = "vllm") -> AsyncIterator[Line]:
    endpoint = Endpoint(name="reference", url=url, model="sim-model")
    async with Client(endpoint, dialect_for(engine), timeout=20) as client:
        yield Line("reference", client)


def outputs(count: int, ids: Sequence[int] = (5, 6)) -> list[tuple[Exchange, int]]:
    return [(exchange(f"p{n:06d}", "x", phase="calibration", ids=ids), 0) for n in range(count)]


async def test_an_output_is_scored_and_the_answer_names_the_exchange() -> None:
    desk = Desk()
    async with simulated(SimConfig(step_seconds=0)) as url, line(url) as reference:
        answer = await reference.client.ask(prompt("p000000").messages, Params(max_tokens=32, logprobs=5))
        assert answer.token_ids
        (asked,) = outputs(1, answer.token_ids)
        await score([asked], reference, desk.means)
        (scored,) = desk.scored
        assert (scored.key, scored.cell, scored.block, scored.endpoint) == (asked[0].key, "cell", 0, "reference")
        assert [token.id for token in scored.scores.tokens] == list(answer.token_ids)
        assert scored.end_ns >= scored.sent_ns
        assert not reference.exposures  # what is judged later was not asked


async def test_what_was_answered_is_not_asked_again_until_its_block_is_closed() -> None:
    desk = Desk()
    async with simulated(SimConfig(step_seconds=0)) as url, line(url) as reference:
        for _ in range(2):
            await score(outputs(3), reference, desk.means)
        assert len(desk.scored) == 3
        desk.memo.add(Block(cell="cell", block=0, judged_prompts=()))
        assert not desk.memo.scored


async def test_an_engine_that_refuses_is_left_alone_after_a_few_questions() -> None:
    seen: list[str] = []

    async def refuse(request: Request, stream: Any) -> None:
        seen.append(request.path)
        await stream.send(http(json.dumps({"error": "no"}).encode(), status=404))

    desk = Desk()
    async with serving(refuse) as url, line(url) as reference:
        await score(outputs(9), reference, desk.means)
    assert len(seen) == len(desk.scored) == PATIENCE
    assert all("404" in record.scores.detail for record in desk.scored)


async def test_an_engine_that_cannot_score_is_not_asked_at_all() -> None:
    desk = Desk()
    async with line("http://127.0.0.1:9", "openai") as reference:
        await score(outputs(9), reference, desk.means)
    assert ["gives no log-probabilities" in record.scores.detail for record in desk.scored] == [True]


async def test_outputs_without_token_ids_are_told() -> None:
    desk = Desk()
    async with line("http://127.0.0.1:9") as reference:
        await score(outputs(9, ()), reference, desk.means)
    assert {record.scores.detail for record in desk.scored} == {"the candidate does not tell the ids of its tokens"}


async def test_questions_come_one_at_a_time() -> None:
    most = open_ = 0

    async def count(request: Request, stream: Any) -> None:
        nonlocal most, open_
        open_ += 1
        most = max(most, open_)
        entry = {"5": {"logprob": -0.1, "rank": 1}}
        reply = {"prompt_token_ids": [1], "choices": [{"prompt_logprobs": [None, entry, entry]}]}
        await stream.send(http(json.dumps(reply).encode()))
        open_ -= 1

    desk = Desk()
    async with serving(count) as url, line(url) as reference:
        await score(outputs(5), reference, desk.means)
    assert (len(desk.scored), most) == (5, 1)
    assert all(record.scores.tokens for record in desk.scored)
