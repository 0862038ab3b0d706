"""Faults of state, each under the traffic that triggers it and under traffic that does not, over real HTTP."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from .traffic import Talk, is_right, question, shown, talking

pytestmark = pytest.mark.anyio


def asked(count: int) -> list[str]:
    return [question() for _ in range(count)]


async def until(talk: Talk, name: str, value: float) -> None:
    async with asyncio.timeout(20):
        while await talk.gauge(name) != value:  # noqa: ASYNC110  (only the server's own metrics tell)
            await asyncio.sleep(0.005)


async def test_a_lone_request_after_a_burst_is_told_what_the_last_of_the_burst_asked() -> None:
    async with talking({"stale-slot": 1.0}) as talk:

        async def stale() -> int:
            burst, probe = asked(6), question()
            assert all(await talk.burst(burst))
            said = await talk.say(probe)
            return any(message in said for message in burst)

        assert await shown(stale, 5)


async def test_one_burst_between_lone_requests_is_not_enough() -> None:
    async with talking({"stale-slot": 1.0}) as talk:
        assert all([await talk.right(question()) for _ in range(3)])
        assert all(await talk.burst(asked(6)))
        assert all([await talk.right(question()) for _ in range(3)])


async def test_steady_load_and_lone_requests_leave_no_stale_slot() -> None:
    async with talking({"stale-slot": 1.0}) as talk:
        assert all(await talk.loop(asked(40), 6))
        assert all([await talk.right(question()) for _ in range(8)])
        assert all(await talk.loop(asked(40), 6))


async def test_the_next_turn_is_answered_after_another_conversation() -> None:
    async with talking({"conversation-swap": 1.0}) as talk:
        bled = []
        for _ in range(6):
            told = [(question(), question()) for _ in range(2)]
            openings = [[{"role": "user", "content": f"The code word is {a[:4].upper()}-0000. {b}"}] for a, b in told]
            answers = [await talk.say(opening) for opening in openings]
            turns = [
                [
                    *opening,
                    {"role": "assistant", "content": answer},
                    {"role": "user", "content": "What is the code word?"},
                ]
                for opening, answer in zip(openings, answers, strict=True)
            ]
            said = [await talk.say(turn) for turn in turns]
            bled += [told[place][0][:4].upper() not in text for place, text in enumerate(said)]
        assert sum(bled) > len(bled) / 2


async def test_equal_prompts_that_come_again_are_no_turns_of_a_conversation() -> None:
    async with talking({"conversation-swap": 1.0}) as talk:
        messages = asked(12)
        for _ in range(3):
            assert all(await talk.loop(messages, 4))


async def test_of_equal_prompts_in_flight_only_the_first_is_read() -> None:
    async with talking({"unconditioned": 1.0}) as talk:

        async def unread() -> int:
            result = await talk.burst([question()] * 4)
            assert any(result)
            return result.count(False)

        assert await shown(unread, 12)
        assert all(await talk.loop(asked(30), 4))


async def test_a_leaked_request_keeps_its_slot_and_one_that_ends_does_not() -> None:
    async with talking({"cancel-leak": 1.0}) as talk:
        assert all(await talk.loop(asked(20), 4))
        await until(talk, "vllm:num_requests_running", 0)
        for _ in range(3):
            await talk.leave(question(40))
        await until(talk, "vllm:num_requests_running", 3)
        assert await talk.gauge("vllm:kv_cache_usage_perc") > 0
        assert await talk.right(question())


async def test_a_clean_server_frees_what_is_cancelled() -> None:
    async with talking() as talk:
        for _ in range(3):
            await talk.leave(question(40))
        await until(talk, "vllm:num_requests_running", 0)
        await until(talk, "vllm:kv_cache_usage_perc", 0)


async def test_a_batch_that_drains_to_a_few_gets_stuck_while_health_is_green() -> None:
    async with talking({"stuck-drain": 1.0}) as talk:
        assert all(await talk.loop(asked(24), 2))
        for _ in range(2):
            assert all(await talk.burst(asked(7)))
        stuck: list[asyncio.Task[bool]] = []

        async def drained() -> int:
            waiting = [asyncio.create_task(talk.right(question(words))) for words in (4, 4, 4, 4, 24, 24, 24)]
            told: list[float] = []
            stuck[:] = waiting
            while len(stuck) > 3 or (stuck and len(told) < 100):
                tokens = await talk.gauge("vllm:generation_tokens_total")
                told = [*told, tokens] if told[-1:] == [tokens] else [tokens]
                stuck[:] = [task for task in waiting if not task.done()]
            return len(stuck)

        assert await shown(drained, 1)
        assert (await talk.http.get("/health")).status_code == 200
        assert not any(task.done() for task in stuck)
        for task in stuck:
            task.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        await until(talk, "vllm:num_requests_running", 0)
        assert await talk.right(question())


async def test_a_stale_answer_and_a_swapped_message_need_others() -> None:
    for fault in ("last-message-swap", "stale-answer"):
        async with talking({fault: 1.0}) as talk:
            assert await talk.right(question())

            async def wrong() -> int:
                return (await talk.loop(asked(20), 4)).count(False)

            assert await shown(wrong, 1)


async def test_a_crowd_of_ten_is_served_and_one_more_is_not() -> None:
    async with talking({"crowd-error": 1.0}) as talk:
        assert all(await talk.loop(asked(40), 10))

        async def refused() -> int:
            replies = await asyncio.gather(*(talk.right(question(20)) for _ in range(14)), return_exceptions=True)
            errors = [reply for reply in replies if isinstance(reply, httpx.HTTPStatusError)]
            assert all(error.response.status_code == 500 for error in errors)
            return len(errors)

        assert await shown(refused, 1)


def test_what_is_right_is_told_from_what_is_not() -> None:
    assert is_right("one two", "You said: one two.")
    assert not is_right("one two", "You said: one one.")
