from __future__ import annotations

import pytest

from fuzzer.sim.answer import Node
from fuzzer.sim.logits import HEADS, Batch, padded, score

KEY = b"a prompt"


def node(gap: float) -> Node:
    return Node((("a",), ("b",)), True, (0.0, gap), 17.3, (0.1, 0.7))


def flips(gap: float, head: str, drift: float, rounds: int = 4000) -> float:
    wrong = 0
    for row in range(rounds):
        own, other = score(node(gap), HEADS[head], Batch(8, 5, 8).noise, drift, KEY, (3, 8, row))
        wrong += other > own
    return wrong / rounds


def test_the_same_batch_gives_the_same_logits_and_another_may_not() -> None:
    one = score(node(0.1), HEADS["fp32"], 0.05, 0.0, KEY, (3, 8, 1))
    assert one == score(node(0.1), HEADS["fp32"], 0.05, 0.0, KEY, (3, 8, 1))
    assert one != score(node(0.1), HEADS["fp32"], 0.05, 0.0, KEY, (3, 8, 2))


def test_noise_grows_with_the_batch_and_with_verify_rows() -> None:
    noises = [Batch(running, rows, running).noise for running, rows in ((1, 1), (8, 1), (8, 5), (32, 5))]
    assert noises == sorted(set(noises))


def test_drift_needs_a_neighbour_and_verification() -> None:
    assert Batch(1, 5, 8).drift == 0
    assert Batch(8, 1, 8).drift == 0
    drifts = [Batch(running, 5, running).drift for running in (1, 2, 4, 8, 32)]
    assert drifts == sorted(set(drifts))


def test_a_shrinking_batch_still_runs_at_the_size_of_its_graph() -> None:
    assert Batch(3, 5, 7.5).drift == Batch(8, 5, 8).drift


def test_batches_run_at_the_captured_size_above() -> None:
    assert [padded(running) for running in (1, 2, 3, 5, 8, 9, 300)] == [1, 2, 4, 8, 8, 16, 300]


def test_bf16_logits_lie_on_its_grid_and_tie_exactly() -> None:
    own, other = score(node(0.01), HEADS["bf16"], 0.0, 0.0, KEY, (0, 1, 0))
    assert own == other == 17.25
    own, other = score(node(0.01), HEADS["fp32"], 0.0, 0.0, KEY, (0, 1, 0))
    assert own > other


@pytest.mark.parametrize("head", HEADS)
def test_wider_margins_flip_less_under_drift(head: str) -> None:
    rates = [flips(gap, head, drift=0.6) for gap in (0.5, 1.5, 3.0, 6.0)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > rates[-1]


def test_coarser_heads_flip_more_under_the_same_drift() -> None:
    rates = [flips(3.0, head, drift=0.6) for head in ("bf16", "fp8", "nvfp4")]
    assert rates[0] < rates[1] < rates[2]
    assert rates[0] < 0.002
    assert rates[2] > 0.05


@pytest.mark.parametrize("head", HEADS)
def test_content_margins_withstand_healthy_noise(head: str) -> None:
    assert flips(2.7, head, drift=0.0) == 0
