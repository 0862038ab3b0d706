from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.history.records import Prompt
from fuzzer.manifest import new_manifest, write_manifest
from fuzzer.plan import Endpoint, Plan
from fuzzer.prompts import FAMILIES, PromptPool, canonical, check
from fuzzer.run import resume

COUNT = 5_000


@pytest.fixture(scope="module")
def mix() -> list[Prompt]:
    pool = PromptPool(11)
    return [pool.prompt(index) for index in range(COUNT)]


@pytest.fixture(scope="module")
def fillers() -> list[Prompt]:
    pool = PromptPool(11)
    return [pool.filler(index) for index in range(500)]


def test_prompts_and_their_canaries_are_unique(mix: list[Prompt], fillers: list[Prompt]) -> None:
    every = [*mix, *fillers]
    assert len({prompt.text for prompt in every}) == len(every)
    assert len({prompt.messages[-1].content for prompt in every}) == len(every)
    own = [canary.text for prompt in every for canary in prompt.canaries if not canary.cohort]
    cohorts = {canary.text for prompt in every for canary in prompt.canaries if canary.cohort}
    assert len(set(own)) == len(own)
    assert cohorts.isdisjoint(own)


def test_items_and_answers_are_unique(mix: list[Prompt]) -> None:
    items = [item for prompt in mix for item in set(prompt.items)]
    assert len(items) == len(set(items))
    answers = [prompt.answer for prompt in mix if prompt.attributable]
    assert len(answers) == len(set(answers))


def test_at_least_a_third_elicit_the_system_or_the_history(mix: list[Prompt]) -> None:
    telling = [prompt for prompt in mix if {"system", "history"} & set(prompt.elicits)]
    assert len(telling) >= COUNT / 3
    for channel in ("system", "history"):
        assert sum(channel in prompt.elicits for prompt in mix) >= COUNT / 8


def test_the_mix_is_the_stated_one(mix: list[Prompt]) -> None:
    whole = sum(sum(family.weights.values()) for family in FAMILIES.values())
    for name, family in FAMILIES.items():
        for level, weight in family.weights.items():
            share = sum(prompt.family == name and prompt.level == level for prompt in mix) / COUNT
            assert share == pytest.approx(weight / whole, abs=0.02)


def test_sixteen_prompts_share_the_head_of_their_system_message(mix: list[Prompt]) -> None:
    groups = [prompt.messages[0].content.split(". ")[0] for prompt in mix[:64]]
    assert [len(set(groups[start : start + 16])) for start in range(0, 64, 16)] == [1, 1, 1, 1]
    assert len(set(groups)) == 4
    assert all(f"Group {prompt.canaries[0].text}" == group for prompt, group in zip(mix, groups, strict=False))
    assert all(prompt.canaries[0].cohort and prompt.canaries[0].channel == "system" for prompt in mix)


def test_random_access_gives_the_same_prompts(mix: list[Prompt], fillers: list[Prompt]) -> None:
    pool = PromptPool(11)
    for index in (4_999, 17, 0, 17):
        assert pool.prompt(index) == mix[index]
    assert pool.filler(321) == fillers[321]
    assert pool.prompt(12).id == "p000012"
    assert pool.filler(12).id == "f000012"
    assert pool.size is None


def test_another_process_gives_the_same_bytes(mix: list[Prompt]) -> None:
    program = "from fuzzer.prompts import PromptPool; print(PromptPool(11).prompt(4242).model_dump_json())"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == mix[4242].model_dump_json()


def test_the_seed_matters(mix: list[Prompt]) -> None:
    assert PromptPool(12).prompt(0).text != mix[0].text


def test_a_prompt_survives_the_journal(mix: list[Prompt]) -> None:
    for prompt in mix[:200]:
        read = Prompt.model_validate_json(prompt.model_dump_json())
        assert read == prompt
        text, calls = canonical(read)
        assert check(read, text, calls=calls).value == "right"


def test_the_family_filter_keeps_both_levels() -> None:
    pool = PromptPool(5, families=["echo", "sort", "echo"])
    prompts = [pool.prompt(index) for index in range(600)]
    assert {(prompt.family, prompt.level) for prompt in prompts} == {
        ("echo", "easy"), ("echo", "hard"), ("sort", "easy"), ("sort", "hard"),
    }  # fmt: skip
    assert {pool.filler(index).family for index in range(100)} == {"echo", "sort"}


def test_an_unknown_family_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match=r"'ecko'.*code-word"):
        PromptPool(1, families=["ecko"])
    stray = PromptPool(1).prompt(0).model_copy(update={"family": "ecko"})
    with pytest.raises(UsageError, match="ecko"):
        check(stray, "x")


def log_of(folder: Path, count: int) -> str:
    rows = [{"messages": [{"role": "user", "content": f"Tell me about the bridge number {n}."}]} for n in range(count)]
    path = folder / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_every_second_prompt_can_be_judged_where_a_log_holds_no_answers(tmp_path: Path) -> None:
    pool = PromptPool(3, corpora=(log_of(tmp_path, 5),))
    prompts = [pool.prompt(index) for index in range(14)]
    assert [prompt.checkable for prompt in prompts[:10]] == [False, True] * 5
    assert all(prompt.checkable for prompt in prompts[10:])
    assert pool.size is None
    assert any("5 of 5 corpus rows have no known answer" in note for note in pool.notes)


def test_rows_are_sent_as_they_are_where_nothing_is_to_be_woven_in(tmp_path: Path) -> None:
    pool = PromptPool(3, corpora=(log_of(tmp_path, 5),), weave=False)
    row = pool.prompt(0)
    assert [message.role for message in row.messages] == ["user"]
    assert row.messages[0].content.startswith("Tell me about the bridge number")
    assert row.canaries == ()


def test_a_corpus_that_changed_since_the_run_began_is_not_resumed_with(tmp_path: Path) -> None:
    corpus = log_of(tmp_path, 5)
    plan = Plan(candidates=(Endpoint(name="candidate", url="http://127.0.0.1:9"),), corpora=(corpus,))
    manifest = new_manifest(plan, "r")
    manifest.corpora = PromptPool.of(plan).digests
    write_manifest(tmp_path, manifest)
    log_of(tmp_path, 6)
    with pytest.raises(UsageError, match="not what it was when the run began"):
        resume(tmp_path)
