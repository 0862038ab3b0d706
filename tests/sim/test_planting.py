"""What each planted fault does, and how often."""

from __future__ import annotations

import asyncio
import math
import random
from collections import Counter

import pytest

from fuzzer.sim.answer import text_of
from fuzzer.sim.engine import Request
from fuzzer.sim.faults import FAULTS, draw_faults, strikes_server
from fuzzer.sim.request import ChatRequest

from .driving import WORDS, answer, ask, drive, engine, right, texts

pytestmark = pytest.mark.anyio
PER_TEXT = sorted(FAULTS.keys() - {"spec-off"})


def within(hits: int, count: int, rate: float, sigmas: float = 5.0) -> bool:
    """Whether a count is plausible for a binomial rate."""
    return abs(hits - count * rate) <= sigmas * math.sqrt(count * rate * (1 - rate)) + 1


def expected(request: Request) -> str:
    return text_of(request.reading.slots)


def content(request: Request) -> str:
    return "".join(emission.token for emission in request.sequence.emitted if emission.content).strip()


@pytest.mark.parametrize("name", PER_TEXT)
def test_a_fault_strikes_at_about_its_rate(name: str) -> None:
    hits = sum(name in draw_faults({name: 0.05}, 7, place.to_bytes(4, "big"), 0) for place in range(4000))
    assert within(hits, 4000, 0.05)


def test_draws_depend_on_seed_text_and_ordinal_alone() -> None:
    rates = {"hang": 0.5, "row-swap": 0.5}

    def names(seed: int, ordinal: int) -> list[frozenset[str]]:
        return [draw_faults(rates, seed, place.to_bytes(4, "big"), ordinal).names for place in range(50)]

    assert names(1, 0) == names(1, 0)
    assert names(1, 0) != names(2, 0)
    assert names(1, 0) != names(1, 1)


def test_faults_are_independent_of_each_other() -> None:
    draws = [draw_faults({"hang": 0.5, "collapse": 0.5}, 1, place.to_bytes(4, "big"), 0) for place in range(2000)]
    assert within(sum(len(draw.names) == 2 for draw in draws), 2000, 0.25)


async def test_shuffled_arrival_meets_the_same_faults() -> None:
    rates = {"token-noise": 0.2, "collapse": 0.1, "empty-200": 0.1, "truncate": 0.2}
    runs = [
        await drive(engine(faults=rates, seed=3), texts(150), level, order=order, max_tokens=60)
        for level, order in ((8, 1), (8, 2), (1, 3))
    ]
    struck = [[request.draw.names for request in run] for run in runs]
    assert struck[0] == struck[1] == struck[2]
    assert len(set(struck[0])) > 4


async def test_a_repeated_text_is_drawn_anew() -> None:
    served = engine(faults={"empty-200": 0.5})
    spoken = [answer(await ask(served, "one two three")) for _ in range(30)]
    assert 5 < spoken.count("") < 25


async def test_last_message_swap_answers_a_neighbour_and_needs_one() -> None:
    prompts = texts(60)
    served = engine(faults={"last-message-swap": 1.0})
    done = await drive(served, prompts, 8)
    swapped = [request for request in done if not right(request)]
    assert len(swapped) > 50
    assert {content(request) for request in swapped} <= set(prompts)
    assert all(right(request) for request in await drive(served, prompts, 1))


async def test_stale_answer_says_what_another_was_told_before_and_needs_one() -> None:
    served = engine(faults={"stale-answer": 1.0})
    first = await ask(served, "one two three")
    second = await ask(served, "four five six")
    assert right(first)
    assert answer(second) == answer(first)


async def test_a_stale_answer_is_no_neighbours() -> None:
    served = engine(faults={"stale-answer": 1.0})
    done = await drive(served, texts(40), 4)
    assert len(Counter(answer(request) for request in done)) < 40


async def test_row_swap_puts_one_token_of_a_neighbour_in_and_the_log_probabilities_tell() -> None:
    served = engine(faults={"row-swap": 1.0}, speculative=True)
    done = await drive(served, texts(60), 8, logprobs=True)
    swapped = [request for request in done if not right(request)]
    assert len(swapped) > 50
    for request in swapped:
        lies = [emission for emission in request.sequence.emitted if emission.logprob < emission.top[0][1]]
        assert len(lies) == 1
        assert lies[0].top[0][1] - lies[0].logprob > 1
        assert lies[0].token != lies[0].top[0][0]
    assert all(right(request) for request in await drive(served, texts(40), 1))


