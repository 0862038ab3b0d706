"""The noise floor with scores: material by regret where both sides were scored, by the smaller gap elsewhere."""

from __future__ import annotations

import pytest

from fuzzer.history.scores import Scored
from fuzzer.judge.floor import Floor
from fuzzer.judge.partings import Passes
from fuzzer.noise import NoiseFloor, RegretSummary
from tests.judge.passes import output, passes, refused, scored

SAME, OTHER, THIRD = (1, 2, 3, 4), (1, 2, 9, 4), (1, 2, 8, 4)


def told(table: dict[str, tuple[Passes, Passes]], *answers: Scored, lm_head: str = "bf16") -> NoiseFloor:
    floor = Floor()
    floor.add_block(table.values(), answers)
    return floor.noise_floor(lm_head)


def regret(floor: NoiseFloor) -> RegretSummary:
    assert floor.regret is not None
    return floor.regret


def steady(prompt: str) -> Passes:
    return passes(prompt, "reference", SAME, SAME, SAME)


def parting(prompt: str) -> tuple[Passes, Passes]:
    """The candidate leaves the reference in its first pass."""
    return steady(prompt), passes(prompt, "candidate", OTHER, SAME)


def test_a_foreign_token_at_a_thin_margin_is_material_by_regret_and_not_by_its_gap() -> None:
    reference = passes("p", "reference", SAME, SAME)
    thin = {0: output("p", OTHER, "candidate", 0, margin=0.05), 1: output("p", SAME, "candidate", 1)}
    assert told({"p": (reference, thin)}).candidate_material == 0
    floor = told({"p": (reference, thin)}, scored(thin[0], 0.0, 0.0, 6.0, 0.0))
    assert (floor.candidate_material, floor.b, floor.c) == (1, 1, 0)
    assert regret(floor).used
    assert regret(floor).worst == pytest.approx(6.0)
    assert regret(floor).not_best == 1


def test_a_divergence_of_small_regret_is_benign_however_sure_both_sides_say_they_are() -> None:
    table = {"p": parting("p")}
    assert told(table).candidate_material == 1
    floor = told(table, scored(table["p"][1][0], 0.0, 0.0, 0.05, 0.0))
    assert (floor.candidate_material, floor.near_tie) == (0, 1)


def test_every_token_is_counted_the_references_own_without_being_scored() -> None:
    table = {"p": parting("p"), "q": (steady("q"), passes("q", "candidate", SAME, SAME))}
    floor = regret(told(table, scored(table["p"][1][0], 0.0, 0.0, 6.0, 0.3)))
    assert (floor.outputs, floor.parted, floor.scored) == (4, 1, 1)
    assert floor.tokens == sum(floor.bins) == 16
    assert floor.bins[0] == 14
    assert floor.not_best == 2


def test_what_scoring_makes_of_the_references_own_tokens_is_the_benign_side() -> None:
    table = {"p": parting("p"), "q": (steady("q"), passes("q", "candidate", SAME, SAME))}
    floor = regret(told(table, scored(table["p"][1][0], 0.0, 0.08, 6.0, 0.0), scored(table["q"][0][0], 0, 0, 0, 0.11)))
    assert (floor.own_outputs, floor.own_tokens, floor.own_not_best) == (1, 6, 2)
    assert floor.own_worst == pytest.approx(0.11)
    assert floor.benign_flips == 2


def test_a_prompt_of_which_one_side_was_not_scored_goes_by_gaps_on_both() -> None:
    reference, candidate = passes("p", "reference", SAME, OTHER), passes("p", "candidate", THIRD, SAME)
    ours, theirs = scored(candidate[0], 0.0, 0.0, 0.05, 0.0), scored(reference[1], 0.0, 0.0, 0.05, 0.0)
    floor = told({"p": (reference, candidate)}, ours)
    assert (floor.candidate_material, floor.reference_material) == (1, 1)
    floor = told({"p": (reference, candidate)}, ours, theirs)
    assert (floor.candidate_material, floor.reference_material) == (0, 0)


