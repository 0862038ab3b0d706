from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import h200
from fuzzer.history.records import Arm, Exchange, TokenLogprob
from fuzzer.oracles.divergence import (
    ALONE,
    Band,
    Divergence,
    Side,
    benign_flips,
    calibrate,
    first_divergence,
    judge,
    matched,
    triage,
)
from tests.oracles.factory import World, exchange, prompt

PASSES = {"c8": 0, "c8b": 1, "c1": ALONE}


def entry(token: int, margin: float, runner_up: str = "other") -> TokenLogprob:
    """A token that is its own maximum by so many nats."""
    return TokenLogprob(
        token=f"t{token} ", id=token, logprob=-0.1, top=((f"t{token} ", -0.1), (runner_up, -0.1 - margin))
    )


def said(ids: list[int], margins: list[float], arm: Arm = "candidate", pass_index: int = 0, **more: int) -> Exchange:
    return exchange(
        "p", "".join(f"t{token} " for token in ids), arm=arm, phase="calibration", pass_index=pass_index, ids=ids,
        logprobs=[entry(token, margin) for token, margin in zip(ids, margins, strict=True)],
        exposure=more.get("exposure", pass_index), index=more.get("index", 0),
    )  # fmt: skip


def test_equal_outputs_do_not_diverge_and_failed_ones_are_not_compared() -> None:
    assert first_divergence(said([1, 2], [3, 3]), said([1, 2], [3, 3], "reference")) is None
    assert first_divergence(exchange("p", "a"), exchange("p", "b", outcome="disconnect")) is None
    assert first_divergence(exchange("p", "a"), exchange("p", lost=True)) is None


def test_the_first_differing_token_is_found_with_both_margins() -> None:
    divergence = first_divergence(said([1, 2, 3, 9], [3, 3, 0.25, 3]), said([1, 2, 4, 8], [3, 3, 0.5, 3], "reference"))
    assert divergence is not None
    assert (divergence.unit, divergence.index) == ("token", 2)
    assert (divergence.left.said, divergence.right.said) == ("t3 ", "t4 ")
    assert divergence.left.margin == pytest.approx(0.25)
    assert divergence.right.margin == pytest.approx(0.5)
    assert divergence.margin == pytest.approx(0.25)


def test_regret_is_the_distance_to_the_other_sides_token_where_it_is_listed() -> None:
    top = (("t3 ", -0.1), ("x", -0.2), ("t4 ", -2.1))
    left = exchange("p", ids=[3], logprobs=[TokenLogprob(token="t3 ", id=3, logprob=-0.1, top=top)])
    right = exchange("p", ids=[4], logprobs=[entry(4, 7.0, runner_up="t3 ")], arm="reference")
    divergence = first_divergence(left, right)
    assert divergence is not None
    assert divergence.left.margin == pytest.approx(0.1)
    assert divergence.left.regret == pytest.approx(2.0)
    assert divergence.right.regret == pytest.approx(7.0)
    assert divergence.gap == pytest.approx(2.0)


def test_a_token_outside_of_the_alternatives_is_at_least_as_far_as_the_last_of_them() -> None:
    top = (("t3 ", -0.1), ("x", -0.2), ("y", -4.1))
    left = exchange("p", ids=[3], logprobs=[TokenLogprob(token="t3 ", id=3, logprob=-0.1, top=top)])
    divergence = first_divergence(left, exchange("p", ids=[4]))
    assert divergence is not None
    assert divergence.left.regret is None
    divergence = first_divergence(left, exchange("p", ids=[4], logprobs=[TokenLogprob(token="t4 ", id=4)]))
    assert divergence is not None
    assert divergence.left.regret == pytest.approx(4.0)


def test_an_emitted_token_below_its_list_does_not_stretch_the_regret() -> None:
    top = (("t3 ", -9.0), ("x", -0.2), ("y", -1.2))  # the emitted token comes first in some engines' lists
    left = exchange("p", ids=[3], logprobs=[TokenLogprob(token="t3 ", id=3, logprob=-9.0, top=top)])
    divergence = first_divergence(left, exchange("p", ids=[4], logprobs=[TokenLogprob(token="t4 ", id=4)]))
    assert divergence is not None
    assert divergence.left.regret == pytest.approx(1.0)


def test_an_accepted_draft_token_without_log_probability_leaves_the_references_margin() -> None:
    left = exchange("p", ids=[1, 3], logprobs=[entry(1, 3), TokenLogprob(token="t3 ", id=3)])
    divergence = first_divergence(left, said([1, 4], [3, 6.0], "reference"))
    assert divergence is not None
    assert divergence.left.margin is None
    assert divergence.gap == pytest.approx(6.0)


def test_entries_that_do_not_stand_beside_their_ids_are_not_read() -> None:
    left = exchange("p", ids=[1, 2, 3], logprobs=[entry(1, 3), entry(3, 6.0)])
    divergence = first_divergence(left, exchange("p", ids=[1, 4, 3]))
    assert divergence is not None
    assert divergence.gap is None
    assert triage(divergence, calibrate([], "bf16")) == "untriaged"


