"""What a probe's replies show, and what they do not: one near-tie flip is no sampling, one slip no habit."""

from __future__ import annotations

import pytest

from fuzzer.history.records import Draft, Received, Usage
from fuzzer.wire import probing

STORY = "the old lamp over the harbour went out that night and nobody in the village said a word about it"


def reply(text: str, *, tokens: int | None = None, **fields: object) -> Received:
    usage = None if tokens is None else Usage(completion_tokens=tokens)
    known = {"outcome": "ok", "text": text, "finish_reason": "stop", "usage": usage, "end_ns": 1}
    return Received.model_validate(known | fields)


FAILED = Received(outcome="server-error", end_ns=1)


def flipped(after: int, word: str = "quietly") -> Received:
    """The story, another from some word on."""
    return reply(" ".join([*STORY.split()[:after], word, "it ended otherwise than one would have thought of it"]))


class TestTemperature:
    @staticmethod
    def result(replies: list[Received], again: list[Received] | None = None) -> str:
        return probing.temperature("candidate", replies, again or []).result

    def test_three_like_replies_are_greedy(self) -> None:
        assert self.result([reply(STORY)] * 3) == "ok"

    def test_no_two_alike_and_parting_early_twice_is_drawn_by_lot(self) -> None:
        drawn = [flipped(0, "once"), flipped(1, "small"), reply(STORY)]
        assert self.result(drawn, drawn) == "bad"

    @pytest.mark.parametrize(
        "replies",
        [
            [reply(STORY), reply(STORY), flipped(1)],
            [reply(STORY), flipped(0), flipped(0)],
            [reply(STORY), flipped(11), flipped(15)],
        ],
        ids=["one-flip", "cold-and-warm", "two-late-flips"],
    )
    def test_near_ties_are_no_sampling(self, replies: list[Received]) -> None:
        assert not probing.sampled(replies)
        assert self.result(replies, replies) == "odd"

    def test_what_looks_drawn_once_must_look_so_again(self) -> None:
        drawn = [flipped(0, "once"), flipped(1, "small"), reply(STORY)]
        assert self.result(drawn, [reply(STORY)] * 3) == "odd"
        assert self.result(drawn, []) == "odd"

    def test_failures_show_nothing(self) -> None:
        assert self.result([FAILED, FAILED, reply(STORY)]) == "unknown"
        assert self.result([]) == "unknown"

    def test_thinking_counts_as_said(self) -> None:
        drawn = [reply("", reasoning=text) for text in ("a b c d", "e f g h", "i j k l")]
        assert self.result(drawn, drawn) == "bad"


class TestLimit:
    @staticmethod
    def result(*lengths: int, most: int = 24, finish: str = "stop") -> str:
        replies = [(reply("x " * length, tokens=length, finish_reason=finish), most) for length in lengths]
        return probing.limit("candidate", replies).result

    def test_replies_that_end_there_heed_it(self) -> None:
        assert self.result(24, 24, 24, finish="length") == "ok"

    def test_replies_far_over_it_ignore_it(self) -> None:
        assert self.result(100, 90, 400) == "bad"

    def test_a_few_tokens_over_are_a_fault_and_no_habit(self) -> None:
        assert self.result(27, 27, 27) == "odd"
        assert self.result(24, 200, 24) == "odd"

    def test_short_replies_show_nothing(self) -> None:
        assert self.result(5, 6, 5) == "unknown"
        assert self.result() == "unknown"

    def test_words_are_counted_where_nothing_else_is_told(self) -> None:
        assert probing.limit("candidate", [(reply("x " * 100), 24)] * 2).result == "bad"


class TestStop:
    def test_stop_strings_stand_in_the_middle_of_the_reply(self) -> None:
        first, second = probing.stops(reply(STORY))
        assert 0 < STORY.index(first) < STORY.index(second) < len(STORY) - len(second)
        assert probing.stops(reply("no")) == ()
        assert probing.stops(reply("")) == ()

    @pytest.mark.parametrize(
        ("texts", "result"),
        [
            ([STORY.partition("village")[0], STORY.partition("night")[0]], "ok"),
            ([STORY.partition("village")[0] + "village", STORY], "ok"),
            ([STORY, STORY], "bad"),
            ([STORY, "something else"], "odd"),
            (["something else", ""], "unknown"),
        ],
    )
    def test_replies_end_before_it_or_go_on_past_it(self, texts: list[str], result: str) -> None:
        asked = list(zip(("village", "night"), map(reply, texts), strict=True))
        assert probing.stop("candidate", reply(STORY), asked).result == result


class TestStream:
    @staticmethod
    def result(other: list[Received]) -> str:
        return probing.stream("candidate", [reply(STORY)] * 3, other, streamed=True).result

    def test_the_same_either_way(self) -> None:
        assert self.result([reply(STORY)]) == "ok"

    def test_another_reply_twice_is_a_difference(self) -> None:
        assert self.result([flipped(3)]) == "odd"
        assert self.result([flipped(3), flipped(3)]) == "bad"
        assert self.result([flipped(3), reply(STORY)]) == "unknown"

    def test_a_way_that_does_not_work_is_told(self) -> None:
        probed = probing.stream("candidate", [reply(STORY)] * 3, [FAILED], streamed=True)
        assert (probed.result, "no reply comes whole" in probed.detail) == ("unknown", True)


def test_defaults_show_where_replies_part_without_what_overrides_them() -> None:
    def result(other: list[Received], *, sent: bool) -> str:
        return probing.neutral("candidate", [reply(STORY)] * 3, other, sent=sent).result

    assert result([reply(STORY)], sent=True) == "ok"
    assert result([flipped(5), flipped(5)], sent=True) == "odd"
    assert result([flipped(5), flipped(5)], sent=False) == "bad"
    assert result([flipped(5)], sent=False) == "odd"
    assert result([FAILED], sent=False) == "unknown"


def test_nothing_a_server_says_makes_a_probe_fail() -> None:
    strange = [reply("\x00\ud7ff" * 50_000), reply("a" * 1_000_000), reply(" " * 1000), FAILED]
    strange += [reply("x", usage=Usage(completion_tokens=0), draft=Draft(drafted=0, accepted=0))]
    for each in strange:
        probing.temperature("end", [each] * 3, strange)
        probing.limit("end", [(each, 24), (each, 8)])
        probing.stop("end", each, [(string, each) for string in probing.stops(each)])
        probing.stream("end", [each], strange, streamed=False)
        probing.neutral("end", [each], strange, sent=False)


class TestSeed:
    @staticmethod
    def result(same: list[Received], other: list[Received]) -> str:
        return probing.seed("candidate", same, other).result

    def test_one_seed_one_reply_and_another_another(self) -> None:
        assert self.result([reply(STORY), reply(STORY)], [flipped(2)]) == "ok"

    def test_one_seed_and_two_replies_is_odd(self) -> None:
        assert self.result([reply(STORY), flipped(3)], [flipped(2)]) == "odd"

    def test_replies_that_are_always_alike_or_missing_show_nothing(self) -> None:
        assert self.result([reply(STORY)] * 2, [reply(STORY)]) == "unknown"
        assert self.result([reply(STORY)], [reply(STORY)]) == "unknown"
        assert self.result([reply(STORY), FAILED], [reply(STORY)]) == "unknown"
