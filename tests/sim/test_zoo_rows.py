"""Faults of the batch, each under the traffic that triggers it and under traffic that does not, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from fuzzer.sim.sequence import Emission

from .driving import ask, drive, engine, texts
from .traffic import Talk, is_right, question, shown, talking

pytestmark = pytest.mark.anyio


def asked(count: int, words: int = 8) -> list[str]:
    return [question(words) for _ in range(count)]


async def beside(talk: Talk, victims: list[str], neighbours: list[str], **fields: Any) -> int:
    """How many victims were answered wrong, with neighbours that ask for something else in the same batch."""
    said = await asyncio.gather(
        *(talk.say(message) for message in victims), *(talk.say(message, **fields) for message in neighbours)
    )
    return sum(not is_right(message, text) for message, text in zip(victims, said, strict=False))


@pytest.mark.parametrize(
    "hot",
    [{"temperature": 0.9}, {"frequency_penalty": 0.5}, {"repetition_penalty": 1.2}, {"logit_bias": {"5": -1}}],
    ids=lambda hot: next(iter(hot)),
)
async def test_greedy_rows_are_mixed_up_beside_a_hot_neighbour(hot: dict[str, Any]) -> None:
    async with talking({"hot-rows": 1.0}) as talk:
        assert await shown(lambda: beside(talk, asked(4), asked(4, 16), **hot), 5)
        assert all(await talk.loop(asked(16), 8))
        assert not await beside(talk, asked(4), asked(4), logprobs=True, top_logprobs=3)


async def test_padding_rows_harm_only_where_a_batch_stays_between_two_captured_sizes() -> None:
    async with talking({"graph-padding": 1.0}, step_seconds=0.02) as talk:
        for width in (1, 2, 4, 8):
            assert all(await talk.loop(asked(6 * width), width)), width
        for width in (3, 5, 6, 7):

            async def between(width: int = width) -> int:
                return (await talk.loop(asked(4 * width, 16), width)).count(False)

            assert await shown(between, 1), width


async def test_rows_shift_while_a_long_prompt_is_computed_in_pieces() -> None:
    long = " ".join(["word"] * 3000)
    async with talking({"prefill-shift": 1.0}) as talk:
        assert all(await talk.loop(asked(16), 8))
        assert await shown(lambda: beside(talk, asked(6, 20), [f"{question()} {long}"], max_tokens=2), 4)


async def test_log_probabilities_of_another_row_do_not_hold_the_emitted_token() -> None:
    async with talking({"logprobs-row": 1.0}) as talk:
        told = {"logprobs": True, "top_logprobs": 3}
        alone = await talk.ask(question(), **told)
        assert _strangers(alone) == 0

        async def together() -> int:
            bodies = await asyncio.gather(*(talk.ask(question(), **told) for _ in range(4)))
            return sum(_strangers(body) > 0 for body in bodies)

        assert await shown(together, 2)


async def test_swapped_log_probabilities_are_noted_only_where_they_were_told() -> None:
    served = engine(faults={"logprobs-row": 1.0}, speculative=True)
    await drive(served, texts(40), 8)
    assert not served.planted  # nobody asked for any
    await drive(served, texts(40, seed=2), 1, logprobs=True)
    assert not served.planted  # there was no other row
    done = await drive(served, texts(40, seed=3), 8, logprobs=True)
    lying = {request.id for request in done if any(_false(emission) for emission in request.sequence.emitted)}
    assert len(lying) > 30
    assert lying <= {harm.victim for harm in served.planted}


async def test_who_asks_for_log_probabilities_beside_one_who_does_not_is_not_harmed() -> None:
    served = engine(faults={"logprobs-row": 1.0}, speculative=True)
    told, quiet = texts(2)
    async with asyncio.TaskGroup() as tasks:
        asking = tasks.create_task(ask(served, told, logprobs=True))
        tasks.create_task(ask(served, quiet))
    assert not any(_false(emission) for emission in asking.result().sequence.emitted)
    assert not served.planted


def _false(emission: Emission) -> bool:
    """Whether the entry of a token says less than its best alternative."""
    return emission.logprob < emission.top[0][1]


def _strangers(body: dict[str, Any]) -> int:
    """Tokens whose entry says less than its best alternative, or names another token first."""
    entries = body["choices"][0]["logprobs"]["content"]
    ids = [entry["top_logprobs"] for entry in entries]
    return sum(
        max(top, key=lambda pair: pair["logprob"])["token"] != entry["token"]
        for entry, top in zip(entries, ids, strict=True)
    )


async def test_acceptance_falls_above_eight_and_the_text_stays_right() -> None:
    async with talking({"acceptance-above-8": 1.0}) as talk:
        lengths = []
        for width in (1, 8, 12):
            before = await _drafting(talk)
            assert all(await talk.loop(asked(3 * width), width))
            after = await _drafting(talk)
            lengths.append((after[0] - before[0]) / (after[1] - before[1]))
        assert lengths[2] < 0.7 * min(lengths[:2])


async def _drafting(talk: Talk) -> tuple[float, float]:
    return await talk.gauge("vllm:generation_tokens_total"), await talk.gauge("vllm:spec_decode_num_drafts_total")


async def test_the_pass_rate_falls_as_the_server_lives() -> None:
    async with talking({"uptime-drift": 1.0}, step_seconds=0) as talk:
        results = await talk.loop(asked(400, 12), 8)
    assert all(results[:60])
    assert results[300:].count(False) > results[100:200].count(False)
    assert results[300:].count(False) > 10


async def test_a_word_ends_twice_where_all_drafts_were_accepted() -> None:
    async with talking({"doubled-syllables": 1.0}, acceptance=1.0) as talk:
        message = question(20)
        said = await talk.say(message)
        assert any(f"{word}{word[-3:]}" in said for word in message.split())
    async with talking({"doubled-syllables": 1.0}, acceptance=0.0) as talk:
        assert all(await talk.loop(asked(8), 4))


async def test_loose_acceptance_changes_the_wording_and_never_the_answer() -> None:
    async with talking({"loose-acceptance": 1.0}, lm_head="fp32") as loose, talking({}, lm_head="fp32") as sound:
        messages = asked(30)
        said = [[await talk.say(message) for message in messages] for talk in (loose, sound)]
    assert all(is_right(message, text) for message, text in zip(messages, said[0], strict=True))
    assert sum(ours != theirs for ours, theirs in zip(*said, strict=True)) > 5