def test_a_side_that_emits_below_its_own_best_is_no_witness_of_a_near_tie() -> None:
    # A swapped row: the candidate's own log-probabilities prefer the reference's token, so that its regret for it is 0
    row = TokenLogprob(token="x ", id=9, logprob=None, top=(("t4 ", -0.1), ("y ", -5.1)))
    left = exchange("p", ids=[9], logprobs=[row])
    divergence = first_divergence(left, exchange("p", ids=[4], logprobs=[entry(4, 0.05, "x ")], arm="reference"))
    assert divergence is not None
    assert divergence.left.regret == 0
    assert divergence.left.slip == pytest.approx(5.0)
    assert divergence.gap == pytest.approx(5.0)
    told = exchange("p", ids=[9], logprobs=[row.model_copy(update={"logprob": -9.1})])
    divergence = first_divergence(told, exchange("p", ids=[4], arm="reference"))
    assert divergence is not None
    assert divergence.gap == pytest.approx(9.0)


def test_one_that_ends_first_diverges_where_it_ended() -> None:
    divergence = first_divergence(said([1], [3]), said([1, 2, 3], [3, 0.3, 3], "reference"))
    assert divergence is not None
    assert (divergence.index, divergence.left.said) == (1, "")
    assert divergence.gap == pytest.approx(0.3)


def test_an_end_token_that_only_one_engine_lists_is_no_divergence() -> None:
    left, right = exchange("p", "hello", ids=[1, 2, 99]), exchange("p", "hello", ids=[1, 2], arm="reference")
    assert first_divergence(left, right) is None
    assert first_divergence(right, left) is None
    assert first_divergence(left, exchange("p", "hell", ids=[1, 2], arm="reference")) is not None


def test_without_ids_the_texts_of_all_channels_are_compared() -> None:
    assert first_divergence(exchange("p", "same"), exchange("p", "same", ids=[1])) is None
    divergence = first_divergence(exchange("p", "Oslo.", reasoning="hm "), exchange("p", "Osaka", reasoning="hm "))
    assert divergence is not None
    assert (divergence.unit, divergence.index) == ("character", 5)
    assert (divergence.left.said, divergence.right.said) == ("lo.", "aka")
    assert divergence.gap is None


def test_without_ids_margins_come_from_the_token_that_covers_the_character() -> None:
    def spoken(*tokens: tuple[str, float]) -> Exchange:
        entries = [TokenLogprob(token=text, logprob=0.0, top=((text, 0.0), ("-", -m))) for text, m in tokens]
        return exchange("p", "".join(text for text, _ in tokens), logprobs=entries)

    divergence = first_divergence(spoken(("It ", 5), ("was", 1.5), ("!", 2)), spoken(("It ", 5), ("wore", 0.5)))
    assert divergence is not None
    assert (divergence.index, divergence.left.margin, divergence.right.margin) == (4, 1.5, 0.5)
    divergence = first_divergence(spoken(("It ", 5), ("was", 1.5)), spoken(("It w", 5), ("ore", 0.5)))
    assert divergence is not None
    assert divergence.gap is None


def test_exchanges_are_matched_or_it_is_said_why_not() -> None:
    one = exchange("p", "a")
    assert matched(one, exchange("p", "b", arm="reference")) is None
    assert matched(one, exchange("p", "b", concurrency=1)) == "concurrency"
    assert matched(one, exchange("p", "b", stream=False, exposure=2)) == "stream, exposure"
    assert matched(one, exchange("p", "b", max_tokens=8)) == "max_tokens"
    assert matched(one, exchange("p", "b", asked_logprobs=True)) == "log-probabilities"
    assert matched(one, exchange("q", "b")) == "prompt"
    assert matched(one, exchange("p", "b", outcome="disconnect")) == "outcome"


def flip(gap: float) -> Divergence:
    return Divergence("token", 0, Side("a", gap), Side("b", gap + 1))


@pytest.mark.parametrize(
    ("head", "tie", "material"),
    [
        ("fp32", 0.13, 0.5), ("bf16", 0.13, 0.5), ("bfloat16", 0.13, 0.5), ("FP16", 0.13, 0.5), ("w4a16", 0.13, 0.5),
        ("awq-int4", 0.13, 0.5), ("q8_0", 0.13, 0.5), ("Q4_K_M", 0.13, 0.5), ("fp8", 0.7, 1.5), ("fp8-e4m3", 0.7, 1.5),
        ("w8a8", 0.7, 1.5), ("nvfp4", 1.3, 3.0), ("w4a4", 1.3, 3.0), ("nvfp4-w4a16", 0.13, 0.5), (None, 1.3, 3.0),
        ("mystery", 1.3, 3.0), ("", 1.3, 3.0),
    ],
)  # fmt: skip
def test_under_59_benign_flips_the_defaults_of_the_head_stand(head: str | None, tie: float, material: float) -> None:
    band = calibrate([flip(0.9)] * 58, head)
    assert (band.tie, band.material, band.flips) == (tie, material, 58)
    assert band.source.startswith("default")


