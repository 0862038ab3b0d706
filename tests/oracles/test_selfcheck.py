from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzzer.finding import Finding
from fuzzer.history.records import Exchange, TokenLogprob, ToolCall
from fuzzer.oracles.selfcheck import below_maximum, judge
from tests.oracles.factory import World, exchange, prompt


def found(*exchanges: Exchange) -> list[tuple[str, str]]:
    return [(one.sub_kind, one.certainty) for one in findings(*exchanges)]


def findings(*exchanges: Exchange) -> list[Finding]:
    world = World((prompt("p"),), exchanges)
    return list(judge(world.batch, world.context()))


def token(logprob: float | None, *top: float, text: str = "a") -> TokenLogprob:
    return TokenLogprob(token=text, logprob=logprob, top=tuple((f"alt{n}", value) for n, value in enumerate(top)))


@pytest.mark.parametrize(
    "entry",
    [
        token(-0.5, -0.5, -1.0),
        token(-0.5, -1.0, -0.5),
        token(-0.5, -0.5, -0.5),
        token(-0.5005, -0.5, -3.0),
        token(-0.5, -3.0, -4.0),
        token(None, -0.1, -3.0),
        token(-0.5),
        token(float("nan"), -0.5),
        token(-0.5, float("nan")),
        token(float("-inf"), float("-inf")),
    ],
    ids=["maximum", "unsorted", "tie", "rounding", "best", "draft token", "no list", "nan", "nan listed", "inf"],
)
def test_a_greedy_token_that_is_its_maximum_is_clean(entry: TokenLogprob) -> None:
    assert found(exchange("p", "a", logprobs=[entry])) == []


def test_a_token_below_its_own_maximum_is_certain_and_the_first_is_shown() -> None:
    (finding,) = findings(exchange("p", "a", logprobs=[token(-0.1, -0.1), token(-3.1, -0.1, -3.1), token(-9, -1)]))
    assert (finding.sub_kind, finding.certainty) == ("argmax", "certain")
    assert finding.key == "self-consistency/argmax@candidate"
    assert (finding.evidence["place"], finding.evidence["tokens_below"]) == (1, 2)
    assert "3 nats" in finding.summary


@settings(deadline=None)
@given(st.floats(-50, 0), st.lists(st.floats(-50, 0), max_size=5))
def test_below_the_maximum_means_below_every_tolerance_of_it(value: float, top: list[float]) -> None:
    gap = below_maximum(token(value, *top))
    assert gap >= 0
    assert (gap > 0) == (bool(top) and max(top) > value)


@pytest.mark.parametrize(
    ("ids", "completion", "finish", "expected"),
    [
        (5, 5, "stop", []),
        (5, 6, "stop", []),
        (6, 5, "stop", []),
        (5, 7, "stop", ["certain"]),
        (7, 5, "stop", ["certain"]),
        (256, 256, "length", []),
        (255, 256, "length", ["likely"]),
        (250, 256, "length", ["certain"]),
        (0, 6, "stop", ["certain"]),
        (5, None, "stop", []),
        (None, 5, "stop", []),
    ],
)
def test_token_ids_and_usage_agree_up_to_an_end_token(
    ids: int | None, completion: int | None, finish: str, expected: list[str]
) -> None:
    one = exchange("p", "a", ids=range(ids) if ids is not None else None, completion=completion, finish=finish)
    assert found(one) == [("token-count", certainty) for certainty in expected]


@pytest.mark.parametrize(
    ("prompt_tokens", "total", "expected"),
    [(10, 15, []), (9, 15, ["usage-sum"]), (11, 15, ["usage-sum"]), (10, None, []), (None, 15, [])],
)
def test_a_usage_adds_up(prompt_tokens: int | None, total: int | None, expected: list[str]) -> None:
    told = exchange("p", "a", completion=5, prompt_tokens=prompt_tokens, total=total)
    assert found(told) == [(sub_kind, "certain") for sub_kind in expected]


def test_what_ends_for_length_is_as_long_as_its_limit() -> None:
    assert found(exchange("p", "a", completion=256, finish="length")) == []
    assert found(exchange("p", "a", completion=256, finish="stop")) == []
    assert found(exchange("p", "a", finish="length")) == []
    assert found(exchange("p", "a", completion=257, finish="length")) == [("over-length", "likely")]
    assert found(exchange("p", "a", ids=range(300), finish="stop")) == [("over-length", "likely")]


def test_an_early_cut_is_likely_only_where_the_context_is_known_to_have_had_room() -> None:
    early = exchange("p", "a", prompt_tokens=40, completion=100, finish="length")
    assert found(early) == [("early-length", "possible")]
    longer = exchange("p", "a", prompt_tokens=40, completion=200, index=1)
    assert found(early, longer) == [("early-length", "likely")]
    elsewhere = exchange("p", "a", prompt_tokens=40, completion=200, arm="reference")
    assert found(early, elsewhere) == [("early-length", "possible")]


def test_a_missing_finish_reason_is_likely() -> None:
    assert found(exchange("p", "a", finish=None)) == [("no-finish-reason", "likely")]


def test_an_empty_reply_that_cost_tokens_lost_its_text() -> None:
    assert found(exchange("p", "", completion=9)) == [("lost-text", "likely")]
    assert found(exchange("p", "", completion=1)) == []
    assert found(exchange("p", "", completion=9, reasoning="hm")) == []
    assert found(exchange("p", "", completion=9, tool_arguments="{}")) == []
    assert found(exchange("p", "", completion=9, calls=(ToolCall(name="stop", arguments=""),))) == []
    assert found(exchange("p", "")) == []


def test_a_reply_that_calls_a_function_contradicts_nothing() -> None:
    call = ToolCall(name="open_ticket", arguments='{"size": 417}', id="call_1")
    ids = range(49)  # the markup around a call costs tokens, and is in no channel
    assert found(exchange("p", "", completion=49, ids=ids, calls=(call,), finish="tool_calls")) == []


def test_failed_and_lost_exchanges_are_not_checked() -> None:
    assert found(exchange("p", "", finish=None, outcome="disconnect"), exchange("p", lost=True)) == []
