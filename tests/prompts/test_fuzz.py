"""The examples of ``gate --fuzz N``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzzer.errors import UsageError
from fuzzer.finding import Finding
from fuzzer.history.records import Prompt
from fuzzer.prompts import PromptPool, fuzz
from tests.prompts.crossing import right_alone

COUNT = 200


@pytest.fixture(scope="module")
def drawn() -> tuple[Prompt, ...]:
    return fuzz.draw(11, COUNT)


def test_as_many_as_asked_for_are_drawn_and_each_is_checkable(drawn: tuple[Prompt, ...]) -> None:
    assert [prompt.id for prompt in drawn] == [f"z{index:06d}" for index in range(COUNT)]
    assert all(map(right_alone, drawn))
    assert len({prompt.family for prompt in drawn}) > 6
    assert sum("edge" in prompt.spec for prompt in drawn) > COUNT / 2


def test_no_two_examples_share_a_name_or_a_canary_nor_does_the_pool(drawn: tuple[Prompt, ...]) -> None:
    pool = PromptPool(11)
    every = [*drawn, *(pool.prompt(index) for index in range(COUNT)), *(pool.filler(index) for index in range(COUNT))]
    items = [item for prompt in every for item in set(prompt.items)]
    assert len(items) == len(set(items))
    own = [canary.text for prompt in every for canary in prompt.canaries if not canary.cohort]
    assert len(own) == len(set(own))


def test_another_process_gives_the_same_bytes_and_leaves_no_file_behind(
    drawn: tuple[Prompt, ...], tmp_path: Path
) -> None:
    program = (
        "import datasets\nfrom fuzzer.prompts.fuzz import draw\nfor each in draw(11, 40): print(each.model_dump_json())"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert printed.stdout.splitlines() == [prompt.model_dump_json() for prompt in drawn[:40]]
    assert list(tmp_path.iterdir()) == []


def test_the_seed_matters() -> None:
    assert fuzz.draw(12, 5) != fuzz.draw(11, 5)


def test_only_the_families_asked_for_are_drawn() -> None:
    assert {prompt.family for prompt in fuzz.draw(1, 30, ["sort", "echo"])} == {"sort", "echo"}
    with pytest.raises(UsageError, match="'ecko'"):
        fuzz.draw(1, 30, ["ecko"])
    with pytest.raises(UsageError, match="--fuzz 9000000"):
        fuzz.draw(1, 9_000_000)
    assert fuzz.draw(1, 0) == ()


def test_examples_are_kept_and_read_again(drawn: tuple[Prompt, ...], tmp_path: Path) -> None:
    path = tmp_path / fuzz.EXAMPLES
    fuzz.save(path, drawn)
    assert fuzz.load(path) == drawn
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"id": 3}\n', "line 1: id"),
        (b"{\n", "line 1: line: Invalid JSON"),
        (b"\xff", "cannot be read"),
    ],
)
def test_a_bad_file_of_examples_is_refused_with_its_line(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / fuzz.EXAMPLES
    path.write_bytes(content)
    with pytest.raises(UsageError, match=said):
        fuzz.load(path)
    with pytest.raises(UsageError, match="cannot be read"):
        fuzz.load(tmp_path / "none")


def test_examples_with_findings_are_the_interesting_ones(drawn: tuple[Prompt, ...]) -> None:
    def finding(prompt: str | None) -> Finding:
        return Finding(
            key="wrong-answer/wrong-value@candidate", kind="wrong-answer", sub_kind="wrong-value", certainty="certain",
            arm="candidate", endpoint="candidate", cell="", phase="measure", exchange=None, prompt=prompt, summary="",
        )  # fmt: skip

    found = fuzz.interesting([finding("p000003"), finding("z000001"), finding("f000002"), finding(None)], drawn)
    assert [prompt.id for prompt in found] == ["z000001", "z000003"]