def test_from_59_benign_flips_on_the_largest_is_the_band_but_never_under_a_tenth() -> None:
    wide, least = calibrate([flip(0.02)] * 58 + [flip(0.9)], "fp32"), calibrate([flip(0.0)] * 59, None)
    assert [(band.flips, band.source) for band in (wide, least)] == [(59, "calibrated")] * 2
    assert (wide.tie, least.tie) == (0.9, 0.1)
    assert (wide.material, least.material) == pytest.approx(
        (1.35, 0.5)
    )  # half as much again is still grey, and half a nat
    unknown = Divergence("token", 0, Side("a"), Side("b"))
    assert calibrate([flip(0.0)] * 58 + [unknown], "fp8").source == "default (fp8)"


@settings(deadline=None)
@given(st.floats(0, 20), st.floats(0.1, 2), st.floats(0, 4))
def test_triage_goes_by_the_band(gap: float, tie: float, more: float) -> None:
    band = Band(tie, tie + more, 0, "test")
    expected = "near-tie" if gap <= tie else "material" if gap > tie + more else "grey"
    assert triage(flip(gap), band) == expected


def block(candidate: Exchange, *references: Exchange, heads: dict[str, str | None] | None = None) -> World:
    return World((prompt("p"),), (candidate, *references), heads or {})


def test_a_material_divergence_is_a_possible_finding_with_its_evidence() -> None:
    world = block(said([1, 3], [3, 6.0]), said([1, 4], [3, 6.0], "reference"))
    (finding,) = judge(world.batch, world.context())
    assert (finding.key, finding.certainty) == ("divergence/material@candidate", "possible")
    assert finding.evidence["index"] == 1
    assert finding.evidence["gap"] == pytest.approx(6.0)


@pytest.mark.parametrize(
    "world",
    [
        block(said([1, 3], [3, 0.1]), said([1, 4], [3, 6.0], "reference")),
        block(said([1, 3], [3, 6.0]), said([1, 4], [3, 6.0], "reference", exposure=1)),
        block(exchange("p", "a"), exchange("p", "b", arm="reference")),
        block(
            said([1, 3], [3, 6.0]),
            said([1, 4], [3, 6.0], "reference"),
            heads={"candidate": "nvfp4", "reference": "bf16"},
        ),
    ],
    ids=["near-tie", "unmatched", "no log-probabilities", "head-confounded"],
)
def test_other_divergences_are_no_findings(world: World) -> None:
    assert list(judge(world.batch, world.context())) == []


def real(head: str, speculation: str, tag: str, arm: Arm) -> list[Exchange]:
    """The first recorded outputs of a run; the runner-up's name was not recorded, so that gaps are margins."""
    outputs = h200.runs()[f"{head}-{speculation} {tag}"][:60]
    return [h200.exchange(output, index, arm, PASSES[tag], 8) for index, output in enumerate(outputs)]


def triaged(left: list[Exchange], right: list[Exchange], band: Band) -> Counter[str]:
    pairs = [first_divergence(a, b) for a, b in zip(left, right, strict=True)]
    return Counter("same" if pair is None else triage(pair, band) for pair in pairs)


@pytest.mark.parametrize("head", ["bf16", "fp8", "nvfp4"])
@pytest.mark.parametrize("speculation", ["none", "ngram"])
def test_no_real_divergence_of_a_healthy_engine_is_material_by_the_defaults(head: str, speculation: str) -> None:
    ours = real(head, speculation, "c8" if speculation == "ngram" else "c8b", "candidate")
    counts = triaged(ours, real(head, "none", "c8", "reference"), calibrate([], head))
    assert counts["near-tie"] > 10
    assert counts["material"] == counts["untriaged"] == 0


def test_nor_by_a_band_calibrated_from_the_reference_itself() -> None:
    passes = [one for tag in ("c8", "c8b", "c1") for one in real("nvfp4", "none", tag, "reference")]
    band = calibrate(benign_flips(tuple(passes)), "nvfp4")
    assert band.source == "calibrated"
    counts = triaged(real("nvfp4", "ngram", "c8", "candidate"), real("nvfp4", "none", "c8", "reference"), band)
    assert counts["near-tie"] > 20
    assert counts["material"] <= 1


@pytest.mark.parametrize("head", ["bf16", "fp8", "nvfp4"])
def test_a_planted_swap_is_material_among_real_divergences(head: str) -> None:
    ours, theirs = real(head, "none", "c8", "candidate"), real(head, "none", "c8", "reference")
    place = 7
    ids = list(ours[3].received.token_ids or ()) if ours[3].received else []
    margins = [6.0] * len(ids)
    swapped = [*ids[:place], 49_000, *ids[place + 1 :]]
    assert triaged([said(swapped, margins)], [said(ids, margins, "reference")], calibrate([], head)) == {"material": 1}
    assert triaged(ours, theirs, calibrate([], head)) == {"same": len(ours)}
