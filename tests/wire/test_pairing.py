"""Same template, same weights: told from replies of both ends to the same messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AsyncExitStack
from statistics import median

import pytest

from fuzzer.history.records import Message, Received, TokenLogprob, Usage
from fuzzer.plan import Endpoint, Engine
from fuzzer.prompts.questions import TOWNS
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving as simulated
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.pairing import SCORED_APART, Rendered, render, scored, template, weights
from fuzzer.wire.params import Params

from .servers import Handler, answering, http, routing, serving

HELLO = (Message(role="user", content="hello"),)


def reply(prompt_tokens: int | None = 10, top: dict[str, float] | None = None) -> Received:
    first = TokenLogprob(token="a", logprob=-1.0, top=tuple((top or {}).items()))
    usage = Usage(prompt_tokens=prompt_tokens)
    return Received(outcome="ok", usage=usage, logprobs=(first,) if top else None, end_ns=1)


def severity(
    counts: Sequence[tuple[int | None, int | None]],
    rendered: Sequence[tuple[Rendered, Rendered]] = (),
    *,
    same_engine: bool = True,
) -> str | None:
    pairs = [(reply(ours), reply(theirs)) for ours, theirs in counts]
    checks = list(template("candidate and reference", pairs, rendered, same_engine=same_engine))
    assert len(checks) <= 1
    return checks[0].severity if checks else None


class TestTemplate:
    def test_equal_lengths_are_one_template(self) -> None:
        assert severity([(10, 10), (20, 20)]) is None

    def test_other_lengths_are_another_one(self) -> None:
        assert severity([(10, 14), (20, 24)]) == "blocking"

    def test_one_shape_of_chat_that_differs_is_enough_where_it_recurs(self) -> None:
        assert severity([(10, 10), (20, 24), (30, 34)]) == "blocking"
        assert severity([(10, 10), (20, 21), (30, 30)]) is None

    def test_two_engines_may_count_differently(self) -> None:
        assert severity([(10, 11), (20, 21)], same_engine=False) == "warning"
        assert severity([(10, 11)], [((1, 2), (1, 3))], same_engine=False) == "blocking"

    def test_what_is_not_told_proves_nothing(self) -> None:
        assert severity([(None, 10), (10, None), (None, None)]) is None

    def test_rendered_prompts_are_compared_where_both_are_told_in_the_same_form(self) -> None:
        assert severity([], [("<|a|>hi", "<|a|>hi")]) is None
        assert severity([], [("<|a|>hi", (1, 2))]) is None
        (check,) = template("a and b", [], [("<|a|>hi", "<|a|>Hi")], same_engine=True)
        assert "'hi' and 'Hi' from character 5" in check.message


class TestWeights:
    NEAR = ({"a": -0.1, "b": -2.5, "c": -4.0}, {"a": -0.2, "b": -2.1, "d": -5.0})
    FAR = ({"a": -0.1, "b": -2.5}, {"x": -0.1, "y": -2.5})

    @staticmethod
    def apart(*pairs: tuple[dict[str, float], dict[str, float]]) -> bool:
        found = list(weights("a and b", [(reply(top=ours), reply(top=theirs)) for ours, theirs in pairs]))
        assert all(check.severity == "warning" for check in found)
        return bool(found)

    def test_the_same_weights_with_some_noise(self) -> None:
        assert not self.apart(self.NEAR, self.NEAR, self.NEAR)

    def test_other_weights(self) -> None:
        assert self.apart(self.FAR, self.FAR, self.FAR)

    def test_one_odd_prompt_or_too_few_prove_nothing(self) -> None:
        assert not self.apart(self.NEAR, self.NEAR, self.FAR)
        assert not self.apart(self.FAR, self.FAR)

    def test_numbers_that_are_none_prove_nothing(self) -> None:
        nan = {"a": float("nan"), "b": float("inf")}
        assert not self.apart(*[(nan, nan)] * 3)

    def test_the_same_text_scored_at_both_ends_tells_more_than_first_tokens(self) -> None:
        far = [(reply(top=ours), reply(top=theirs)) for ours, theirs in [self.FAR] * 3]
        assert not list(weights("a and b", far, [0.01, 0.3, 0.2, 0.0, 2.0, 0.1]))
        (check,) = weights("a and b", [], [1.2, 0.3, 2.5, 1.9, 1.4, 0.1])
        assert (check.code, check.severity) == ("different-weights", "warning")
        assert "1.3 nats a token apart (median of 6)" in check.message
        assert list(weights("a and b", [], [9.0, 9.0])) == []


@pytest.mark.anyio
class TestScored:
    @staticmethod
    async def gaps(ours: SimConfig, theirs: SimConfig, engine: Engine = "vllm") -> list[float]:
        async with simulated(ours) as left, simulated(theirs) as right, AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(
                    Client(Endpoint(name="c", url=url, model="sim-model"), dialect_for(engine), timeout=30)
                )
                for url in (left, right)
            ]
            answer = await clients[1].ask(TOWNS.messages, Params(max_tokens=24))
            return await scored(clients[0], clients[1], TOWNS.messages, answer)

    async def test_the_same_weights_score_a_text_alike(self) -> None:
        gaps = await self.gaps(SimConfig(speculative=True, step_seconds=0.0), SimConfig(step_seconds=0.0))
        assert len(gaps) >= 4
        assert max(gaps) < 0.01

    async def test_another_head_moves_it_but_not_as_far_as_other_weights_would(self) -> None:
        gaps = await self.gaps(SimConfig(lm_head="nvfp4", step_seconds=0.0), SimConfig(step_seconds=0.0))
        assert 0.1 < median(gaps) < SCORED_APART

    async def test_an_engine_that_cannot_score_is_passed_over(self) -> None:
        plain = SimConfig(step_seconds=0.0)
        assert await self.gaps(plain, plain, "openai") == []


@pytest.mark.anyio
class TestRender:
    @staticmethod
    async def rendered(engine: Engine, handler: Handler) -> Rendered | None:
        async with serving(handler) as url:
            endpoint = Endpoint(name="c", url=url, model="m", engine=engine)
            async with Client(endpoint, dialect_for(engine), timeout=30) as client:
                return await render(client, HELLO, "auto")

    async def test_vllm_tells_ids_and_llama_cpp_tells_text(self) -> None:
        ids = http(json.dumps({"count": 3, "max_model_len": 9, "tokens": [1, 2, 3]}).encode())
        assert await self.rendered("vllm", routing({"/tokenize": ids})) == (1, 2, 3)
        text = http(json.dumps({"prompt": "<|user|>hello"}).encode())
        assert await self.rendered("llamacpp", routing({"/apply-template": text})) == "<|user|>hello"

    @pytest.mark.parametrize("page", [b"{", b"[]", b'{"tokens": [1, "x"]}', b'{"prompt": 3}', b'{"tokens": 3}'])
    async def test_rubbish_and_silence_are_passed_over(self, page: bytes) -> None:
        assert await self.rendered("vllm", answering(http(page))) is None
        assert await self.rendered("llamacpp", answering(http(page))) is None
        assert await self.rendered("vllm", routing({})) is None
        assert await self.rendered("openai", answering(http(page))) is None
