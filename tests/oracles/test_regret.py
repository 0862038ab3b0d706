from __future__ import annotations

import pytest

from benchmarks.regret import measure
from fuzzer.finding import Finding
from fuzzer.history.records import Exchange, TokenLogprob
from fuzzer.history.scores import Scores, TokenScore
from fuzzer.oracles import divergence, regret
from fuzzer.oracles.divergence import Band
from fuzzer.oracles.regret import EDGES, before, histogram, regrets, since
from tests.oracles.factory import World, exchange, prompt

BAND = Band(0.13, 0.5, 0, "test")


def score(logprob: float | None, best: float = -0.1, second: float | None = -2.0, rank: int | None = 1) -> TokenScore:
    return TokenScore(id=7, logprob=logprob, best=best, second=second, rank=rank)


def test_an_output_of_best_tokens_has_no_regret() -> None:
    found = regrets([score(-0.1), score(-0.1)])
    assert (found.worst, found.place, found.not_best, found.share_not_best) == (0.0, None, 0, 0.0)
    assert found.triage(BAND) == "near-tie"


def test_the_worst_token_is_found_with_its_place() -> None:
    found = regrets([score(-0.1), score(-0.15, rank=2), score(-6.1, rank=400)], start=10)
    assert found.worst == pytest.approx(6.0)
    assert (found.place, found.tokens, found.not_best) == (12, 3, 2)
    assert found.triage(BAND) == "material"


@pytest.mark.parametrize(("regret", "severity"), [(0.13, "near-tie"), (0.3, "grey"), (0.51, "material")])
def test_the_band_decides(regret: float, severity: str) -> None:
    assert regrets([score(-regret, best=0.0, rank=2)]).triage(BAND) == severity


def test_exact_ties_are_counted_and_are_no_regret() -> None:
    found = regrets([score(-0.7, -0.7, -0.7, rank=2), score(-0.7, -0.7, -0.7), score(-0.1, second=None)])
    assert (found.tied, found.ties, found.not_best) == (1, 2, 0)


def test_what_could_not_be_scored_is_no_evidence() -> None:
    found = regrets([score(None), TokenScore(id=3)])
    assert (found.tokens, found.unscored, found.triage(BAND), found.share_not_best) == (0, 2, None, 0.0)
    assert regrets([]).triage(BAND) is None


def test_a_token_that_the_engine_did_not_list_lies_at_least_so_low() -> None:
    bounded = TokenScore(id=3, logprob=-9.0, best=-0.1, bounded=True)
    assert bounded.regret == pytest.approx(8.9)
    assert bounded.margin is None


def test_the_histogram_has_a_bin_for_every_regret() -> None:
    bins = histogram([0.0, 0.0, 0.05, 0.1, 0.4, 0.7, 1.5, 3.0, 9.9, 42.0])
    assert bins == (2, 2, 1, 1, 1, 1, 1, 1)
    assert len(bins) == len(EDGES) + 1


def test_an_output_is_cut_where_it_leaves_the_references() -> None:
    scores = Scores(start=2, tokens=(score(-0.15, rank=2), score(-6.1, rank=9), score(-0.1)))
    assert (before(scores, 3).tokens, since(scores, 3).tokens) == (1, 2)
    assert (before(scores, 3).place, since(scores, 3).place) == (2, 3)
    assert (before(scores, 1).tokens, since(scores, 1).tokens) == (0, 3)


def told(scores: Scores | None, heads: dict[str, str | None] | None = None) -> list[Finding]:
    """What both oracles say of a candidate's output that leaves the reference's by one token at a thin margin."""

    def said(token: int, arm: str) -> Exchange:
        row = TokenLogprob(token=f"{token} ", id=token, logprob=-0.7, top=((f"{token} ", -0.7), ("other", -0.75)))
        return exchange(
            "p", f"{token} ", arm="candidate" if arm == "candidate" else "reference", phase="calibration",
            ids=[token], logprobs=[row],
        )  # fmt: skip

    ours = said(4, "candidate")
    world = World((prompt("p"),), (ours, said(3, "reference")), lm_heads=heads or {})
    context = world.context()
    context.told = lambda asked: scores if asked == ours else None
    return [*divergence.judge(world.batch, context), *regret.judge(world.batch, context)]


def test_a_material_regret_is_a_finding_with_its_numbers() -> None:
    (finding,) = told(Scores(tokens=(TokenScore(id=4, token="4 ", logprob=-6.7, best=-0.7, rank=50),)))
    assert finding.key == "divergence/material@candidate"
    assert finding.evidence["regret"] == pytest.approx(6.0)
    assert (finding.evidence["place"], finding.evidence["rank"]) == (0, 50)
    assert "6.00 nats below its best" in finding.summary


def test_what_the_reference_has_scored_well_is_none_and_what_it_has_not_scored_goes_by_the_gap() -> None:
    assert told(Scores(tokens=(score(-0.2, rank=2),))) == []
    assert told(None) == []  # the gap is thin


def test_heads_that_differ_are_not_judged() -> None:
    foreign = Scores(tokens=(score(-9.0, rank=99),))
    assert len(told(foreign, {"candidate": "fp8", "reference": "fp8"})) == 1
    assert told(foreign, {"candidate": "fp8", "reference": "bf16"}) == []


@pytest.mark.anyio
async def test_foreign_tokens_at_tiny_margins_are_material_by_regret_and_benign_flips_are_not() -> None:
    table = await measure(12, "bf16", batch=32)
    assert (len(table.planted), len(table.benign)) == (12, 12)
    assert table.material(table.planted, "regret", "bf16") >= 11
    assert table.material(table.benign, "regret", "bf16") <= 1
    assert table.material(table.planted, "smaller margin", "bf16") <= 1  # margins alone see nothing
