"""Scoring a given continuation: each engine's own form, and servers that answer something else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fuzzer.history.records import Message
from fuzzer.history.scores import Scores
from fuzzer.oracles.regret import regrets
from fuzzer.plan import Endpoint, Engine
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving as simulated
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import dialect_for
from fuzzer.wire.params import Params
from fuzzer.wire.scoring import Scorer, can_score
from tests.wire.servers import Handler, Request, http, serving

pytestmark = pytest.mark.anyio
ASKED = [Message(role="system", content="Be brief."), Message(role="user", content="Say the code word amber.")]
PARAMS = Params(max_tokens=32, stream=False, logprobs=5)
PROMPT = [1, 2, 3]


def scorer(url: str, engine: Engine, **more: Any) -> Scorer:
    endpoint = Endpoint(name="reference", url=url, model="sim-model", **more)
    return Scorer(endpoint, dialect_for(engine), params=PARAMS, timeout=30)


async def ask(handler: Handler, engine: Engine, ids: list[int], **places: Any) -> Scores:
    async with serving(handler) as url, scorer(url, engine) as asked:
        return await asked.score(ASKED, ids, **places)


def pages(**replies: object) -> tuple[Handler, list[Request]]:
    """Answers each path (by its last part) with a JSON value, and remembers what it was asked."""
    seen: list[Request] = []

    async def handler(request: Request, stream: Any) -> None:
        seen.append(request)
        value = replies.get(request.path.rsplit("/", 1)[-1].replace("-", "_"))
        await stream.send(http(value if isinstance(value, bytes) else json.dumps(value).encode()))

    return handler, seen


async def test_an_engines_own_answer_has_next_to_no_regret() -> None:
    async with simulated(SimConfig(step_seconds=0)) as url, scorer(url, "vllm") as asked:
        async with Client(asked.endpoint, asked.dialect, timeout=30) as client:
            answer = await client.ask(ASKED, PARAMS)
        assert answer.token_ids
        scored = await asked.score(ASKED, answer.token_ids)
        assert scored.detail == ""
        assert [score.id for score in scored.tokens] == list(answer.token_ids)
        assert regrets(scored.tokens).worst < 0.5
        assert all(score.rank == 1 for score in scored.tokens if score.regret == 0 and score.margin)
        foreign = [*answer.token_ids[:1], 77, *answer.token_ids[2:]]
        judged = regrets((await asked.score(ASKED, foreign)).tokens)
        assert (judged.place, judged.not_best) == (1, 1)
        assert judged.worst > 4


async def test_what_the_simulated_engine_refuses_is_told() -> None:
    async with simulated(SimConfig(step_seconds=0, api_key="secret-key")) as url, scorer(url, "vllm") as asked:
        scored = await asked.score(ASKED, [5])
        assert (scored.tokens, "HTTP 401" in scored.detail) == ((), True)


async def test_vllm_is_asked_for_prompt_logprobs_on_token_ids() -> None:
    places: list[dict[str, dict[str, Any]] | None] = [
        None,
        {"2": {"logprob": -1.0, "rank": 1}},
        {"3": {"logprob": -1.0, "rank": 1}},
    ]
    places += [
        {"7": {"logprob": -2.5, "rank": 3, "decoded_token": " x"}, "8": {"logprob": -0.5, "rank": 1},
         "9": {"logprob": -0.75, "rank": 2}},
        {"4": {"logprob": -0.1, "rank": 1, "decoded_token": "y"}, "5": {"logprob": -9999.0, "rank": 2}},
    ]  # fmt: skip
    handler, seen = pages(**{"completions": {"prompt_token_ids": PROMPT, "choices": [{"prompt_logprobs": places}]}})
    scored = await ask(handler, "vllm", [7, 4])
    body = seen[1].body
    assert [request.path for request in seen] == ["/v1/chat/completions", "/v1/completions"]
    assert (body["prompt"], body["max_tokens"], body["prompt_logprobs"]) == ([1, 2, 3, 7, 4], 1, 5)
    assert seen[0].body["return_token_ids"] is True
    first, second = scored.tokens
    assert (first.token, first.logprob, first.best, first.second, first.rank) == (" x", -2.5, -0.5, -0.75, 3)
    assert first.regret == pytest.approx(2.0)
    assert (second.regret, second.rank) == (0.0, 1)


async def test_sglang_is_asked_for_input_logprobs_without_a_new_token() -> None:
    meta = {
        "input_token_logprobs": [[None, 3, None], [-2.5, 7, " x"], [-0.1, 4, "y"]],
        "input_top_logprobs": [None, [[-0.5, 8, "a"], [-0.75, 9, "b"]], [[-0.1, 4, "y"], [-3.0, 6, "z"]]],
    }
    chat = {"choices": [{"prompt_token_ids": PROMPT}]}
    handler, seen = pages(completions=chat, generate={"meta_info": meta})
    scored = await ask(handler, "sglang", [7, 4])
    body = seen[1].body
    assert seen[0].body["return_prompt_token_ids"] is True
    assert (body["input_ids"], body["logprob_start_len"]) == ([1, 2, 3, 7, 4], 2)
    assert body["sampling_params"]["max_new_tokens"] == 0
    assert [(score.regret, score.rank) for score in scored.tokens] == [(pytest.approx(2.0), None), (0.0, 1)]


async def test_llamacpp_is_asked_one_place_at_a_time() -> None:
    top = [{"id": 4, "token": "y", "logprob": -0.5}, {"id": 7, "token": " x", "logprob": -1.5}]
    handler, seen = pages(
        apply_template={"prompt": "<s>hello"},
        tokenize={"tokens": PROMPT},
        completion={"completion_probabilities": [{"id": 4, "token": "y", "top_logprobs": top}]},
    )
    scored = await ask(handler, "llamacpp", [4, 7, 9, 4], start=1, places=2)
    bodies = [request.body for request in seen if request.path == "/completion"]
    assert [body["prompt"] for body in bodies] == [[1, 2, 3, 4], [1, 2, 3, 4, 7]]
    assert {(body["n_predict"], body["temperature"]) for body in bodies} == {(1, 0)}
    assert scored.start == 1
    listed, unlisted = scored.tokens
    assert (listed.rank, listed.bounded) == (2, False)
    assert (unlisted.rank, unlisted.bounded) == (None, True)
    assert listed.regret == unlisted.regret == pytest.approx(1.0)


async def test_a_prompts_ids_are_asked_for_once() -> None:
    entry = {"7": {"logprob": -0.1, "rank": 1}}
    handler, seen = pages(
        completions={"prompt_token_ids": PROMPT, "choices": [{"prompt_logprobs": [None, {}, {}, entry]}]}
    )
    async with serving(handler) as url, scorer(url, "vllm") as asked:
        for _ in range(3):
            assert len((await asked.score(ASKED, [7])).tokens) == 1
    assert [request.path for request in seen].count("/v1/chat/completions") == 1


async def test_an_engine_without_a_way_and_an_answer_without_tokens_are_told() -> None:
    assert not can_score("openai")
    async with scorer("http://127.0.0.1:9", "openai") as asked:
        assert "gives no log-probabilities" in (await asked.score(ASKED, [1])).detail
    async with scorer("http://127.0.0.1:9", "vllm") as asked:
        assert "no token" in (await asked.score(ASKED, [])).detail


HOSTILE: list[object] = [
    None, 5, "text", [], {}, b"not json", b"", {"choices": "no"}, {"choices": [{"prompt_logprobs": [1, 2]}]},
    {"prompt_token_ids": ["a"], "choices": []}, {"prompt_token_ids": [1, 2, 3], "choices": [{"prompt_logprobs": None}]},
    {"prompt_token_ids": [1, 2, 3], "choices": [{"prompt_logprobs": [None, 1, "x", [], {"7": 3}]}]},
    {"prompt_token_ids": [1, 2, 3], "choices": [{"prompt_logprobs": [None, {}, {}, {"7": {"logprob": "x"}}, None]}]},
    {"tokens": [1], "prompt": 7, "completion_probabilities": [{"top_logprobs": [{"id": -1, "logprob": True}, 3]}]},
    {"meta_info": {"input_token_logprobs": [[0, 7], [None, 4]], "input_top_logprobs": [3, None]},
     "prompt_token_ids": [1], "tokens": [1, 2]},
]  # fmt: skip


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp"])
async def test_no_reply_whatever_raises(engine: Engine) -> None:
    for reply in HOSTILE:
        names = ("completions", "generate", "completion", "tokenize", "apply_template")
        handler, _ = pages(**dict.fromkeys(names, reply))
        scored = await ask(handler, engine, [7, 4])
        assert scored.detail or all(score.regret is None or score.regret >= 0 for score in scored.tokens)


async def test_nobody_there_is_told() -> None:
    async with scorer("http://127.0.0.1:9", "vllm") as asked:
        assert "no connection" in (await asked.score(ASKED, [1])).detail
