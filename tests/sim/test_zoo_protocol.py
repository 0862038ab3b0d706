"""Faults of delivery, accounting and parameters, with and without what triggers them, over real HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from fuzzer.sim.config import SimConfig
from fuzzer.sim.faults import FAULTS, SYMPTOMS

from .driving import answer, drive, engine, right, texts
from .traffic import is_right, question, talking

pytestmark = pytest.mark.anyio


async def test_a_piece_of_a_stream_is_lost_or_comes_twice_and_a_whole_reply_is_sound() -> None:
    def shorter(got: int, whole: int) -> bool:
        return got < whole

    def longer(got: int, whole: int) -> bool:
        return got > whole

    changed: list[tuple[str, Callable[[int, int], bool]]] = [("lost-chunk", shorter), ("repeated-chunk", longer)]
    for fault, differs in changed:
        async with talking({fault: 1.0}) as talk:
            messages = [question(20) for _ in range(6)]
            assert all(await talk.loop(messages, 3))
            for message in messages:
                whole, got = await talk.say(message), await talk.events(message)
                assert differs(len(got), len(whole)), (fault, got)


async def test_a_stop_string_inside_an_accepted_block_is_not_cut() -> None:
    async with talking({"late-stop": 1.0}, acceptance=1.0) as late, talking({}, acceptance=1.0) as sound:
        kept = 0
        for _ in range(6):
            words = question(20).split()
            cut = f" {words[9]} "
            said = [await talk.say(" ".join(words), stop=[cut]) for talk in (late, sound)]
            assert cut not in said[1]
            assert words[8] in said[1]
            kept += cut in said[0]
        assert kept >= 4
        assert await late.right(question(20))
    async with talking({"late-stop": 1.0}, speculative=False) as plain:
        assert "bb" not in await plain.say("aa bb cc dd", stop=["bb"])


async def test_penalties_change_a_reply_unless_they_are_ignored() -> None:
    text = " ".join(["amber birch"] * 10)
    for fields in ({"frequency_penalty": 2.0}, {"presence_penalty": 2.0, "frequency_penalty": 2.0}):
        async with talking({"penalties-ignored": 1.0}) as deaf, talking({}) as sound:
            plain = [await talk.say(text) for talk in (deaf, sound)]
            assert await deaf.say(text, **fields) == plain[0]
            assert await sound.say(text, **fields) != plain[1]


async def test_a_bias_forbids_a_token() -> None:
    async with talking({}) as talk:
        body = await talk.ask("amber birch cedar", return_token_ids=True)
        token = body["choices"][0]["token_ids"][0]
        biased = await talk.ask("amber birch cedar", return_token_ids=True, logit_bias={str(token): -100})
        assert token not in biased["choices"][0]["token_ids"]


async def test_the_usage_counts_one_too_many_and_its_sum_tells() -> None:
    async with talking({"usage-off-by-one": 1.0}, acceptance=0.6) as talk:
        told = [(await talk.ask(question()))["usage"] for _ in range(30)]
    over = [usage["prompt_tokens"] + usage["completion_tokens"] - usage["total_tokens"] for usage in told]
    assert set(over) == {0, 1}


async def test_several_choices_are_sampled_each_for_itself() -> None:
    async with talking({}) as talk:
        body = await talk.ask(question(16), n=4, temperature=1.5, seed=3)
        said = [choice["message"]["content"] for choice in body["choices"]]
        assert [choice["index"] for choice in body["choices"]] == [0, 1, 2, 3]
        assert len(set(said)) > 1
        greedy = [await talk.ask(question(16), n=3) for _ in range(6)]
    texts = [{choice["message"]["content"] for choice in body["choices"]} for body in greedy]
    assert sum(len(each) == 1 for each in texts) >= 4  # a near-tie may fall either way, as in a real batch


async def test_a_reply_that_must_not_end_runs_to_its_limit() -> None:
    async with talking({}) as talk:
        message = question(4)
        body = await talk.ask(message, ignore_eos=True, max_tokens=60)
        assert is_right(message, body["choices"][0]["message"]["content"])
        assert (body["usage"]["completion_tokens"], body["choices"][0]["finish_reason"]) == (60, "length")


async def test_every_error_is_noted_as_harm_whether_it_refuses_or_breaks_off() -> None:
    served = engine(faults={"server-error": 0.5})
    done = [*await drive(served, texts(60), 4), *await drive(served, texts(60, seed=2), 4, stream=True)]
    refused, broken = (sum(request.refused for request in done), sum(request.broken for request in done))
    assert min(refused, broken) > 0
    assert len(served.planted) == refused + broken


async def test_an_http_500_says_in_the_notes_whom_it_befell() -> None:
    async with talking({"server-error": 1.0}) as talk:
        asked = {"messages": [{"role": "user", "content": question()}]}
        response = await talk.http.post("/v1/chat/completions", json=asked, headers={"x-request-id": "mine"})
        assert response.status_code == 500
        noted = (await talk.http.get("/sim/planted")).json()
    assert noted == [{"fault": "server-error", "victim": "mine", "donor": ""}]


@pytest.mark.parametrize("fault", sorted(FAULTS))
async def test_a_fault_at_rate_0_is_no_fault(fault: str) -> None:
    prompts = texts(24)
    clean, faulted = engine(speculative=True), engine(speculative=True, faults={fault: 0.0})
    both = [[answer(request) for request in await drive(served, prompts, 4)] for served in (clean, faulted)]
    assert both[0] == both[1]


UNTRIGGERED = sorted(name for name, fault in FAULTS.items() if fault.schedule or fault.concurrency != 8)
UNTRIGGERED.remove("stuck-drain")  # the end of any traffic is a drain


@pytest.mark.parametrize("fault", UNTRIGGERED)
async def test_a_fault_without_its_trigger_is_no_fault(fault: str) -> None:
    prompts = texts(64)
    clean, faulted = engine(speculative=True), engine(speculative=True, faults={fault: 1.0})
    done = [await drive(served, prompts, 8) for served in (clean, faulted)]
    assert [answer(request) for request in done[0]] == [answer(request) for request in done[1]]
    assert all(right(request) for request in done[1])


def test_every_fault_says_what_it_is_modelled_on_and_how_it_is_found() -> None:
    for name, fault in FAULTS.items():
        assert fault.report.startswith("https://github.com/"), name
        assert fault.kinds, name
        assert fault.minimum >= 1, name
        assert 1 <= fault.concurrency <= 32, name
        assert not fault.schedule or fault.trigger, name
        assert SimConfig(faults={name: fault.default_rate}).faults


async def test_faults_do_not_slow_a_server_that_is_asked_nothing() -> None:
    async with talking({name: 1.0 for name in FAULTS if name != "spec-off"}) as talk:
        await asyncio.sleep(0)
        assert (await talk.http.get("/health")).status_code == 200


TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}


async def test_the_markup_of_a_call_stays_in_the_content() -> None:
    ask = "Call the function look_up."
    async with talking({"tool-markup": 1.0}) as deaf, talking({}) as sound:
        replies = [(await talk.ask(ask, tools=[TOOL]))["choices"][0]["message"] for talk in (deaf, sound)]
        assert await deaf.right(question())
    assert "<tool_call>" in replies[0]["content"]
    assert not replies[0]["tool_calls"]
    assert not replies[1]["content"]
    assert replies[1]["tool_calls"][0]["function"]["name"] == "look_up"


async def test_reasoning_stays_in_the_content() -> None:
    thinking = {"chat_template_kwargs": {"enable_thinking": True}}
    async with talking({"reasoning-leak": 1.0}) as deaf, talking({}) as sound:
        replies = [(await talk.ask(question(), **thinking))["choices"][0]["message"] for talk in (deaf, sound)]
        assert "think" not in await deaf.say(question())
    assert "</think>" in replies[0]["content"]
    assert not replies[0]["reasoning_content"]
    assert replies[1]["reasoning_content"]
    assert "think>" not in replies[1]["content"]


async def test_an_object_that_must_keep_to_a_schema_is_left_open() -> None:
    schema = {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]}
    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    async with talking({"grammar-slip": 1.0}) as slipping, talking({}) as sound:
        said = [await talk.say("The town is Fenwick.", response_format=form) for talk in (slipping, sound)]
    assert "town" in json.loads(said[1])
    assert said[0] == said[1].rstrip()[:-1]


def test_there_is_a_fault_for_every_symptom_that_users_report() -> None:
    codes = (
        "COLLAPSE STRUCT GREEDY_DIVERGE POISON NONDET TOKEN_NOISE CRASH WRONG_PLAUSIBLE XREQ_LIVE XREQ_STALE "
        "ACCEPT_DROP EMPTY ACC_DRIFT PROTOCOL LOGPROB HANG PARAM_IGNORED UNCOND"
    )
    assert {fault.symptom for fault in FAULTS.values()} == set(SYMPTOMS) == set(codes.split())
