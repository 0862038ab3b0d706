from __future__ import annotations

from typing import Any

import pytest

from fuzzer.wire.compare import compare
from fuzzer.wire.identify import Identity


def identity(name: str = "candidate", **fields: Any) -> Identity:
    known = {"name": name, "url": f"http://{name}", "engine": "vllm", "model": "org/Model", "context_length": 4096}
    return Identity.model_validate(known | fields)


def codes(candidate: Identity, reference: Identity | None) -> list[tuple[str, str]]:
    problems = compare(candidate, reference)
    assert all(problem.message.isprintable() for problem in problems)
    return [(problem.code, problem.severity) for problem in problems]


CANDIDATE = identity(speculation=True)
REFERENCE = identity("reference", speculation=False)


def test_a_proper_pair_has_no_problems() -> None:
    assert codes(CANDIDATE, REFERENCE) == []
    assert codes(identity(), identity("reference")) == []
    assert codes(CANDIDATE, None) == []


def test_speculation_on_the_wrong_side_blocks() -> None:
    assert codes(CANDIDATE, identity("reference", speculation=True)) == [("reference-speculates", "blocking")]
    assert codes(identity(speculation=False), REFERENCE) == [("no-speculation", "blocking")]
    assert codes(identity(speculation=False), None) == [("no-speculation", "blocking")]


@pytest.mark.parametrize("model", ["Model", "/data/model", "other/MODEL/", r"C:\models\model"])
def test_the_same_model_may_be_named_by_another_path(model: str) -> None:
    assert codes(CANDIDATE, identity("reference", model=model)) == []


def test_different_models_block_unless_the_user_named_both() -> None:
    other = identity("reference", model="org/Other")
    assert codes(CANDIDATE, other) == [("different-model", "blocking")]
    given = {"model_given": True}
    assert codes(CANDIDATE.model_copy(update=given), other) == [("different-model", "blocking")]
    both = CANDIDATE.model_copy(update=given), other.model_copy(update=given)
    assert codes(*both) == [("different-model", "warning")]


def test_other_differences_are_warned_of_after_what_blocks() -> None:
    other = identity("reference", speculation=True, context_length=2048, fingerprint="2")
    assert codes(identity(fingerprint="1"), other) == [
        ("reference-speculates", "blocking"),
        ("context-length", "warning"),
        ("different-version", "warning"),
    ]
    assert codes(identity(fingerprint="1"), identity("reference", engine="sglang", fingerprint="2")) == [
        ("different-engine", "warning")
    ]
