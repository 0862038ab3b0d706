from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzer.prompts import canary, names
from fuzzer.prompts.draws import Draws


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("QX7K-M2PD", True),
        ("it is qx7k-m2pd.", True),
        ("(QX7K\u2011M2PD)", True),
        ("QX7K-M\u200b2PD", True),
        ("_QX7K-M2PD_", True),
        ("AQX7K-M2PD", False),
        ("QX7K-M2PD9", False),
        ("QX7K-M2P", False),
        ("QX7KM2PD", False),
        ("M2PD-QX7K-M2PD", False),
        ("QX7K-M2PD-QX7K", False),
        ("- QX7K-M2PD -", True),
        ("1QX7K-M2PD, or rather QX7K-M2PD", True),
    ],
)
def test_a_canary_is_matched_at_token_boundaries(text: str, *, there: bool) -> None:
    assert canary.occurs("QX7K-M2PD", text) is there


@given(st.integers())
def test_canaries_have_their_shapes_and_not_each_others(seed: int) -> None:
    rng = random.Random(seed)
    code, mark = canary.code(rng), canary.mark(rng)
    assert canary.CODE.fullmatch(code)
    assert canary.MARK.fullmatch(mark)
    assert not canary.CODE.search(mark)
    assert not canary.MARK.search(code)


def test_a_word_with_a_hyphen_is_no_code() -> None:
    assert not canary.deliberate("well-past")
    assert canary.deliberate("WELL-PAST")
    assert canary.deliberate("a2b3-c4d5")


def test_names_are_found_in_any_case_and_only_whole() -> None:
    name = Draws(1, "p", 0).name()
    first, second = name.split()
    assert len(name) >= 12
    for text in (name, name.lower(), name.upper(), f"({first}\n{second})"):
        assert len(names.spans(text)) == 1
    for text in (first, f"{first}, {second}", f"x{name}", f"{name}s", f"{first[:-1]} {second}"):
        assert names.spans(text) == []


def test_names_drawn_together_start_differently() -> None:
    for seed in range(100):
        drawn = Draws(seed, "p", 0).names(10)
        assert len({name.split()[0] for name in drawn}) == 10


def test_no_part_of_a_name_can_be_read_in_two_ways() -> None:
    assert len(names.PARTS) == len(set(names.PARTS))
