"""The test that puts another count first, against published figures and the law it must keep."""

from __future__ import annotations

import random

import pytest

from fuzzer.stats import falling

# Darwin's maize, crossed minus self-fertilised, in eighths of an inch (Fisher 1935, The Design of Experiments, sec. 17)
DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)


def test_darwins_maize() -> None:
    """Fisher counts 863 of the 32,768 ways to have a sum of at least 314: 2.634 %."""
    assert falling([(difference, 0) for difference in DARWIN]) == pytest.approx(863 / 32_768)


def test_every_first_at_the_top_is_the_rarest_way_of_all() -> None:
    assert falling([(20, 0)] * 10) == pytest.approx(2**-10)
    assert falling([(20, 0, 3, 19)] * 5) == pytest.approx(4**-5)
    assert falling([]) == falling([(3, 3)]) == falling([(4,)]) == 1.0


def test_without_a_fall_it_is_small_no_more_often_than_it_says() -> None:
    rng = random.Random(3)
    small = sum(falling([rng.choices((0, 5, 20), k=rng.randint(2, 5)) for _ in range(12)]) < 0.05 for _ in range(600))
    assert small <= 45  # 30 expected at most, three standard deviations more