def test_one_answer_serves_all_outputs_that_are_the_same() -> None:
    reference, candidate = passes("p", "reference", SAME, OTHER), passes("p", "candidate", OTHER, OTHER)
    floor = told({"p": (reference, candidate)}, scored(reference[1], 0.0, 0.0, 0.05, 0.0))
    assert (floor.candidate_material, regret(floor).scored) == (0, 1)


def test_scores_that_contradict_the_references_own_words_decide_nothing() -> None:
    table = {f"p{n}": parting(f"p{n}") for n in range(4)}
    answers = [scored(candidate[0], 4.0, 0.0, 0.05, 0.0) for _, candidate in table.values()]
    floor = told(table, *answers)
    assert not regret(floor).used
    assert "4 of 4 outputs of the reference itself" in regret(floor).note
    assert floor.candidate_material == 4  # by the smaller gap, as without any scores


def test_the_band_of_regrets_comes_from_all_that_is_known_to_be_benign() -> None:
    table = {f"p{n}": parting(f"p{n}") for n in range(40)} | {
        f"q{n}": (passes(f"q{n}", "reference", SAME, OTHER), passes(f"q{n}", "candidate", SAME, SAME))
        for n in range(20)
    }
    answers = [scored(candidate[0], 0.0, 0.2, 0.55, 0.0) for _, candidate in table.values()]
    band = regret(told({name: table[name] for name in list(table)[:50]}, *answers[:40]))
    assert (band.band_source, band.benign_flips) == ("default (bf16)", 50)
    floor = told(table, *answers[:40], *(scored(table[f"q{n}"][0][1], 0, 0, 0.4, 0) for n in range(20)))
    assert (regret(floor).band_source, regret(floor).benign_flips) == ("calibrated", 60)
    assert regret(floor).band_tie == pytest.approx(3.0)  # the reference left itself where it was that sure
    assert floor.b == 0


def test_a_refusal_is_told_and_leaves_the_gaps() -> None:
    table = {"p": parting("p")}
    floor = told(table, refused(table["p"][1][0], "HTTP 404"))
    assert (regret(floor).used, regret(floor).note, floor.candidate_material) == (False, "HTTP 404", 1)


def test_an_ending_that_only_one_side_has_goes_by_its_gap() -> None:
    short = passes("p", "candidate", SAME[:2], SAME)
    floor = told({"p": (steady("p"), short)}, scored(short[0], 0.0, 0.0))
    assert (floor.candidate, regret(floor).scored, regret(floor).used) == (1, 0, False)


def test_exact_ties_of_the_reference_are_counted() -> None:
    reference = {0: output("p", SAME, "reference", 0, margin=0.0), 1: output("p", SAME, "reference", 1)}
    floor = told({"p": (reference, passes("p", "candidate", SAME, SAME))})
    assert (floor.ties, floor.tie_tokens) == (4, 8)


def test_each_end_is_compared_with_itself_by_what_the_cache_held() -> None:
    reference = {
        0: output("p", SAME, "reference", 0, cached=16),
        1: output("p", OTHER, "reference", 1, cached=0, margin=0.25),
        2: output("p", SAME, "reference", 2, cached=16),
    }
    candidate = {0: output("p", SAME, "candidate", 0, tag="cold"), 1: output("p", SAME, "candidate", 1, tag="cold")}
    rows = {(row.arm, row.against, row.cache): row for row in told({"p": (reference, candidate)}).strays}
    assert rows.keys() == {
        ("reference", "itself", "mixed"),
        ("reference", "alone", "warm"),
        ("candidate", "itself", "cold"),
    }
    strayed = rows["reference", "itself", "mixed"]
    assert (strayed.n, strayed.differ) == (1, 1)
    assert strayed.widest == pytest.approx(0.25)
    assert rows["reference", "alone", "warm"].differ == rows["candidate", "itself", "cold"].differ == 0
