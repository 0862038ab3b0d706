"""What a person writes becomes a plan, or one line that names the field and an example."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.estimate import estimate
from fuzzer.options import build_plan, read_config
from fuzzer.plan import LADDER
from fuzzer.traffic.schedules import SCHEDULES

CANDIDATE = {"candidate": ["http://127.0.0.1:8001"]}
PAIR = {**CANDIDATE, "reference": ["http://127.0.0.1:8000"]}


@pytest.mark.parametrize(
    ("options", "field", "example"),
    [
        ({}, "--candidate", "http://127.0.0.1:8000"),
        ({"candidate": ["ftp://host"]}, "--candidate", "http://"),
        ({"candidate": ["localhost:8000"]}, "--candidate", "http://"),
        ({"candidate": ["http://host:99999"]}, "--candidate", "http://"),
        ({"candidate": ["http://user:secret@host"]}, "--candidate", "--api-key-env"),
        ({"candidate": ["a b=http://host"]}, "--candidate", "fp8=http://"),
        ({**PAIR, "concurrency": "0"}, "--concurrency", "1,8"),
        ({**PAIR, "concurrency": "8,x"}, "--concurrency", "1,8"),
        ({**PAIR, "concurrency": "8,8"}, "concurrency", "1,8"),
        ({**PAIR, "concurrency": "1,8", "ladder": True}, "--ladder", "1,2,3"),
        ({**PAIR, "schedule": ["closed-loop,storm"]}, "--schedule", "burst-solo"),
        ({**PAIR, "max_wrong_rate": "many"}, "--max-wrong-rate", "1%"),
        ({**PAIR, "max_wrong_rate": "80%"}, "--max-wrong-rate", "0.5"),
        ({**PAIR, "confidence": "0.2"}, "--confidence", "0.5"),
        ({**PAIR, "requests": 0}, "--requests", "1"),
        ({**PAIR, "max_tokens": 0}, "--max-tokens", "1"),
        ({**PAIR, "timeout": -1}, "--timeout", "0"),
        ({**PAIR, "budget": "soon"}, "--budget", "20m"),
        ({**PAIR, "thinking": "hard"}, "--thinking", "auto"),
        ({**PAIR, "engine": "gpt"}, "--engine", "vllm"),
        ({**PAIR, "header": ["nonsense"]}, "--header", "KEY=VALUE"),
        ({**PAIR, "lm_head": ["other=bf16"]}, "--lm-head", "candidate"),
        ({**PAIR, "lm_head": ["candidate"]}, "--lm-head", "NAME=PRECISION"),
        ({**PAIR, "family": ["code-word,"]}, "--family", "NAME"),
        ({"candidate": ["a=http://h:1", "a=http://h:2"]}, "candidate", "NAME=URL"),
        ({"candidate": ["a=http://h:1"], "reference": ["b=http://h:2"]}, "a", "--reference a=URL"),
        ({**PAIR, "waivers": "/nowhere/waivers.toml"}, "--waivers", "cannot read"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_field_and_an_example(
    options: dict[str, object], field: str, example: str
) -> None:
    with pytest.raises(UsageError) as caught:
        build_plan(options)
    assert field in str(caught.value)
    assert example in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_secret_in_a_url_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        build_plan({"candidate": ["http://user:hunter2@host"]})
    assert "hunter2" not in str(caught.value)


def test_headers_may_be_secret_and_stay_out_of_what_is_written() -> None:
    plan = build_plan({**PAIR, "header": ["Authorization=Bearer hunter2"]})
    assert plan.candidates[0].headers == {"Authorization": "Bearer hunter2"}
    assert "hunter2" not in plan.model_dump_json()
    assert "hunter2" not in repr(plan)


def test_the_default_is_one_control_and_two_gated_cells() -> None:
    plan = build_plan(PAIR)
    assert [(cell.role, cell.concurrency, cell.schedule) for cell in plan.cells()] == [
        ("control", 1, "closed-loop"),
        ("gated", 8, "closed-loop"),
        ("gated", 8, "burst-solo"),
    ]
    assert plan.policy.sequential


def test_all_schedules_are_the_nightly_set() -> None:
    plan = build_plan({**PAIR, "schedule": ["all"]})
    assert plan.schedules == tuple(SCHEDULES)


def test_a_single_level_of_one_is_gated() -> None:
    plan = build_plan({**PAIR, "concurrency": "1"})
    assert [(cell.role, cell.concurrency) for cell in plan.cells()] == [("gated", 1)]


def test_without_a_reference_level_one_is_always_there_as_control() -> None:
    plan = build_plan({**CANDIDATE, "concurrency": "8"})
    assert [cell.role for cell in plan.cells()] == ["control", "gated", "gated"]


def test_a_fixed_size_is_not_sequential() -> None:
    assert not build_plan({**PAIR, "requests": 60}).policy.sequential


def test_the_ladder_holds_odd_sizes() -> None:
    assert build_plan({**PAIR, "ladder": True}).concurrency == LADDER


def test_a_shared_name_pairs_endpoints_and_sets_both_heads() -> None:
    plan = build_plan(
        {
            "candidate": ["fp4=http://h:1", "half=http://h:2"],
            "reference": ["fp4=http://h:3", "half=http://h:4"],
            "lm_head": ["fp4=NVFP4", "half=bf16", "reference:half=fp32"],
        }
    )
    heads = {(end.name, end.lm_head) for end in plan.candidates}
    assert heads == {("fp4", "nvfp4"), ("half", "bf16")}
    reference = plan.reference_of("half")
    assert reference is not None
    assert reference.lm_head == "fp32"
    assert plan.reference_of("fp4") == plan.references[0]
    assert plan.references[0].lm_head == "nvfp4"


def test_an_unnamed_reference_serves_all_candidates() -> None:
    plan = build_plan({"candidate": ["a=http://h:1", "b=http://h:2"], "reference": ["http://h:3"]})
    assert plan.reference_of("a") == plan.reference_of("b") == plan.references[0]


def test_percent_and_share_mean_the_same() -> None:
    assert build_plan({**PAIR, "max_wrong_rate": "5%"}).policy.max_wrong_rate == pytest.approx(0.05)
    assert build_plan({**PAIR, "max_wrong_rate": "0.05"}).policy.max_wrong_rate == pytest.approx(0.05)


def test_the_command_line_wins_over_the_config(tmp_path: Path) -> None:
    path = tmp_path / "specfuzz.toml"
    path.write_text('candidate = "http://h:1"\nconcurrency = [1, 4]\nmax-tokens = 99\nseed = 3\n')
    plan = build_plan({"seed": 7, "concurrency": None}, read_config(path))
    assert (plan.seed, plan.concurrency, plan.sampling.tokens) == (7, (1, 4), 99)


@pytest.mark.parametrize("content", ["candidate = [", "speed = 3\n", b"\xff\xfe"])
def test_an_unreadable_config_is_refused(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "specfuzz.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match="--config"):
        read_config(path)
    with pytest.raises(UsageError, match="cannot read"):
        read_config(tmp_path / "missing.toml")


def test_the_digest_tells_unlike_plans_apart() -> None:
    assert build_plan(PAIR).digest == build_plan(PAIR).digest
    assert build_plan(PAIR).digest != build_plan({**PAIR, "seed": 1}).digest


def test_the_users_own_concurrency_must_be_one_that_is_measured() -> None:
    base: dict[str, object] = {**CANDIDATE, "concurrency": "1,8"}
    plain, marked = build_plan(base), build_plan({**base, "p50_concurrency": 8})
    assert marked.p50_concurrency == 8
    assert marked.digest == plain.digest  # it changes nothing of what is sent
    with pytest.raises(UsageError, match=r"--p50-concurrency 12 is not measured; add it: --concurrency 1,8,12"):
        build_plan({**base, "p50_concurrency": 12})


def test_speed_at_a_temperature_is_another_plan() -> None:
    base: dict[str, object] = {**CANDIDATE}
    hot = build_plan({**base, "speed_temperature": 0.7})
    assert hot.digest != build_plan(base).digest
    assert estimate(hot).requests > estimate(build_plan(base)).requests
    for wrong in (0, -1, 3, "warm"):
        with pytest.raises(UsageError, match="--speed-temperature"):
            build_plan({**base, "speed_temperature": wrong})
