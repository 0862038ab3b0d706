from __future__ import annotations

from typing import Any

import httpx
import pytest

from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving

pytestmark = pytest.mark.anyio
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say the code word amber."}]


async def answered(http: httpx.AsyncClient) -> tuple[list[int], list[int]]:
    """The ids of the prompt and of the answer."""
    body = {"messages": ASKED, "temperature": 0, "max_tokens": 32, "return_token_ids": True}
    reply = (await http.post("/v1/chat/completions", json=body)).json()
    return reply["prompt_token_ids"], reply["choices"][0]["token_ids"]


async def scored(http: httpx.AsyncClient, prompt: list[int], count: int = 3) -> list[dict[str, dict[str, Any]] | None]:
    body = {"prompt": prompt, "max_tokens": 1, "temperature": 0, "prompt_logprobs": count}
    reply = await http.post("/v1/completions", json=body)
    places: list[dict[str, dict[str, Any]] | None] = reply.raise_for_status().json()["choices"][0]["prompt_logprobs"]
    return places


async def test_every_place_holds_the_given_token_and_the_best_ones() -> None:
    async with serving(SimConfig(step_seconds=0)) as url, httpx.AsyncClient(base_url=url) as http:
        prompt, answer = await answered(http)
        places = await scored(http, prompt + answer)
        assert places[0] is None
        assert len(places) == len(prompt) + len(answer)
        for token, place in zip(answer, places[len(prompt) :], strict=True):
            assert place is not None
            assert 3 <= len(place) <= 4
            assert str(token) in place
            best = max(place.values(), key=lambda entry: entry["logprob"])
            assert best["rank"] == 1


async def test_a_foreign_token_lies_far_below_and_the_walk_goes_on_after_it() -> None:
    async with serving(SimConfig(step_seconds=0)) as url, httpx.AsyncClient(base_url=url) as http:
        prompt, answer = await answered(http)
        own = await scored(http, prompt + answer)
        other = await scored(http, [*prompt, *answer[:2], 7, *answer[3:]])
        place = other[len(prompt) + 2]
        assert place is not None
        assert place["7"]["logprob"] < max(entry["logprob"] for entry in place.values()) - 4
        assert place["7"]["rank"] > 10
        assert other[len(prompt) + 3 :] == own[len(prompt) + 3 :]


@pytest.mark.parametrize(
    "body",
    [
        {"prompt": "text", "prompt_logprobs": 1},
        {"prompt": [], "prompt_logprobs": 1},
        {"prompt": [1, "x"], "prompt_logprobs": 1},
        {"prompt": [1, 2], "prompt_logprobs": 1},
        {"prompt": [1, 2], "prompt_logprobs": 21},
        {"prompt": [1, 2]},
    ],
)
async def test_what_it_cannot_score_is_a_bad_request(body: dict[str, Any]) -> None:
    async with serving(SimConfig(step_seconds=0)) as url, httpx.AsyncClient(base_url=url) as http:
        reply = await http.post("/v1/completions", json=body)
        assert reply.status_code == 400
        assert reply.json()["error"]["param"] in ("prompt", "prompt_logprobs")
        assert (await http.post("/v1/completions", content=b"{")).status_code == 400
        assert (await http.post("/v1/completions", content=b"[]")).status_code == 400