async def test_token_noise_shows_as_foreign_letters_doubled_syllables_or_special_tokens() -> None:
    done = await drive(engine(faults={"token-noise": 1.0}), texts(90), 4)
    kinds: Counter[str] = Counter()
    for request in done:
        said = content(request)
        if "<|im_end|>" in said:
            kinds["special"] += 1
        elif not said.isascii():
            kinds["look-alike"] += 1
        elif not set(said.split()) <= {*WORDS, *expected(request).rstrip(".").split()}:
            kinds["doubled"] += 1
    assert sum(kinds.values()) == len(done)
    assert min(kinds["special"], kinds["look-alike"], kinds["doubled"]) > 10


async def test_collapse_runs_to_max_tokens_in_a_loop() -> None:
    done = await drive(engine(faults={"collapse": 1.0}), texts(20), 4, max_tokens=60)
    for request in done:
        assert request.sequence.finish_reason == "length"
        assert len(request.sequence.emitted) == 60
        assert len(set(answer(request)[-24:].split())) <= 3


async def test_empty_200_says_nothing() -> None:
    request = await ask(engine(faults={"empty-200": 1.0}), "one two")
    assert (answer(request), request.sequence.finish_reason, len(request.sequence.emitted)) == ("", "stop", 1)


async def test_hang_is_silent_holds_nobody_up_and_ends_with_its_client() -> None:
    served = engine(faults={"hang": 1.0})
    request = served.submit(ChatRequest((("user", "one two"),)))
    await asyncio.sleep(0)
    assert served.scheduler.silent == {request.sequence}
    assert not request.sequence.emitted
    served.abort(request)
    assert not served.scheduler.silent
    assert request.sequence.over


async def test_server_error_refuses_or_breaks_a_stream_off() -> None:
    served = engine(faults={"server-error": 1.0})
    whole = await drive(served, texts(60), 4)
    assert all(served.refuses(request) and not request.sequence.emitted for request in whole)
    streamed = await drive(served, texts(300, seed=2), 4, stream=True)
    assert within(sum(request.sequence.broken for request in streamed), 300, 1 / 3)
    assert all(request.sequence.broken or not request.sequence.emitted for request in streamed)


async def test_acceptance_collapses_with_concurrency_and_leaves_the_text_alone() -> None:
    lengths = {}
    for level in (1, 3, 8):
        served = engine(speculative=True, faults={"acceptance-collapse": 1.0})
        assert all(right(request) for request in await drive(served, texts(80), level))
        counters = served.scheduler.counters
        assert counters.drafts
        lengths[level] = counters.generated / counters.drafts
    assert lengths[8] < 1.3
    assert min(lengths[1], lengths[3]) > 2


async def test_spec_off_serves_without_drafting() -> None:
    served = engine(speculative=True, faults={"spec-off": 1.0})
    assert all(right(request) for request in await drive(served, texts(20), 4))
    assert not served.speculating
    assert served.scheduler.counters.drafts == 0


def test_a_fault_of_the_whole_server_is_drawn_by_its_seed() -> None:
    hits = sum(strikes_server({"spec-off": 0.3}, "spec-off", seed) for seed in range(1000))
    assert within(hits, 1000, 0.3)
    assert not strikes_server({}, "spec-off", 1)


async def test_truncate_delivers_fewer_tokens_than_it_counts() -> None:
    for request in await drive(engine(faults={"truncate": 1.0}), texts(20), 4):
        text, delivered = request.sequence.take()
        assert request.sequence.finish_reason == "stop"
        assert len(delivered) < len(request.sequence.emitted)
        assert text == "".join(emission.token for emission in delivered)


async def test_several_faults_keep_out_of_each_others_way() -> None:
    rates = {name: 0.1 for name in PER_TEXT if name not in ("hang", "verify-drift")}
    rng = random.Random(5)
    prompts = [" ".join(rng.sample(WORDS, 5)) + f" z{place}" for place in range(300)]
    done = await drive(engine(faults=rates, speculative=True), prompts, 8, max_tokens=60, stream=True)
    assert all(request.sequence.over or not request.sequence.emitted for request in done)
    untouched = [request for request in done if request.draw.names <= {"acceptance-collapse"}]
    assert all(right(request) for request in untouched)
