"""Divergence in words: what was scored and what was not, how each end strays from itself, and who is not judged."""

from __future__ import annotations

import io
import re

from fuzzer.noise import NoiseFloor, RegretSummary, Strays
from fuzzer.report.divergence import divergences, histogram
from fuzzer.report.markdown import markdown
from fuzzer.report.page import html
from fuzzer.report.render import open_screen, render
from fuzzer.summary import Summary
from tests.report import factory

REGRET = RegretSummary(
    used=True, outputs=192, parted=24, scored=20, tokens=9000, not_best=12, worst=0.31, edges=(0.0, 0.1, 0.5),
    bins=(8988, 8, 4, 0), own_outputs=8, own_tokens=900, own_not_best=3, own_worst=0.2, benign_flips=9, band_tie=0.13,
    band_material=0.5, band_source="default (bf16)",
)  # fmt: skip
STRAYS = (
    Strays(arm="reference", against="itself", cache="warm", n=80, differ=10),
    Strays(arm="reference", against="itself", cache="mixed", n=16, differ=1),
    Strays(arm="candidate", against="itself", cache="warm", n=96, differ=13),
    Strays(arm="reference", against="alone", cache="untold", n=96, differ=9),
)
FLOOR = NoiseFloor(
    n=96, reference=11, candidate=14, near_tie=14, band_tie=0.125, band_material=0.1875, band_source="calibrated",
    ties=12, tie_tokens=1000, regret=REGRET, strays=STRAYS,
)  # fmt: skip


def summary(**floor: object) -> Summary:
    """A pass of two schedules at one level, which share their noise floor."""
    clean = factory.passing()
    cells = tuple(
        cell if cell.role == "control" else cell.model_copy(update={"noise_floor": FLOOR.model_copy(update=floor)})
        for cell in clean.cells
    )
    return clean.model_copy(update={"cells": cells})


def test_a_level_is_told_once_with_its_regrets_and_its_noise_floor() -> None:
    first, second = divergences(summary())
    assert first.startswith("concurrency 8, lm_head nvfp4, calibration: 14/96 outputs leave the reference's; ")
    assert "12/9000 (0.13 %) are not the reference's best (8 to 0.1, 4 to 0.5 nats), worst regret 0.31 nats" in first
    assert "(20/24 outputs that part were scored; near-tie to 0.13, material over 0.50, default (bf16))" in first
    assert first.endswith("of its own, scored all the same, 3/900, worst 0.20")
    assert "in another order: reference 11/96 (of these 1/16, warm cache and cold), candidate 13/96" in second
    assert "alone (for information): reference 9/96; exact ties at 12.0 in 1,000" in second


def test_what_was_not_scored_is_said_to_go_by_the_smaller_gap_and_why() -> None:
    unused = REGRET.model_copy(update={"used": False, "scored": 0, "note": "HTTP 404"})
    first, _ = divergences(summary(regret=unused))
    assert "not scored by the reference: HTTP 404; judged by the smaller gap of the two sides" in first
    assert "near-tie to 0.12 nats, material over 0.19, calibrated" in first


def test_without_log_probabilities_it_is_untriaged_and_of_unlike_heads_not_judged() -> None:
    unused = REGRET.model_copy(update={"used": False})
    assert "14/96 outputs leave the reference's; untriaged" in divergences(summary(regret=unused, untriaged=14))[0]
    confounded = divergences(summary(judged=False, note="head-confounded"))[0]
    assert confounded.endswith("not judged: head-confounded")


def test_the_histogram_has_a_line_a_level() -> None:
    names, lines = histogram(summary())
    assert names == ("N", "lm_head", "candidate", "tokens", "none", "to 0.1", "to 0.5", "more", "worst")
    assert lines == [("8", "nvfp4", "candidate", "9,000", "8,988", "8", "4", "0", "0.31")]
    assert histogram(factory.passing()) == ((), [])


def test_every_report_tells_it() -> None:
    told = summary()
    screen = io.StringIO()
    render(told, open_screen(screen, 200))
    assert "worst regret 0.31 nats" in " ".join(screen.getvalue().split())
    assert "regret to 0.31" in screen.getvalue()
    assert "worst regret 0.31 nats" in markdown(told)
    assert "worst regret 0.31 nats" in re.sub("<[^>]*>", "", html(told))
    assert "Regret of the candidate&#39;s tokens" in html(told)
