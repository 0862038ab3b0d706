"""Each way in which two ends cannot be compared has a reason of its own, and a healthy pair has none."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from fuzzer.inspecting import inspect
from fuzzer.plan import Policy, Sampling
from fuzzer.sim.config import SimConfig
from fuzzer.sim.server import serving

from .pairs import DRAFTS, PLAIN, check, codes, fronted, look, pair, plan

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("cache", ["warm", "cold"])
@pytest.mark.parametrize(("seed", "head"), [(0, "bf16"), (1, "nvfp4"), (2, "fp32")])
async def test_a_healthy_pair_has_nothing_against_it(seed: int, head: str, cache: str) -> None:
    fields: dict[str, Any] = {"seed": seed, "lm_head": head}
    found = await look(
        SimConfig(**DRAFTS, **fields), SimConfig(**PLAIN, **fields), sampling=Sampling(timeout=60, cache=cache)
    )
    assert found.preflight.checks == ()
    assert found.preflight.comparable
    assert {probed.result for probed in found.preflight.probes} == {"ok"}


async def test_other_heads_and_whole_replies_are_nothing_against_it_either() -> None:
    found = await look(
        SimConfig(**DRAFTS, lm_head="nvfp4"), SimConfig(**PLAIN), sampling=Sampling(timeout=60, stream=False)
    )
    assert codes(found, "blocking") == []
    assert codes(found, "warning") == []


@pytest.mark.parametrize(
    ("candidate", "reference", "code", "said"),
    [
        ({}, {"speculative": True}, "swapped", "exchange --candidate and --reference"),
        ({}, {}, "no-speculation", "without speculation"),
        ({"speculative": True}, {"speculative": True}, "reference-speculates", "a reference must not"),
        ({**DRAFTS, "model": "a"}, {"model": "b"}, "different-model", "'a', reference 'b'"),
        ({**DRAFTS, "template": "You are kind."}, {}, "different-template", "--chat-template"),
        ({**DRAFTS, "ignores": ("temperature",)}, {}, "temperature-ignored", "candidate: the same question"),
        (DRAFTS, {"ignores": ("temperature",)}, "temperature-ignored", "reference: the same question"),
        ({**DRAFTS, "ignores": ("max_tokens",)}, {}, "max-tokens-ignored", "where 24 were asked for"),
        ({**DRAFTS, "max_num_seqs": 1, "step_seconds": 0.01}, {}, "slots", "runs 1 at once"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_an_unfair_pair_is_refused_with_its_own_reason(
    candidate: dict[str, Any], reference: dict[str, Any], code: str, said: str
) -> None:
    found = await look(SimConfig(**PLAIN | candidate), SimConfig(**PLAIN | reference))
    assert codes(found, "blocking") == [code]
    assert said in check(found, code).text
    assert check(found, code).change
    assert not found.preflight.comparable
    assert [reason.message for reason in found.blocking] == [check(found, code).text]


@pytest.mark.parametrize(
    ("candidate", "reference", "code", "said"),
    [
        ({"max_model_len": 2000}, {}, "context-length", "2000 tokens, reference 32768"),
        ({"ignores": ("max_tokens",)}, {"ignores": ("max_tokens",)}, "max-tokens-ignored", "where 24 were"),
        ({"ignores": ("stop",)}, {}, "stop-ignored", "go on past their stop string"),
        ({"defaults": {"repetition_penalty": 1.1}}, {}, "generation-defaults", "overridden in every request"),
        ({"stale_metrics": True}, {}, "stale-counters", "do not move"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_what_is_odd_but_not_unfair_is_warned_of(
    candidate: dict[str, Any], reference: dict[str, Any], code: str, said: str
) -> None:
    found = await look(SimConfig(**DRAFTS | candidate), SimConfig(**PLAIN | reference))
    assert (codes(found, "blocking"), codes(found, "warning")) == ([], [code])
    assert said in check(found, code).text
    assert check(found, code).text in found.preflight.warnings


async def test_a_seed_that_is_ignored_is_shown_and_no_objection_for_judged_requests_are_greedy() -> None:
    found = await look(SimConfig(**DRAFTS, ignores=("seed",)), None)
    assert found.preflight.checks == ()
    (probed,) = [probed for probed in found.preflight.probes if probed.probe == "seed"]
    assert probed.result == "odd"


async def test_the_same_address_twice_is_no_pair() -> None:
    async with serving(SimConfig(**DRAFTS)) as url:
        found = await inspect(plan(url, f"{url.replace('127.0.0.1', 'localhost')}/v1"))
    assert codes(found, "blocking") == ["same-endpoint"]


async def test_defaults_that_nothing_overrides_are_unfair_on_one_side_only() -> None:
    own: dict[str, Any] = {"defaults": {"repetition_penalty": 1.1}}
    found = await look(SimConfig(**DRAFTS, **own), SimConfig(**PLAIN), engine="openai")
    assert codes(found, "blocking") == ["generation-defaults"]
    both = await look(SimConfig(**DRAFTS, **own), SimConfig(**PLAIN, **own), engine="openai")
    assert (codes(both, "blocking"), codes(both, "warning")) == ([], ["generation-defaults"])


@pytest.mark.parametrize(("refused", "severity"), [("", "warning"), ("top_k", "blocking")])
async def test_a_default_of_top_k_at_one_end_is_told_and_unfair_only_where_nothing_overrides_it(
    refused: str, severity: str
) -> None:
    own = {"vllm_config": {"model_config": {"override_generation_config": {"top_k": 20}}}}
    async with (
        pair(SimConfig(**DRAFTS), SimConfig(**PLAIN)) as (ours, theirs),
        fronted(ours, {"/server_info?config_format=json": own}, refused) as url,
    ):
        found = await inspect(plan(url, theirs))
    assert codes(found, severity) == ["generation-defaults"]
    assert "candidate has top_k 20; reference has none" in check(found, "generation-defaults").text
    assert found.preflight.comparable == (not refused)


async def test_a_candidate_alone_is_looked_at_for_itself() -> None:
    assert codes(await look(SimConfig(**DRAFTS), None), "blocking") == []
    ignoring = await look(SimConfig(**DRAFTS, ignores=("temperature",)), None)
    assert codes(ignoring, "blocking") == ["temperature-ignored"]
    plain = await look(SimConfig(**PLAIN), None)
    assert codes(plain, "blocking") == ["no-speculation"]
    waived = await look(SimConfig(**PLAIN), None, policy=Policy(require_speculation=False))
    assert codes(waived, "blocking") == []


async def test_no_more_is_in_flight_than_the_run_may_have() -> None:
    async with pair(SimConfig(**DRAFTS), None) as (url, _):
        await inspect(plan(url, "", concurrency=(3,)))
        async with httpx.AsyncClient() as http:
            seen = (await http.get(f"{url}/sim/traffic")).json()
    assert seen["most"] == 3
    assert len(seen["requests"]) <= 12 + 13 + 3 + 1  # probes, questions, warm-up, and what asks for the parameters
