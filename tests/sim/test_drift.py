"""The famous fault: drift in batched verification, which the lm_head's precision turns into wrong answers or not."""

from __future__ import annotations

import pytest

from fuzzer.prompts.pool import PromptPool

from .driving import drive, engine, right, share, texts

pytestmark = pytest.mark.anyio

FAULT = {"verify-drift": 1.0}
POOL = PromptPool(seed=21)
CHATS = [tuple((message.role, message.content) for message in POOL.prompt(index).messages) for index in range(800)]


async def wrong(count: int, level: int, lm_head: str, speculative: bool = True) -> float:
    served = engine(lm_head=lm_head, speculative=speculative, faults=FAULT)
    return 1 - share([right(request) for request in await drive(served, CHATS[:count], level)])


async def test_about_a_third_of_answers_is_wrong_with_a_four_bit_head_at_concurrency_8() -> None:
    assert 0.23 < await wrong(600, 8, "nvfp4") < 0.45


async def test_hardly_any_is_wrong_with_a_bf16_head() -> None:
    assert await wrong(800, 8, "bf16") < 0.01


async def test_none_is_wrong_one_at_a_time_or_with_speculation_off() -> None:
    assert await wrong(100, 1, "nvfp4") == 0
    assert await wrong(300, 8, "nvfp4", speculative=False) == 0


async def test_it_grows_with_the_rows() -> None:
    rates = [await wrong(400, level, "nvfp4") for level in (2, 4, 8, 32)]
    assert rates == sorted(rates)
    assert rates[0] < 0.05


async def test_it_grows_as_margins_shrink() -> None:
    rates = [await wrong(600, 8, lm_head) for lm_head in ("bf16", "fp8", "nvfp4")]
    assert rates[0] < rates[1] < rates[2]


async def test_a_lower_rate_strikes_fewer_requests() -> None:
    served = engine(lm_head="nvfp4", speculative=True, faults={"verify-drift": 0.3})
    done = await drive(served, texts(400), 8)
    struck = ["verify-drift" in request.draw for request in done]
    assert 0.2 < share(struck) < 0.4
    assert all(right(request) for request, hit in zip(done, struck, strict=True) if not hit)
    assert not all(right(request) for request, hit in zip(done, struck, strict=True) if hit)
