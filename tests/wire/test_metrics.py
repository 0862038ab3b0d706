from __future__ import annotations

import pytest

from fuzzer.plan import Endpoint
from fuzzer.wire.bounds import Limits
from fuzzer.wire.client import Client
from fuzzer.wire.dialects import LLAMACPP, OPENAI, VLLM, Dialect
from fuzzer.wire.metrics import busy_slots, parse_counters

from .servers import http, routing, serving

PAGE = b"""# HELP vllm:spec_decode_num_drafts_total Number of drafts.
# TYPE vllm:spec_decode_num_drafts_total counter
vllm:spec_decode_num_drafts_total{engine="0",model_name="m{}, \\"x\\""} 3.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 4.0
vllm:spec_decode_num_drafts_created{engine="0"} 1.7e9
vllm:spec_decode_num_draft_tokens_total{engine="0"} 20
vllm:num_requests_running{engine="0"} 8.0
vllm:num_requests_waiting{engine="0"} NaN
vllm:num_requests_waiting_by_reason{engine="0"} 5
vllm:num_preemptions_total{engine="0" broken
"""


def test_samples_are_summed_over_labels_and_matched_by_their_whole_name() -> None:
    counters = parse_counters(PAGE, VLLM.counters.mapping())
    assert (counters.drafts, counters.draft_tokens, counters.running) == (7, 20, 8)


def test_what_is_absent_or_malformed_is_none_and_spoils_nothing_else() -> None:
    counters = parse_counters(PAGE, VLLM.counters.mapping())
    assert (counters.accepted_tokens, counters.waiting, counters.preemptions) == (None, None, None)
    assert parse_counters(b"\xff\x00<html>", LLAMACPP.counters.mapping()).running is None


def test_a_share_of_several_pools_is_that_of_the_fullest() -> None:
    page = b'vllm:kv_cache_usage_perc{engine="0"} 0.7\nvllm:kv_cache_usage_perc{engine="1"} 0.6\n'
    assert parse_counters(page, VLLM.counters.mapping()).pool_usage == 0.7


def test_acceptance_by_place_is_put_together_over_engines() -> None:
    name = b"vllm:spec_decode_num_accepted_tokens_per_pos_total"
    rows = [(0, 0, 9), (0, 1, 5), (1, 0, 3), (1, 1, 2)]
    page = b"".join(b'%s{engine="%d",position="%d"} %d\n' % (name, *row) for row in rows)
    counters = parse_counters(page + b"vllm:spec_decode_num_accepted_tokens_total 19\n", VLLM.counters.mapping())
    assert (counters.accepted_at, counters.accepted_tokens) == ((12, 7), 19)


@pytest.mark.parametrize(
    "labels", ['position="x"', 'position="99999999999"', 'position="-1"', 'position="\u0664"', "", 'position="1"']
)
def test_places_that_make_no_sense_are_none(labels: str) -> None:
    page = f"vllm:spec_decode_num_accepted_tokens_per_pos_total{{{labels}}} 3\n".encode()
    assert parse_counters(page, VLLM.counters.mapping()).accepted_at is None


def test_prefix_cache_and_preemptions_are_counted() -> None:
    page = b"vllm:prefix_cache_queries_total 90\nvllm:prefix_cache_hits_total 30\nvllm:num_preemptions_total 2\n"
    counters = parse_counters(page, VLLM.counters.mapping())
    assert (counters.prefix_queries, counters.prefix_hits, counters.preemptions) == (90, 30, 2)


def test_llama_cpp_metrics_have_their_own_names() -> None:
    page = b"llamacpp:tokens_predicted_total 12\nllamacpp:requests_processing 2\nllamacpp:requests_deferred 1\n"
    counters = parse_counters(page, LLAMACPP.counters.mapping())
    assert (counters.generated_tokens, counters.running, counters.waiting) == (12, 2, 1)


def test_busy_slots_are_counted_if_they_are_slots() -> None:
    counters = busy_slots(b'[{"is_processing": true}, {"is_processing": false}, 3]', Limits())
    assert counters is not None
    assert counters.running == 1
    assert busy_slots(b'{"error": 1}', Limits()) is None
    assert busy_slots(b"<html>", Limits()) is None


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("dialect", "path", "page"),
    [(VLLM, "/version", b'{"version": "0.26.0"}'), (LLAMACPP, "/props", b'{"build_info": "0.26.0", "x": 1}')],
    ids=["vllm", "llamacpp"],
)
async def test_the_version_is_asked_where_the_engine_tells_it(dialect: Dialect, path: str, page: bytes) -> None:
    async with serving(routing({path: http(page)})) as url:
        endpoint = Endpoint(name="c", url=url, model="M")
        async with Client(endpoint, dialect, timeout=30) as client:
            assert await client.version() == "0.26.0"
        async with Client(endpoint, OPENAI, timeout=30) as client:
            assert await client.version() is None
    async with (
        serving(routing({path: http(b'["0.26.0"]')})) as url,
        Client(Endpoint(name="c", url=url), dialect, timeout=30) as client,
    ):
        assert await client.version() is None
