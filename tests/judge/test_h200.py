"""The divergence policy on recorded outputs of a healthy GPU engine, at every precision of the output head."""

from __future__ import annotations

import pytest

from benchmarks.h200 import broken, differing, exchange, judged, pairs, runs
from fuzzer.oracles.divergence import Divergence, first_divergence

TABLE = {  # outputs of 200 that differ from the same head's none at concurrency 1: both passes
    ("fp32-none", 8): (33, 38),
    ("fp32-none", 32): (36, 37),
    ("fp32-ngram", 8): (39, 46),
    ("bf16-none", 8): (45, 55),
    ("bf16-none", 32): (56, 57),
    ("bf16-ngram", 8): (61, 61),
    ("bf16-ngram", 32): (55, 61),
    ("bf16-draft", 8): (52, 52),
    ("bf16-draft", 32): (68, 68),
    ("nvfp4w-none", 8): (57, 47),
    ("nvfp4w-none", 32): (69, 61),
    ("fp8-none", 8): (98, 94),
    ("fp8-none", 32): (106, 110),
    ("fp8-ngram", 8): (113, 125),
    ("fp8-ngram", 32): (124, 114),
    ("fp8-draft", 8): (120, 120),
    ("nvfp4-none", 8): (121, 117),
    ("nvfp4-none", 32): (137, 136),
    ("nvfp4-ngram", 8): (148, 151),
    ("nvfp4-ngram", 32): (145, 141),
    ("nvfp4-draft", 8): (147, 147),
    ("nvfp4-draft", 32): (139,),
    ("bitri-none", 8): (0, 0),
    ("bitri-none", 32): (0, 0),
}
ITSELF = {  # the reference's two passes at one level against each other
    "fp32": (38, 39),
    "bf16": (52, 56),
    "nvfp4w": (57, 63),
    "fp8": (96, 92),
    "nvfp4": (121, 121),
    "bitri": (0, 0),
}
WIDEST = {"fp32": 0.15696, "bf16": 0.125, "nvfp4w": 0.125, "fp8": 0.6875, "nvfp4": 1.25}
ONE_PASS = ("nvfp4", "draft", 32)  # 200 outputs: swaps in 2 % of them are 4, and 4 to nothing is no p under 0.01


def tags(run: str, level: int) -> list[str]:
    return [tag for tag in (f"c{level}", f"c{level}b") if f"{run} {tag}" in runs()]


def test_the_table_is_recomputed_count_for_count() -> None:
    counted = {
        (run, level): tuple(differing(f"{run.split('-')[0]}-none c1", f"{run} {tag}") for tag in tags(run, level))
        for run, level in TABLE
    }
    assert counted == TABLE
    assert sum(len(tags(run, level)) for run, level in TABLE) + len(ITSELF) == len(runs())  # the rest is c1


@pytest.mark.parametrize("head", list(ITSELF))
def test_a_healthy_reference_differs_from_itself_at_equal_concurrency(head: str) -> None:
    counted = tuple(differing(f"{head}-none c{level}", f"{head}-none c{level}b") for level in (8, 32))
    assert counted == ITSELF[head]


def from_alone(head: str) -> list[Divergence]:
    """First divergences of all runs of a head from its reference at concurrency 1."""
    alone = runs()[f"{head}-none c1"]
    found = []
    for name, outputs in runs().items():
        if name.startswith(f"{head}-") and not name.endswith("none c1"):
            for prompt, (output, reference) in enumerate(zip(outputs, alone, strict=True)):
                pair = exchange(output, prompt, "candidate", 0, 8), exchange(reference, prompt, "reference", 0, 8)
                found.append(first_divergence(*pair))
    return [divergence for divergence in found if divergence is not None]


@pytest.mark.parametrize("head", list(WIDEST))
def test_rounding_explains_every_divergence_by_the_smaller_margin(head: str) -> None:
    gaps = [divergence.gap for divergence in from_alone(head) if divergence.gap is not None]
    assert max(gaps) == pytest.approx(WIDEST[head])
    if head == "bf16":
        assert sum(gap == 0 for gap in gaps) / len(gaps) == pytest.approx(0.945, abs=5e-4)
    if head in ("fp8", "nvfp4"):
        share = sum(gap <= 0.5 for gap in gaps) / len(gaps)
        assert share == pytest.approx({"fp8": 0.9991, "nvfp4": 0.9869}[head], abs=5e-5)


@pytest.mark.parametrize(("head", "widest"), [("fp8", 1.375), ("nvfp4", 3.625)])
def test_the_references_margin_alone_misleads(head: str, widest: float) -> None:
    assert max(divergence.right.margin or 0 for divergence in from_alone(head)) == pytest.approx(widest)


@pytest.mark.parametrize(("head", "ties"), [("bf16", 12), ("fp32", 0)])
def test_bf16_logits_tie_and_fp32_logits_do_not(head: str, ties: int) -> None:
    margins = [margin for output in runs()[f"{head}-none c1"] for margin in output.margins]
    assert round(1000 * margins.count(0.0) / len(margins)) == ties


def test_the_policy_tells_healthy_pairs_from_swapped_ones_and_an_equality_gate_does_not() -> None:
    rows = judged(0.02)
    assert [(row.head, row.speculation, row.level) for row in rows] == [pair[:3] for pair in pairs()]
    assert len(rows) == 12
    for row in rows:
        assert not broken(row.clean)
        assert row.clean.n == 200
        assert row.clean.candidate_material <= 2
        assert row.differ >= 80  # an equality gate fails them all, swaps or none
        if (row.head, row.speculation, row.level) == ONE_PASS:
            assert (row.swaps, row.planted.b) == (4, 4)
        else:
            assert row.swaps == 8
            assert broken(row.planted)
