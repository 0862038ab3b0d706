"""Faults of the KV memory, each under the traffic that triggers it and under traffic that does not, over real HTTP."""

from __future__ import annotations

import asyncio

import pytest

from .traffic import is_right, question, shown, talking

pytestmark = pytest.mark.anyio


def asked(count: int, words: int = 6) -> list[str]:
    return [question(words) for _ in range(count)]


async def test_a_bystander_goes_on_with_the_answer_of_a_request_that_was_cancelled() -> None:
    async with talking({"page-reuse": 1.0}) as talk:

        async def bled() -> int:
            cancelled, bystanders = asked(2, 20), asked(4, 24)
            said = await asyncio.gather(
                *(talk.say(message) for message in bystanders), *(talk.leave(message) for message in cancelled)
            )
            texts = [text for text in said if text is not None]
            assert len(texts) == len(bystanders)
            return sum(message.split()[0] in text for text in texts for message in cancelled)

        assert await shown(bled, 4)


async def test_pages_of_finished_requests_are_reused_without_harm() -> None:
    async with talking({"page-reuse": 1.0}) as talk:
        assert all(await talk.loop(asked(40, 24), 8))


async def test_prompts_computed_together_fail_on_every_warm_hit_and_never_cold() -> None:
    async with talking({"poisoned-prefix": 1.0}) as talk:

        async def poisoned() -> int:
            messages = asked(16, 20)
            assert all(await talk.burst(messages))
            warm = [await talk.loop(messages, 8) for _ in range(2)]
            assert warm[0] == warm[1]
            assert warm[0] == [await talk.right(message) for message in messages]
            return warm[0].count(False)

        assert await shown(poisoned, 4)


async def test_a_salt_of_its_own_is_cold_and_sound() -> None:
    async with talking({"poisoned-prefix": 1.0}) as talk:
        messages = asked(8, 20)
        for salt in ("a", "b", "c"):
            assert all(await talk.burst(messages, cache_salt=salt))


async def test_prompts_first_seen_alone_stay_sound() -> None:
    async with talking({"poisoned-prefix": 1.0}) as talk:
        messages = asked(8, 20)
        assert all([await talk.right(message) for message in messages])
        for _ in range(2):
            assert all(await talk.burst(messages))


async def test_a_full_pool_preempts_and_a_healthy_engine_loses_nothing_by_it() -> None:
    async with talking({}, kv_blocks=24) as talk:

        async def preempted() -> int:
            assert all(await talk.loop(asked(24, 24), 8))
            return int(await talk.gauge("vllm:num_preemptions_total"))

        assert await shown(preempted, 1)
        assert await talk.gauge("vllm:kv_cache_usage_perc") == 0


async def test_a_preempted_request_loses_the_step_that_was_in_flight() -> None:
    async with talking({"preempt-loss": 1.0}, kv_blocks=24) as talk:

        async def lost() -> int:
            return (await talk.loop(asked(24, 24), 8)).count(False)

        assert await shown(lost, 1)
    async with talking({"preempt-loss": 1.0}) as talk:
        assert all(await talk.loop(asked(24, 24), 8))
        assert await talk.gauge("vllm:num_preemptions_total") == 0


async def test_a_request_in_the_slot_of_a_long_one_makes_a_mistake() -> None:
    async with talking({"long-residue": 1.0}) as talk:
        assert all(await talk.loop(asked(20), 4))
        long = " ".join(["word"] * 900)
        await talk.ask(long, max_tokens=2)
        first, second = question(20), question(20)
        assert not await talk.right(first)
        assert await talk.right(second)


async def test_prompts_at_a_block_edge_are_answered_wrong_and_others_right() -> None:
    async with talking({"block-edge": 1.0}) as talk:
        for words in range(1, 18):
            message = f"{'so ' * words}{question(3)}"
            body = await talk.ask(message)
            length = body["usage"]["prompt_tokens"]
            right = is_right(message, body["choices"][0]["message"]["content"])
            assert right == (length % 16 not in (15, 0, 1)), length
