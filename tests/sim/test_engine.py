from __future__ import annotations

import asyncio

import pytest

from fuzzer.sim.request import ChatRequest
from fuzzer.sim.sampling import GREEDY, Sampling
from fuzzer.sim.tokens import EOS

from .driving import answer, ask, drive, engine, right, share, texts

pytestmark = pytest.mark.anyio
HEADS = ("fp32", "bf16", "w4a16", "fp8", "nvfp4")


async def test_the_answer_ends_with_the_end_token_and_the_text_without_it() -> None:
    request = await ask(engine(), "one two three")
    assert request.sequence.emitted[-1].token == EOS
    assert answer(request) == "".join(emission.token for emission in request.sequence.emitted[:-1])
    assert request.sequence.finish_reason == "stop"


async def test_speculation_changes_no_certain_text() -> None:
    prompts = texts(60)
    plain = await drive(engine(lm_head="fp32"), prompts, 1)
    speculative = await drive(engine(lm_head="fp32", speculative=True), prompts, 1)
    same = [answer(a) == answer(b) for a, b in zip(plain, speculative, strict=True)]
    assert share(same) > 0.8
    assert all(right(request) for request in (*plain, *speculative))


@pytest.mark.parametrize("speculative", [False, True])
@pytest.mark.parametrize("lm_head", HEADS)
async def test_healthy_answers_are_right_under_load(lm_head: str, speculative: bool) -> None:
    done = await drive(engine(lm_head=lm_head, speculative=speculative), texts(400), 8)
    assert all(right(request) for request in done)


async def test_the_same_traffic_gives_the_same_answers() -> None:
    first = await drive(engine(lm_head="nvfp4"), texts(100), 8, order=1)
    second = await drive(engine(lm_head="nvfp4"), texts(100), 8, order=1)
    assert [answer(request) for request in first] == [answer(request) for request in second]


async def test_benign_divergence_grows_as_the_head_gets_coarser() -> None:
    rates = {}
    for lm_head in ("bf16", "fp8", "nvfp4"):
        served = engine(lm_head=lm_head)
        passes = [await drive(served, texts(600), 8, order=order) for order in (1, 2)]
        rates[lm_head] = share([answer(a) != answer(b) for a, b in zip(*passes, strict=True)])
    assert 0.02 < rates["bf16"] < 0.25
    assert rates["bf16"] < rates["nvfp4"] < 0.75
    assert rates["bf16"] - 0.03 < rates["fp8"] < rates["nvfp4"] + 0.03


async def test_requests_in_flight_run_together() -> None:
    served = engine(speculative=True)
    requests = [served.submit(ChatRequest((("user", text),), sampling=GREEDY)) for text in texts(8)]
    await asyncio.sleep(0)
    assert served.scheduler.running == [request.sequence for request in requests]
    await requests[0].sequence.news.wait()
    assert all(request.sequence.emitted for request in requests)
    assert served.scheduler.counters.drafts == 8


async def test_no_more_than_max_num_seqs_run_together() -> None:
    served = engine(max_num_seqs=3)
    requests = [served.submit(ChatRequest((("user", text),), sampling=GREEDY)) for text in texts(8)]
    await asyncio.sleep(0)
    assert (len(served.scheduler.running), len(served.scheduler.waiting)) == (3, 5)
    for request in requests:
        served.abort(request)
    assert not served.scheduler.running
    assert not served.scheduler.waiting


async def test_drafting_is_counted() -> None:
    served = engine(speculative=True, acceptance=0.75)
    done = await drive(served, texts(200), 4)
    counters = served.scheduler.counters
    assert counters.draft_tokens == 4 * counters.drafts
    assert counters.generated == sum(len(request.sequence.emitted) for request in done)
    assert counters.accepted == sum(counters.accepted_at)
    assert counters.accepted_at == sorted(counters.accepted_at, reverse=True)
    assert 2.2 < counters.generated / counters.drafts < 3.2


async def test_without_speculation_nothing_is_drafted() -> None:
    served = engine()
    await drive(served, texts(10), 4)
    assert served.scheduler.counters.drafts == 0


async def test_max_tokens_cuts_the_answer() -> None:
    request = await ask(engine(speculative=True), "one two three four five", max_tokens=3)
    assert len(request.sequence.emitted) == 3
    assert request.sequence.finish_reason == "length"


async def test_a_stop_string_ends_the_text_before_it() -> None:
    whole = answer(await ask(engine(), "one two three four five"))
    request = await ask(engine(), "one two three four five", stop=("ee fo",))
    assert answer(request) == whole[: whole.index("ee fo")]
    assert (request.sequence.finish_reason, request.sequence.stop_reason) == ("stop", "ee fo")


async def test_greedy_tokens_are_the_maximum_of_their_log_probabilities() -> None:
    for lm_head in HEADS:
        done = await drive(engine(lm_head=lm_head, speculative=True), texts(60), 8, logprobs=True)
        for emission in (emission for request in done for emission in request.sequence.emitted):
            assert emission.logprob == max(value for _, value in emission.top) == emission.top[0][1]
            assert -5 < emission.logprob <= 0
            assert len({token for token, _ in emission.top}) == len(emission.top) >= 20


async def test_asking_for_log_probabilities_does_not_change_the_path() -> None:
    prompts = texts(100)
    silent = await drive(engine(lm_head="nvfp4"), prompts, 8)
    observed = await drive(engine(lm_head="nvfp4"), prompts, 8, logprobs=True)
    assert [answer(request) for request in silent] == [answer(request) for request in observed]


async def test_sampling_is_seeded_and_leaves_the_greedy_path() -> None:
    prompts = texts(60)
    hot = [await drive(engine(), prompts, 1, sampling=Sampling(temperature=1.0), seed=seed) for seed in (1, 1, 2)]
    spoken = [[answer(request) for request in done] for done in hot]
    assert spoken[0] == spoken[1] != spoken[2]
    assert spoken[0] != [answer(request) for request in await drive(engine(), prompts, 1)]


async def test_unseeded_sampling_differs_each_time() -> None:
    served = engine()
    spoken = {
        answer(await ask(served, "one two three four five six", sampling=Sampling(temperature=2.0))) for _ in range(12)
    }
    assert len(spoken) > 1


async def test_prefixes_are_cached_unless_salted() -> None:
    served = engine()
    text = "word " * 60
    cached = [(await ask(served, text, cache_salt=salt)).cached_tokens for salt in ("", "", "pepper")]
    assert cached[0] == 0
    assert cached[1] > 48
    assert cached[2] == 0


async def test_an_aborted_sequence_is_freed_at_once() -> None:
    served = engine()
    request = served.submit(ChatRequest((("user", "one two"),)))
    await asyncio.sleep(0)
    assert served.scheduler.running == [request.sequence]
    served.abort(request)
    served.abort(request)
    assert served.scheduler.running == []
    assert served.counters.finished == {"abort": 1}


async def test_a_defect_in_the_engine_leaves_no_client_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    served = engine()

    def fail(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(served.scheduler, "_admit", fail)
    request = await ask(served, "one two")
    assert request.sequence.broken
    with pytest.raises(ArithmeticError):
        await served.scheduler._loop  # type: ignore[misc]  # it is a task by now
